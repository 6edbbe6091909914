"""Bad input: an error that names the file, column or option, and nothing half-written."""

import gzip
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import (
    CorruptFileError,
    IcebergError,
    NoSuchFileError,
    NoSuchTableError,
    StorageError,
    StoragePermissionError,
    UnsupportedError,
    ValidationException,
)
from iceberg_spark.io.fsspec_io import DEFAULT_TIMEOUT_S
from iceberg_spark.manifest.reader import MANIFEST_CACHE
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.position_delete_writer import write_position_deletes
from tests.unit.api.tables import files_below, ids, make, rows

FORMATS = ("parquet", "orc", "avro")


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def emptied(_: bytes) -> bytes:
    return b""


def noise(data: bytes) -> bytes:
    return bytes(range(256)) * (len(data) // 256 + 1)


DAMAGE = pytest.mark.parametrize("damage", [cut, emptied, noise], ids=lambda each: each.__name__)


def spoil(path: Path, damage: Callable[[bytes], bytes]) -> str:
    """Damage a file; what this process remembers of it is forgotten."""
    path.write_bytes(damage(path.read_bytes()))
    MANIFEST_CACHE.clear()
    return path.name


def local(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def filled(folder: Path, file_format: str = "parquet") -> Table:
    """Three rows in one file, one of them deleted by position."""
    table = make(folder, **{"write.format.default": file_format})
    table.append(rows(id=[1, 2, 3], k=["a", "b", "c"]))
    (task,) = table.scan().plan_files()
    context = write_context(table.metadata)
    positions = rows(file_path=[task.file_path], pos=[0])
    deletes = write_position_deletes(
        context, table.io, positions, spec=table.spec(), partition=(), task=TaskId()
    )
    commit(table._catalog, table.identifier, RowDelta(deletes=deletes), table._loaded)
    return table.refresh()


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return filled(tmp_path / "t")


def metadata_file(table: Table) -> Path:
    return local(table.metadata_location)


def manifest_list(table: Table) -> Path:
    return local(str(table.current_snapshot().manifest_list))


def a_manifest(table: Table) -> Path:
    return min((local(table.location()) / "metadata").glob("*-m0.avro"))


def data_file(table: Table) -> Path:
    (task,) = table.scan().plan_files()
    return local(task.file_path)


def delete_file(table: Table) -> Path:
    (task,) = table.scan().plan_files()
    return local(task.delete_files[0].file_path)


PARTS = pytest.mark.parametrize(
    "part", [manifest_list, a_manifest, data_file, delete_file], ids=lambda each: each.__name__
)


@DAMAGE
@PARTS
@pytest.mark.parametrize("file_format", FORMATS)
def test_a_damaged_file_is_named(
    part: Callable[[Table], Path],
    damage: Callable[[bytes], bytes],
    file_format: str,
    tmp_path: Path,
):
    table = filled(tmp_path / "t", file_format)
    name = spoil(part(table), damage)
    with pytest.raises(CorruptFileError, match=name):
        table.scan().to_arrow()


@PARTS
@pytest.mark.parametrize("file_format", FORMATS)
def test_a_missing_file_is_named(part: Callable[[Table], Path], file_format: str, tmp_path: Path):
    table = filled(tmp_path / "t", file_format)
    path = part(table)
    path.unlink()
    MANIFEST_CACHE.clear()
    with pytest.raises(NoSuchFileError, match=path.name):
        table.scan().to_arrow()


@pytest.mark.parametrize("file_format", ["parquet", "avro"])
def test_damage_within_the_rows_is_found(file_format: str, tmp_path: Path):
    table = make(tmp_path / "t", **{"write.format.default": file_format})
    table.append(rows(id=list(range(10_000)), k=[str(n * 7919) for n in range(10_000)]))
    path = data_file(table)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 64] = bytes(64)
    path.write_bytes(data)
    with pytest.raises(CorruptFileError, match=path.name):
        table.scan().to_arrow()


@DAMAGE
def test_damaged_metadata_is_named(table: Table, damage: Callable[[bytes], bytes]):
    name = spoil(metadata_file(table), damage)
    with pytest.raises(CorruptFileError, match=name):
        ice.load_table(table.location())


def test_damaged_gzip_metadata_is_named(tmp_path: Path):
    table = make(tmp_path / "t", **{"write.metadata.compression-codec": "gzip"})
    table.append(rows(id=[1]))
    name = spoil(metadata_file(table), cut)
    assert name.endswith(".gz.metadata.json")
    with pytest.raises(CorruptFileError, match=name):
        ice.load_table(table.location())


def test_metadata_that_is_gone_is_named(table: Table):
    metadata_file(table).unlink()
    with pytest.raises(IcebergError, match=metadata_file(table).name):
        ice.load_table(table.metadata_location)


def with_metadata(table: Table, change: Callable[[dict[str, Any]], None]) -> str:
    path = metadata_file(table)
    raw = path.read_bytes()
    node = json.loads(gzip.decompress(raw) if path.name.endswith(".gz.metadata.json") else raw)
    change(node)
    path.write_text(json.dumps(node), encoding="utf-8")
    return path.name


@pytest.mark.parametrize(
    ("change", "error", "shown"),
    [
        (lambda node: node.update({"format-version": 9}), UnsupportedError, "9"),
        (lambda node: node.pop("format-version"), CorruptFileError, "format-version"),
        (lambda node: node.pop("schemas"), CorruptFileError, "schemas?"),
        (lambda node: node.pop("location"), CorruptFileError, "location"),
        (lambda node: node.update({"current-schema-id": 7}), CorruptFileError, "7"),
        (lambda node: node.update({"current-snapshot-id": 7}), CorruptFileError, "7"),
        (lambda node: node.update({"last-column-id": "x"}), CorruptFileError, "last-column-id"),
        (
            lambda node: node["schemas"][0]["fields"][0].update({"type": "int128"}),
            UnsupportedError,
            "int128",
        ),
    ],
)
def test_what_is_wrong_in_metadata_is_named_with_its_file(
    table: Table, change: Callable[[dict[str, Any]], None], error: type[Exception], shown: str
):
    name = with_metadata(table, change)
    with pytest.raises(error, match=shown) as caught:
        ice.load_table(table.location())
    assert name in str(caught.value)


def test_an_unknown_codec_of_a_manifest_is_named(table: Table):
    path = a_manifest(table)
    data = path.read_bytes()
    assert b"deflate" in data
    path.write_bytes(data.replace(b"deflate", b"brotli7"))
    MANIFEST_CACHE.clear()
    with pytest.raises((UnsupportedError, CorruptFileError), match="brotli7") as caught:
        table.scan().to_arrow()
    assert path.name in str(caught.value)


def test_an_unknown_codec_to_write_is_named_and_leaves_nothing(tmp_path: Path):
    table = make(tmp_path / "t", **{"write.parquet.compression-codec": "brotli7"})
    before = files_below(tmp_path)
    with pytest.raises(IcebergError, match=r"write\.parquet\.compression-codec.*brotli7"):
        table.append(rows(id=[1]))
    assert files_below(tmp_path) == before


def test_a_table_with_an_unknown_transform_is_read_and_not_written(tmp_path: Path):
    table = make(tmp_path / "t", partition_by=["k"])
    table.append(rows(id=[1], k=["a"]))

    def unknown(node: dict[str, Any]) -> None:
        node["partition-specs"][0]["fields"][0]["transform"] = "zorder[3]"

    with_metadata(table, unknown)
    MANIFEST_CACHE.clear()
    strange = ice.load_table(table.location())
    assert ids(strange) == [1]
    before = files_below(tmp_path)
    with pytest.raises(UnsupportedError, match=r"zorder\[3\]"):
        strange.append(rows(id=[2], k=["a"]))
    assert files_below(tmp_path) == before


@pytest.mark.parametrize("what", ["folder", "file", "nothing"])
def test_a_location_that_is_no_table_is_named(what: str, tmp_path: Path):
    place = tmp_path / "place"
    if what == "folder":
        (place / "metadata").mkdir(parents=True)
    if what == "file":
        place.write_text("hello")
    with pytest.raises(NoSuchTableError, match=str(place)):
        ice.load_table(str(place))


def test_a_failed_overwrite_of_a_damaged_file_leaves_nothing(table: Table, tmp_path: Path):
    name = spoil(data_file(table), cut)
    before = files_below(tmp_path)
    with pytest.raises(CorruptFileError, match=name):
        table.overwrite(rows(id=[9]), "id = 2")
    assert files_below(tmp_path) == before


def test_a_commit_on_a_damaged_manifest_list_leaves_nothing(table: Table, tmp_path: Path):
    name = spoil(manifest_list(table), cut)
    before = files_below(tmp_path)
    with pytest.raises(CorruptFileError, match=name):
        table.append(rows(id=[9]))
    assert files_below(tmp_path) == before


class Unreachable(MemoryFileSystem):
    """A store that is as `manner` says: silent, refusing, or denying."""

    protocol = "faraway"
    cachable = False
    manner = "silent"
    calls = 0
    released = threading.Event()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.partition("://")[2] if "://" in path else path

    def info(self, path: str, **_: Any) -> Any:  # noqa: ARG002
        type(self).calls += 1
        match self.manner:
            case "silent":
                self.released.wait(60)
                raise OSError("released")
            case "refusing":
                raise ConnectionRefusedError(111, "Connection refused")
            case _:
                raise PermissionError(13, "Access Denied")

    exists = ls = _open = cat_file = info


@pytest.fixture
def faraway() -> Iterator[type[Unreachable]]:
    fsspec.register_implementation("faraway", Unreachable, clobber=True)
    Unreachable.calls = 0
    Unreachable.released.clear()
    yield Unreachable
    Unreachable.released.set()


@pytest.mark.parametrize("manner", ["silent", "refusing"])
def test_an_unreachable_store_is_an_error_in_time(faraway: type[Unreachable], manner: str):
    """The patience is a property; its default leaves room within ten seconds."""
    faraway.manner = manner
    with pytest.raises(StorageError, match="faraway://bucket/t"):
        ice.load_table("faraway://bucket/t", **{"io.timeout-s": "0.3"})
    assert DEFAULT_TIMEOUT_S < 10


def test_a_denied_access_is_not_tried_again(faraway: type[Unreachable]):
    faraway.manner = "denying"
    with pytest.raises(StoragePermissionError, match=r"faraway://bucket/t.*credentials"):
        ice.load_table("faraway://bucket/t", **{"io.timeout-s": "5"})
    assert faraway.calls == 1


def test_a_store_without_a_driver_names_what_to_install():
    with pytest.raises(UnsupportedError, match=r"oss://.*pip install ossfs"):
        ice.load_table("oss://bucket/t")
    by_fsspec = {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}
    with pytest.raises(UnsupportedError, match=r"gs://.*pip install gcsfs"):
        ice.load_table("gs://bucket/t", **by_fsspec)


def test_a_scheme_that_nobody_knows_is_named():
    with pytest.raises(UnsupportedError, match="xyz://bucket/t"):
        ice.load_table("xyz://bucket/t")


def test_a_bad_storage_property_is_named():
    with pytest.raises(IcebergError, match=r"io\.timeout-s.*soon"):
        ice.load_table("memory://bucket/t", **{"io.timeout-s": "soon"})


def test_a_position_delete_of_another_partition_is_corrupt_metadata(tmp_path: Path):
    table = make(tmp_path / "t", partition_by=["k"])
    table.append(rows(id=[1, 2], k=["a", "b"]))
    target = next(task for task in table.scan().plan_files() if task.partition == ("a",))
    deletes = write_position_deletes(
        write_context(table.metadata),
        table.io,
        rows(file_path=[target.file_path], pos=[0]),
        spec=table.spec(),
        partition=("b",),
        task=TaskId(),
    )
    commit(table._catalog, table.identifier, RowDelta(deletes=deletes), table._loaded)
    with pytest.raises(ValidationException, match=r"deletes.*parquet|parquet"):
        table.refresh().scan().to_arrow()
