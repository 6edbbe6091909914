"""Java goes on with tables that the product made, and the product goes on with Java's changes."""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle import rows
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import delete_equal, identifier, load, location, read
from tests.oracle.java_tables import FORMATS, append, delete_unsorted_positions
from tests.oracle.product import append_spark, read_both, read_spark

PARTITIONINGS = {
    "unpartitioned": [],
    "days_bucket": ["days(ts)", "bucket(4, id)"],
    "identity_truncate": ["flag", "truncate(2, s)"],
}


@dataclass(frozen=True, slots=True)
class Written:
    version: int
    file_format: str
    partitioning: str

    @property
    def name(self) -> str:
        return f"ours_v{self.version}_{self.file_format}_{self.partitioning}"

    def rows(self, start: int, stop: int) -> pa.Table:
        return rows.table(start, stop, self.file_format)


CASES = [
    Written(1 + (row + column) % 2, file_format, partitioning)
    for row, file_format in enumerate(FORMATS)
    for column, partitioning in enumerate(PARTITIONINGS)
]
"""Every pair of format version, file format and partitioning."""
by_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def create(path: str, case: Written, **properties: str) -> None:
    named = {"format-version": str(case.version), "write.format.default": case.file_format}
    ice.create_table(
        path,
        rows.SCHEMA,
        partition_by=PARTITIONINGS[case.partitioning],
        properties=named | {key.replace("_", "."): value for key, value in properties.items()},
    )


def assert_all_agree(java: SparkSession, path: str, expected: pa.Table, step: str) -> None:
    assert_same_rows(expected, read(java, path), what=f"Java after {step}")
    assert_same_rows(expected, read_both(java, path), what=f"both engines after {step}")


def test_the_cases_have_every_pair() -> None:
    assert len({(case.version, case.file_format) for case in CASES}) == 2 * len(FORMATS)
    assert len({(case.version, case.partitioning) for case in CASES}) == 2 * len(PARTITIONINGS)
    assert len({(c.file_format, c.partitioning) for c in CASES}) == len(FORMATS) * len(
        PARTITIONINGS
    )


@by_case
def test_both_write_by_turns(java: SparkSession, case: Written) -> None:
    path = location(java, case.name)
    create(path, case, write_delete_mode="merge-on-read")
    ice.load_table(path).append(case.rows(0, 20))
    assert_all_agree(java, path, case.rows(0, 20), "our append")
    append(java, case.name, 20, 30, case.file_format)
    assert_all_agree(java, path, case.rows(0, 30), "Java's append")
    append_spark(java, path, case.rows(30, 40))
    assert_all_agree(java, path, case.rows(0, 40), "our append from Spark")
    if case.version > 1:
        _delete_in_java(java, case)
    left = read(java, path)
    assert (left.num_rows < 40) == (case.version > 1)
    assert_same_rows(left, read_both(java, path), what="Java's deletes, both engines")
    assert_same_rows(left, read_spark(java, path), what="Java's deletes, Spark")
    ice.load_table(path).append(case.rows(40, 46))
    expected = pa.concat_tables([left, case.rows(40, 46).cast(left.schema)])
    assert_all_agree(java, path, expected, "our append after the deletes")


def _delete_in_java(java: SparkSession, case: Written) -> None:
    java.sql(f"DELETE FROM {identifier(case.name)} WHERE id % 4 = 0")
    delete_unsorted_positions(java, case.name, case.file_format)
    query = "SELECT CAST(id AS BIGINT) AS id FROM VALUES (1), (22), (33) AS v(id)"
    delete_equal(java, case.name, query, ["id"], case.file_format)


@by_case
def test_java_reads_our_overwrites(java: SparkSession, case: Written) -> None:
    name = f"over_{case.name}"
    path = location(java, name)
    create(path, case)
    table = ice.load_table(path)
    table.append(case.rows(0, 24))
    table.refresh()
    table.overwrite(case.rows(100, 104), overwrite_filter="id < 12")
    expected = pa.concat_tables([case.rows(12, 24), case.rows(100, 104)])
    assert_all_agree(java, path, expected, "our overwrite by filter")
    java.sql(f"DELETE FROM {identifier(name)} WHERE id = 100 OR id = 15")
    kept = expected.filter(pc.invert(pc.is_in(expected["id"], pa.array([15, 100]))))
    assert_all_agree(java, path, kept, "Java's copy-on-write delete")
    ice.load_table(path).overwrite(case.rows(200, 203))
    assert_all_agree(java, path, case.rows(200, 203), "our whole overwrite")


@pytest.mark.parametrize("file_format", FORMATS)
def test_java_reads_our_dynamic_partition_overwrite(java: SparkSession, file_format: str) -> None:
    path = location(java, f"dynamic_{file_format}")
    case = Written(2, file_format, "identity_truncate")
    create(path, case)
    ice.load_table(path).append(case.rows(0, 24))
    fresh = case.rows(100, 103)
    ice.load_table(path).dynamic_partition_overwrite(fresh)
    parts = {_partition(row) for row in fresh.to_pylist()}
    before = case.rows(0, 24)
    untouched = [_partition(row) not in parts for row in before.to_pylist()]
    expected = pa.concat_tables([before.filter(pa.array(untouched)), fresh])
    assert expected.num_rows < 27
    assert_all_agree(java, path, expected, "our dynamic partition overwrite")


def _partition(row: dict[str, object]) -> tuple[object, object]:
    text = row["s"]
    return row["flag"], text[:2] if isinstance(text, str) else None


@pytest.mark.parametrize("partitioning", PARTITIONINGS)
def test_java_puts_the_same_rows_into_the_same_partitions(
    java: SparkSession, partitioning: str
) -> None:
    """The `files` tables show one partition tuple and record count for the same rows."""
    ours, theirs = f"parts_ours_{partitioning}", f"parts_java_{partitioning}"
    for name in (ours, theirs):
        create(location(java, name), Written(2, "parquet", partitioning))
    ice.load_table(location(java, ours)).append(rows.table(0, 40))
    append(java, theirs, 0, 40)
    columns = ["partition", "spec_id", "record_count", "file_format", "sort_order_id", "content"]
    shown = [name for name in columns if name != "partition" or PARTITIONINGS[partitioning]]
    mine = read(java, f"{location(java, ours)}#files").select(shown)
    assert_same_rows(read(java, f"{location(java, theirs)}#files").select(shown), mine)


def test_java_names_partition_folders_as_we_do(java: SparkSession) -> None:
    ours, theirs = "folders_ours", "folders_java"
    for name in (ours, theirs):
        create(location(java, name), Written(2, "parquet", "identity_truncate"))
    ice.load_table(location(java, ours)).append(rows.table(0, 40))
    append(java, theirs, 0, 40)
    assert _folders(java, ours) == _folders(java, theirs)


def _folders(java: SparkSession, name: str) -> list[str]:
    paths = read(java, f"{location(java, name)}#files")["file_path"].to_pylist()
    return sorted(path.split("/data/", 1)[1].rsplit("/", 1)[0] for path in paths)


def test_java_counts_the_same_snapshot_summary(java: SparkSession) -> None:
    """Totals go on from ours to Java's and back."""
    name, case = "summaries", Written(2, "parquet", "days_bucket")
    path = location(java, name)
    create(path, case, write_delete_mode="merge-on-read")
    ice.load_table(path).append(rows.table(0, 20))
    java.sql(f"DELETE FROM {identifier(name)} WHERE id % 4 = 0")
    ice.load_table(path).append(rows.table(20, 30))
    twin = "summaries_java"
    create(location(java, twin), case, write_delete_mode="merge-on-read")
    append(java, twin, 0, 20)
    java.sql(f"DELETE FROM {identifier(twin)} WHERE id % 4 = 0")
    append(java, twin, 20, 30)
    assert _counts(java, name) == _counts(java, twin)


def _counts(java: SparkSession, name: str) -> list[dict[str, str]]:
    """Summaries without sizes and the engine's own words."""
    kept = ("records", "data-files", "delete-files", "deletes", "changed-partition-count")
    found = read(java, f"{location(java, name)}#snapshots").sort_by("committed_at")
    return [
        {key: value for key, value in summary if key.endswith(kept)}
        for summary in found["summary"].to_pylist()
    ]


def test_java_compacts_expires_and_rolls_back_our_table(java: SparkSession) -> None:
    name = "maintained"
    path = location(java, name)
    create(path, Written(2, "parquet", "unpartitioned"))
    for start in range(0, 18, 3):
        ice.load_table(path).append(rows.table(start, start + 3))
    full = rows.table(0, 18)
    options = "map('min-input-files', '2')"
    java.sql(
        f"CALL j.system.rewrite_data_files(table => 'db.{name}', options => {options})"
    ).collect()
    assert_all_agree(java, path, full, "Java's compaction")
    java.sql(
        f"CALL j.system.expire_snapshots(table => 'db.{name}', "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    ).collect()
    assert_all_agree(java, path, full, "Java's expiry")
    kept = load(java, name).currentSnapshot().snapshotId()
    ice.load_table(path).append(rows.table(50, 52))
    java.sql(f"CALL j.system.rollback_to_snapshot('db.{name}', {kept})").collect()
    assert_all_agree(java, path, full, "Java's rollback")
    java.sql(
        f"CALL j.system.remove_orphan_files(table => 'db.{name}', "
        "older_than => TIMESTAMP '2020-01-01 00:00:00')"
    ).collect()
    assert_all_agree(java, path, full, "Java's orphan removal")
