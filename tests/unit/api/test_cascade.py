"""A namespace is dropped with all that is in it, or nothing is dropped."""

from pathlib import Path

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import NamespaceNotEmptyError, NoSuchNamespaceError
from tests.unit.api.tables import files_below


def catalog(kind: str, folder: Path) -> ice.TableCatalog:
    properties = {"type": kind, "warehouse": str(folder)}
    if kind == "sql":
        properties["uri"] = f"sqlite:///{folder}/c.db"
    return ice.load_catalog(f"cascade_{folder.name}", **properties)


@pytest.mark.parametrize("kind", ["sql", "memory"])
def test_inner_namespaces_and_tables_go_and_files_stay(tmp_path: Path, kind: str) -> None:
    made = catalog(kind, tmp_path)
    made.create_namespace("a")
    made.create_namespace("a.b.c")  # and a.b, that nobody created
    table = made.create_table("a.t", "id bigint")
    made.create_table("a.b.c.t", "id bigint")
    made.drop_namespace("a", cascade=True)
    assert not made.namespace_exists("a") and not made.namespace_exists("a.b")
    assert Path(table.metadata_location.removeprefix("file:")).exists()
    made.create_namespace("x")
    assert made.register_table("x.t", table.metadata_location).metadata == table.metadata


@pytest.mark.parametrize("kind", ["sql", "memory", "filesystem"])
def test_a_namespace_that_is_not_there_can_not_be_dropped(tmp_path: Path, kind: str) -> None:
    with pytest.raises(NoSuchNamespaceError):
        catalog(kind, tmp_path).drop_namespace("a", cascade=True)


def test_tables_that_are_folders_keep_their_namespace_and_all_that_is_in_it(
    tmp_path: Path,
) -> None:
    """Without their metadata files the folders would stay, and nothing could read them."""
    made = catalog("filesystem", tmp_path)
    made.create_table("a.t", "id bigint")
    made.create_table("a.b.t", "id bigint")
    made.create_namespace("a.empty")
    before = files_below(tmp_path)
    with pytest.raises(NamespaceNotEmptyError, match=r"nothing was dropped: .* PURGE"):
        made.drop_namespace("a", cascade=True)
    assert files_below(tmp_path) == before
    assert made.namespace_exists("a.empty")
    made.purge_table("a.t")
    made.purge_table("a.b.t")
    made.drop_namespace("a", cascade=True)
    assert made.list_namespaces() == []
