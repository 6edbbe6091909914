"""Namespaces of a file-system catalog: folders, as Java's HadoopCatalog has them."""

import uuid
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.api.catalog import TableCatalog
from iceberg_spark.errors import (
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchNamespaceError,
    UnsupportedError,
)


@pytest.fixture(params=["local", "file-uri", "memory"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> TableCatalog:
    places = {"local": f"{tmp_path}", "file-uri": f"file:{tmp_path}"}
    warehouse = places.get(request.param, f"memory://{uuid.uuid4().hex}")
    return ice.load_catalog("c", type="hadoop", warehouse=warehouse)


def test_an_empty_warehouse_has_no_namespaces(catalog: TableCatalog) -> None:
    assert catalog.list_namespaces() == []
    assert not catalog.namespace_exists("db")


def test_a_created_namespace_is_there_and_is_empty(catalog: TableCatalog) -> None:
    catalog.create_namespace("db")
    assert catalog.namespace_exists("db")
    assert catalog.list_namespaces() == [("db",)]
    assert catalog.list_tables("db") == []
    with pytest.raises(NamespaceAlreadyExistsError, match="db"):
        catalog.create_namespace("db")
    catalog.create_namespace_if_not_exists("db")


def test_namespaces_lie_in_namespaces(catalog: TableCatalog) -> None:
    catalog.create_namespace("a.b")
    assert catalog.list_namespaces() == [("a",)]
    assert catalog.list_namespaces("a") == [("a", "b")]


def test_tables_are_listed_and_are_no_namespaces(catalog: TableCatalog) -> None:
    catalog.create_table("db.t", "id bigint")
    catalog.create_table("db.sub.u", "id bigint")
    assert catalog.list_namespaces() == [("db",)]
    assert catalog.list_namespaces("db") == [("db", "sub")]
    assert catalog.list_tables("db") == [("db", "t")]
    assert not catalog.namespace_exists("db.t")


def test_an_empty_namespace_can_be_dropped_and_no_other(catalog: TableCatalog) -> None:
    catalog.create_namespace("db")
    catalog.create_table("db.t", "id bigint")
    with pytest.raises(NamespaceNotEmptyError, match="db"):
        catalog.drop_namespace("db")
    catalog.create_namespace("other")
    catalog.drop_namespace("other")
    assert not catalog.namespace_exists("other")
    assert catalog.load_table("db.t").scan().count() == 0


@pytest.mark.parametrize("verb", ["list_tables", "list_namespaces", "drop_namespace"])
def test_a_namespace_that_is_not_there_is_an_error(catalog: TableCatalog, verb: str) -> None:
    with pytest.raises(NoSuchNamespaceError, match="nowhere"):
        getattr(catalog, verb)("nowhere")


def test_folders_have_no_properties_but_their_place(catalog: TableCatalog) -> None:
    with pytest.raises(UnsupportedError, match="properties"):
        catalog.create_namespace("db", {"owner": "me"})
    catalog.create_namespace("db")
    assert catalog.load_namespace_properties("db")["location"].endswith("/db")
    with pytest.raises(UnsupportedError, match="properties"):
        catalog.update_namespace_properties("db", updates={"owner": "me"})


def test_tables_that_are_folders_are_neither_renamed_nor_registered(catalog: TableCatalog) -> None:
    made = catalog.create_table("db.t", "id bigint")
    with pytest.raises(UnsupportedError, match="rename"):
        catalog.rename_table("db.t", "db.u")
    with pytest.raises(UnsupportedError, match="register"):
        catalog.register_table("db.u", made.metadata_location)


def test_without_a_warehouse_there_is_no_list() -> None:
    with pytest.raises(UnsupportedError, match="no list"):
        ice.load_catalog("c", type="filesystem").list_namespaces()


def test_a_purge_leaves_no_folder_that_would_be_a_namespace(catalog: TableCatalog) -> None:
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", "id bigint", partition_by="id")
    table.append(pa.table({"id": [1, 2]}))
    catalog.create_table("db.t.below", "id bigint")
    catalog.purge_table("db.t")
    assert catalog.list_namespaces("db") == [("db", "t")]  # for a table lies in it
    catalog.purge_table("db.t.below")
    catalog.drop_namespace("db.t") if catalog.namespace_exists("db.t") else None
    assert catalog.list_namespaces("db") == [] and catalog.list_tables("db") == []
    catalog.drop_namespace("db")


@pytest.mark.parametrize("name", [("db", ""), ("db", "a/b"), "db.", "db./t", "a/b"])
def test_a_name_that_is_no_folder_s_is_refused(
    catalog: TableCatalog, name: str | tuple[str, ...]
) -> None:
    """`db.` would make a table of the namespace itself."""
    catalog.create_namespace("db")
    for verb in (catalog.load_table, catalog.table_exists, catalog.purge_table):
        with pytest.raises(InvalidInputError):
            verb(name)
    with pytest.raises(InvalidInputError):
        catalog.create_table(name, "id bigint")
    with pytest.raises(InvalidInputError):
        catalog.create_namespace(name)
    assert catalog.list_namespaces() == [("db",)] and catalog.list_tables("db") == []
