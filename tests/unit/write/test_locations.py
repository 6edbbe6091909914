"""Names and folders of new files, and the removal of those that no commit took."""

from __future__ import annotations

from pathlib import Path

import pytest

from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.partition import UNPARTITIONED, PartitionField, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform, VoidTransform
from iceberg_spark.spec.types import NestedField, StringType
from iceberg_spark.write.context import TaskId, WriteContext
from iceberg_spark.write.locations import file_location, file_name
from iceberg_spark.write.uncommitted_files import remove_strays

SCHEMA = Schema(NestedField(1, "s", StringType()))
SPEC = PartitionSpec(1, (PartitionField((1,), 1000, IdentityTransform(), "s"),))
HASHED = {"write.object-storage.enabled": "true"}
FLAT = {**HASHED, "write.object-storage.partitioned-paths": "false"}
ELSEWHERE = {"write.data.path": "s3://other/place/"}


def context(location: str = "s3://b/db/t", **properties: str) -> WriteContext:
    return WriteContext(
        location, 2, SCHEMA, SPEC, 0, FileFormat.PARQUET, FileFormat.PARQUET, 1, "wid",
        properties=properties,
    )  # fmt: skip


def located(properties: dict[str, str], spec: PartitionSpec, partition: tuple, name: str) -> str:
    return file_location(context(**properties), spec, SCHEMA, partition, name)


@pytest.mark.parametrize(
    ("properties", "spec", "partition", "expected"),
    [
        ({}, UNPARTITIONED, (), "s3://b/db/t/data/f"),
        ({}, SPEC, ("a/b c",), "s3://b/db/t/data/s=a%2Fb+c/f"),
        ({}, SPEC, (None,), "s3://b/db/t/data/s=null/f"),
        (ELSEWHERE, SPEC, ("x",), "s3://other/place/s=x/f"),
    ],
)
def test_files_lie_in_hive_style_folders(properties, spec, partition, expected: str) -> None:
    assert located(properties, spec, partition, "f") == expected


def test_all_void_fields_give_no_folder() -> None:
    spec = PartitionSpec(1, (PartitionField((1,), 1000, VoidTransform(), "s"),))
    assert located({}, spec, (None,), "f") == "s3://b/db/t/data/f"


@pytest.mark.parametrize(
    ("name", "folders"),
    [("a", "0101/0110/1001/10110010"), ("b", "1110/0111/1110/00000011")],
)
def test_object_storage_puts_the_hash_of_the_name_before_it(name: str, folders: str) -> None:
    """The folders of these two names are those of Java's TestLocationProvider."""
    assert located(HASHED, UNPARTITIONED, (), name) == f"s3://b/db/t/data/{folders}/{name}"


def test_object_storage_with_partitions_hashes_them_too() -> None:
    found = located(HASHED, SPEC, ("x",), "f")
    assert found.startswith("s3://b/db/t/data/")
    assert found.endswith("/s=x/f")
    assert len(found.split("/")) == 12


def test_object_storage_without_partition_paths_joins_hash_and_name() -> None:
    assert located(FLAT, SPEC, ("x",), "a") == "s3://b/db/t/data/0101/0110/1001/10110010-a"


def test_object_storage_elsewhere_names_the_table() -> None:
    found = located({**HASHED, **ELSEWHERE}, UNPARTITIONED, (), "a")
    assert found == "s3://other/place/0101/0110/1001/10110010/db/t/a"


@pytest.mark.parametrize("kind", ["parquet", "orc", "avro"])
def test_a_name_has_task_attempt_write_id_number_and_extension(kind: str) -> None:
    name = file_name(context(), TaskId(12, 3), 4, FileFormat(kind.upper()), "-deletes")
    assert name == f"00012-3-wid-00004-deletes.{kind}"


@pytest.mark.parametrize("end", ["", "-deletes"])
def test_all_attempts_of_a_task_write_to_one_hash_folder(end: str) -> None:
    names = [file_name(context(), TaskId(2, tried), 7, FileFormat.PARQUET, end) for tried in (0, 9)]
    folders = {located(HASHED, SPEC, ("x",), name).rpartition("/")[0] for name in names}
    assert len(folders) == 1


def test_files_of_one_task_go_to_many_hash_folders() -> None:
    names = [file_name(context(), TaskId(2), n, FileFormat.PARQUET, "") for n in range(20)]
    assert len({located(HASHED, UNPARTITIONED, (), name).split("/")[6] for name in names}) > 3


def put(folder: Path, *names: str) -> list[str]:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return [str(folder / name) for name in names]


def left(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_strays_of_this_write_are_removed_beside_the_kept_files(tmp_path: Path) -> None:
    kept, *_ = put(
        tmp_path,
        "data/p=1/0-1-wid-1.parquet",
        "data/p=1/0-0-wid-1.parquet",
        "data/p=1/0-0-other-1.parquet",
        "data/p=2/0-0-wid-1.parquet",
    )
    io = FsspecIO({})
    remove_strays(io, context(str(tmp_path)), [f"file:{kept}"])
    assert left(tmp_path) == {
        "data/p=1/0-1-wid-1.parquet",
        "data/p=1/0-0-other-1.parquet",
        "data/p=2/0-0-wid-1.parquet",
    }


@pytest.mark.parametrize("partitioned", [True, False])
def test_strays_of_a_task_tried_again_are_found_in_object_storage_layout(
    tmp_path: Path, partitioned: bool
) -> None:
    layout = {**HASHED, "write.object-storage.partitioned-paths": str(partitioned).lower()}
    at = context(str(tmp_path), **layout)
    stray, kept = (
        file_location(
            at, SPEC, SCHEMA, ("x",), file_name(at, TaskId(0, tried), 1, FileFormat.PARQUET, "")
        )
        for tried in (4, 5)
    )
    put(Path("/"), stray, kept)
    assert remove_strays(FsspecIO({}), at, [kept]) == (stray,)
    assert Path(kept).exists()


def test_an_abort_removes_all_files_of_the_write(tmp_path: Path) -> None:
    put(tmp_path, "data/p=1/0-1-wid-1.parquet", "data/q/0-0-wid-1.parquet", "data/0-0-o-1.parquet")
    remove_strays(FsspecIO({}), context(str(tmp_path)), [], aborted=True)
    assert left(tmp_path) == {"data/0-0-o-1.parquet"}


def test_an_empty_commit_looks_nowhere(tmp_path: Path) -> None:
    put(tmp_path, "data/0-1-wid-1.parquet")
    assert remove_strays(FsspecIO({}), context(str(tmp_path)), []) == ()
