"""Folders that hold something else than a table, and what the errors make of them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark.catalog.foreign_folder import check_free, foreign_folder
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchTableError,
    StorageError,
    StoragePermissionError,
)
from iceberg_spark.io.file_io import FileInfo
from iceberg_spark.io.fsspec_io import FsspecIO
from tests.unit.api.tables import files_below, ids, make, rows

IO = FsspecIO({})


def touched(*names: str) -> Callable[[Path], Path]:
    def make_folder(folder: Path) -> Path:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        return folder

    return make_folder


def part_of_a_table(name: str) -> Callable[[Path], Path]:
    def make_folder(folder: Path) -> Path:
        make(folder, partition_by=["k"]).append(rows(id=[1], k=["a"]))
        return folder / name

    return make_folder


FOLDERS = {
    "Delta": (touched("_delta_log/0.json", "a.parquet"), "a Delta table.*Delta package"),
    "Hudi": (touched(".hoodie/hoodie.properties", "a.parquet"), "a Hudi table"),
    "Parquet": (touched("_SUCCESS", "a.snappy.parquet"), r"of Parquet files.*t\.add_files"),
    "CSV": (touched("a.csv.gz"), r"of CSV files.*spark\.read\.csv"),
    "JSON": (touched("a.json"), r"of JSON files.*spark\.read\.json"),
    "ORC": (touched("a.orc"), r"of ORC files.*spark\.read\.orc"),
    "Hive": (
        touched("region=eu/day=1/a.parquet", "region=us/day=1/a.parquet"),
        "Parquet files in Hive-style folders of region, day",
    ),
    "data": (part_of_a_table("data"), "in the folder 'data' of the table .*place"),
    "metadata": (part_of_a_table("metadata"), "in the folder 'metadata' of the table"),
    "a partition": (part_of_a_table("data/k=a"), "give that table's location"),
    "metadata table": (part_of_a_table("../place#files"), r"t\.inspect\.files\(\)"),
}


@pytest.mark.parametrize("kind", FOLDERS)
def test_the_error_says_what_a_location_holds_in_place_of_a_table(kind: str, tmp_path: Path):
    make_folder, told = FOLDERS[kind]
    place = make_folder(tmp_path / "place")
    with pytest.raises(NoSuchTableError, match=told):
        ice.load_table(str(place))


def test_a_single_file_and_a_folder_of_tables_are_described(tmp_path: Path):
    make(tmp_path / "db" / "t")
    with pytest.raises(NoSuchTableError, match=f"a folder of tables.*{tmp_path}/db/t"):
        ice.load_table(tmp_path / "db")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    with pytest.raises(NoSuchTableError, match="one Parquet file"):
        ice.load_table(tmp_path / "a.parquet")


def test_an_empty_and_a_missing_folder_hold_nothing(tmp_path: Path):
    (tmp_path / "empty").mkdir()
    assert foreign_folder(IO, str(tmp_path / "empty")) is None
    assert foreign_folder(IO, str(tmp_path / "missing")) is None


def test_a_store_that_fails_adds_nothing():
    class Failing(FsspecIO):
        def arrow(self, path: str) -> None:  # type: ignore[override]
            raise RuntimeError(path)

    assert foreign_folder(Failing({}), "memory://somewhere") is None


class Refusing(FsspecIO):
    """A store that answers a location with an error."""

    def __init__(self, at: str, error: Exception) -> None:
        super().__init__({})
        self._given = at, error

    def read_bytes(self, path: str) -> bytes:
        self._refuse(path)
        return super().read_bytes(path)

    def list(self, prefix: str) -> Iterator[FileInfo]:
        self._refuse(prefix)
        return super().list(prefix)

    def arrow(self, path: str) -> tuple[pafs.FileSystem, str]:
        self._refuse(path)
        return super().arrow(path)

    def _refuse(self, path: str) -> None:
        at, error = self._given
        if path.startswith(at):
            raise error


@pytest.mark.parametrize("error", [StorageError("silent"), ConnectionResetError("silent")])
def test_no_table_is_created_if_the_store_fails(error: Exception):
    with pytest.raises(StorageError, match="silent"):
        check_free(Refusing("memory://new/t", error), "memory://new/t", requested=True)


@pytest.mark.parametrize("error", [StoragePermissionError("no"), ImportError("no driver")])
def test_who_can_not_list_may_make_a_table(error: Exception):
    check_free(Refusing("memory://new/t", error), "memory://new/t", requested=True)


def test_a_folder_that_may_not_be_read_above_a_delta_table_hides_nothing(tmp_path: Path):
    place = touched("_delta_log/0.json")(tmp_path / "data" / "team" / "t")
    denied = Refusing(f"{tmp_path}/metadata", StoragePermissionError("no"))
    with pytest.raises(InvalidInputError, match="a Delta table"):
        check_free(denied, str(place), requested=True)


def test_no_other_bucket_is_listed():
    at = "memory://data/t"
    check_free(Refusing("memory://metadata", StorageError("another's")), at, requested=True)
    check_free(Refusing("memory:/metadata", StorageError("another's")), at, requested=True)


@pytest.mark.parametrize("kind", ["Delta", "Hudi", "data", "metadata", "a partition"])
def test_no_table_is_created_where_another_owns_every_file(kind: str, tmp_path: Path):
    """Delta's VACUUM, and removal of orphan files, would take the new table's files."""
    place = FOLDERS[kind][0](tmp_path / "place")
    before = files_below(tmp_path)
    with pytest.raises(InvalidInputError, match="Choose another location"):
        ice.create_table(str(place), "id bigint")
    assert files_below(tmp_path) == before


def test_a_table_is_created_over_plain_files_on_request(tmp_path: Path):
    """As for `add_files`; a save that would make one by the way is refused."""
    (tmp_path / "t").mkdir()
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "t" / "a.parquet")
    with pytest.raises(InvalidInputError, match=r"folder of Parquet files.*t\.add_files"):
        check_free(IO, str(tmp_path / "t"), requested=False)
    table = ice.create_table(tmp_path / "t", "id bigint")
    table.add_files(tmp_path / "t" / "a.parquet")
    assert ids(table) == [1, 2]


def test_what_a_dropped_table_left_behind_is_no_others(tmp_path: Path):
    location = str(tmp_path / "wh" / "db" / "t")
    make(location).append(rows(id=[1], k=["a"]))
    ice.load_catalog("c", type="filesystem", warehouse=tmp_path / "wh").drop_table("db.t")
    check_free(IO, location, requested=False)
    assert ids(make(location)) == []
