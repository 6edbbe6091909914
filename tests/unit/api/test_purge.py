"""What goes with a table that is dropped, and with metadata files that fall out of its log."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table, TableCatalog
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.errors import CorruptFileError, StorageError, ValidationException
from iceberg_spark.maintenance import drop
from tests.unit.api.tables import ids, make, make_anywhere, rows


@pytest.fixture(params=["filesystem", "memory"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> TableCatalog:
    return ice.load_catalog(tmp_path.name, type=request.param, warehouse=str(tmp_path / "wh"))


def table_in(catalog: TableCatalog, **properties: str) -> tuple[Table, Path]:
    table = catalog.create_table("db.t", "id bigint, k string", properties=properties)
    table.append(rows(id=[1], k=["a"]))
    return table, Path(table.location())


def is_folder(catalog: TableCatalog) -> bool:
    """Whether a table is a folder to the catalog, so that all in it is the table's."""
    return isinstance(catalog._catalog, FileSystemCatalog)


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


def test_a_purge_takes_data_and_metadata_used_or_not(catalog: TableCatalog) -> None:
    """Where names may move, what no snapshot has may be a table's that had the name before."""
    table, where = table_in(catalog)
    table.delete("id = 1")
    (where / "data" / "stray.parquet").write_bytes(b"1")
    catalog.drop_table("db.t", purge=True)
    assert files(where) == (set() if is_folder(catalog) else {"data/stray.parquet"})


@pytest.mark.parametrize("inner", ["inner", "data/inner", "data/metadata", "metadata/x/inner"])
def test_a_purge_keeps_a_table_in_between(catalog: TableCatalog, inner: str) -> None:
    _, where = table_in(catalog)
    other = make_anywhere(where / inner)
    other.append(rows(id=[7], k=["b"]))
    before = files(where / inner)
    catalog.drop_table("db.t", purge=True)
    assert ids(ice.load_table(other.location())) == [7]
    assert files(where / inner) == before


def test_a_purge_keeps_files_that_are_not_the_tables(catalog: TableCatalog, tmp_path: Path) -> None:
    table, where = table_in(catalog)
    pq.write_table(pa.table({"id": [5], "k": ["c"]}), tmp_path / "added.parquet")
    pq.write_table(pa.table({"id": [6], "k": ["c"]}), where / "added.parquet")
    (where / "notes.txt").write_text("mine")
    table.add_files([str(tmp_path / "added.parquet"), str(where / "added.parquet")])
    (where / "data" / "away").symlink_to(tmp_path / "added.parquet")
    catalog.drop_table("db.t", purge=True)
    assert (tmp_path / "added.parquet").exists()
    assert files(where) == {"notes.txt"} | (set() if is_folder(catalog) else {"data/away"})


def test_a_purge_takes_files_below_the_paths_of_the_properties_when_asked(
    catalog: TableCatalog, tmp_path: Path
) -> None:
    _, where = table_in(catalog, **{"write.data.path": str(tmp_path / "far")})
    assert len(files(tmp_path / "far")) == 1
    (tmp_path / "far" / "another's.parquet").write_bytes(b"1")
    catalog.drop_table("db.t", purge=True, delete_outside=True)
    assert files(where) == set()
    assert files(tmp_path / "far") == {"another's.parquet"}


def test_a_purge_keeps_files_below_a_path_of_the_properties_unless_asked(
    catalog: TableCatalog, tmp_path: Path
) -> None:
    _, where = table_in(catalog, **{"write.data.path": str(tmp_path / "far")})
    kept = files(tmp_path / "far")
    catalog.drop_table("db.t", purge=True)
    assert files(where) == set()
    assert files(tmp_path / "far") == kept != set()


@pytest.mark.parametrize("silent", [True, False])
def test_a_purge_drops_a_broken_table_and_none_whose_store_is_silent(
    catalog: TableCatalog, silent: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies far off would be known to nobody."""
    _, where = table_in(catalog, **{"write.data.path": str(tmp_path / "far")})
    error = StorageError("silent") if silent else CorruptFileError("broken")

    def broken(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(drop, "manifests_of", broken)
    if silent:
        with pytest.raises(StorageError, match="silent"):
            catalog.drop_table("db.t", purge=True, delete_outside=True)
        assert ids(catalog.load_table("db.t")) == [1]
        monkeypatch.undo()
    catalog.drop_table("db.t", purge=True, delete_outside=True)
    assert files(where) == set()
    assert len(files(tmp_path / "far")) == (0 if silent else 1)


def test_a_purge_of_shared_files_is_refused(catalog: TableCatalog) -> None:
    table, where = table_in(catalog, **{"gc.enabled": "false"})
    before = files(where)
    with pytest.raises(ValidationException, match=r"'gc\.enabled' is false"):
        catalog.drop_table("db.t", purge=True)
    assert files(where) == before
    assert ids(catalog.load_table("db.t")) == [1]
    assert table.location()


FOREIGN = [
    "{at}/victim.txt",
    "{at}/wh/db/t/../victim.metadata.json",
    "{at}/wh/db/t/data/v7.metadata.json",
    "{at}/other/metadata/v1.metadata.json",
    "{at}/wh/db/t/metadata/notes.txt",
    "{at}/wh/db/t/metadata/./version-hint.text",
]


@pytest.mark.parametrize("named", FOREIGN)
def test_a_log_deletes_only_the_tables_own_metadata(tmp_path: Path, named: str) -> None:
    make(tmp_path / "other")
    table = make(tmp_path / "wh" / "db" / "t", **{
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
    })  # fmt: skip
    path = Path(named.format(at=tmp_path))
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text("1")
    newest = tmp_path / "wh" / "db" / "t" / "metadata" / "v1.metadata.json"
    content = json.loads(newest.read_text())
    content["metadata-log"] = [{"metadata-file": str(path), "timestamp-ms": 1}]
    newest.write_text(json.dumps(content))
    table = ice.load_table(str(tmp_path / "wh" / "db" / "t"))
    for number in range(3):
        table.append(rows(id=[number], k=["a"]))
    assert path.exists()
    assert not newest.exists()  # it fell out of the log, and is the table's own


def test_a_log_does_not_delete_the_newest_metadata_by_another_spelling(tmp_path: Path) -> None:
    folder = tmp_path / "t" / "metadata"
    table = make(tmp_path / "t", **{
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
    })  # fmt: skip
    content = json.loads((folder / "v1.metadata.json").read_text())
    names = [f"{folder}//v{number}.metadata.json" for number in range(2, 6)]
    content["metadata-log"] = [{"metadata-file": each, "timestamp-ms": 1} for each in names]
    (folder / "v1.metadata.json").write_text(json.dumps(content))
    table = ice.load_table(str(tmp_path / "t"))
    table.append(rows(id=[1], k=["a"]))
    assert ids(ice.load_table(str(tmp_path / "t"))) == [1]


def test_a_catalogs_table_deletes_former_metadata_by_its_uuid(tmp_path: Path) -> None:
    catalog = ice.load_catalog(tmp_path.name, type="memory", warehouse=str(tmp_path))
    quick = {
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "1",
        "write.metadata.path": str(tmp_path / "shared"),
    }
    table = catalog.create_table("db.t", "id bigint", properties=quick)
    other = catalog.create_table("db.other", "id bigint", properties=quick)
    for number in range(3):
        table.append(rows(id=[number]))
    left = list((tmp_path / "shared").glob("*.metadata.json"))
    assert len(left) == 3  # the newest and one before it, and the other table's
    assert Path(other._loaded.metadata_location) in left
