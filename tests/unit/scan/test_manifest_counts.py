"""A manifest list alone says how many rows a snapshot has (specification, "Manifest Lists")."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import NoSuchFileError
from iceberg_spark.scan.metrics import count_live_rows
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile

LIVE = ManifestFile(
    "m.avro",
    1,
    0,
    added_files_count=1,
    existing_files_count=1,
    added_rows_count=3,
    existing_rows_count=4,
    deleted_rows_count=5,
)


def test_rows_added_and_existing_count_and_deleted_ones_do_not() -> None:
    assert count_live_rows([LIVE, LIVE]) == 14


def test_a_manifest_without_live_files_counts_nothing() -> None:
    dead = replace(LIVE, added_files_count=0, existing_files_count=0, added_rows_count=None)
    assert count_live_rows([LIVE, dead, replace(dead, content=ManifestContent.DELETES)]) == 7


@pytest.mark.parametrize(
    "other",
    [
        replace(LIVE, added_rows_count=None),
        replace(LIVE, existing_rows_count=None),
        replace(LIVE, content=ManifestContent.DELETES),
    ],
)
def test_missing_counts_and_delete_files_leave_it_to_planning(other: ManifestFile) -> None:
    assert count_live_rows([LIVE, other]) is None


def made(folder: Path) -> Table:
    properties = {"write.delete.mode": "merge-on-read"}
    table = ice.create_table(str(folder / "t"), "id bigint", properties=properties)
    for start in (0, 10):
        table.append(pa.table({"id": range(start, start + 10)}))
    return table


def test_a_count_opens_no_manifest(tmp_path: Path) -> None:
    table = made(tmp_path)
    first = table.history()[0].snapshot_id
    for path in tmp_path.glob("t/metadata/*-m*.avro"):
        path.unlink()
    assert table.scan().count() == 20
    assert table.scan(snapshot_id=first, limit=7).count() == 7
    assert table.scan(snapshot_id=first).count() == 10
    with pytest.raises(NoSuchFileError):
        table.scan().plan_files()


def test_deletes_and_filters_are_counted_by_planning(tmp_path: Path) -> None:
    table = made(tmp_path)
    assert table.scan("id < 5").count() == 5
    table.delete("id = 3")
    assert table.scan().count() == 19
