"""Whatever Java wrote, both of the product's readers return Java's rows."""

from collections.abc import Callable

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.oracle.compare import assert_same_rows, canonical_rows
from tests.oracle.filters import assert_both_keep, kept_by_spark
from tests.oracle.java_api import frame, identifier, location, read
from tests.oracle.java_tables import (
    CASES,
    DELETES,
    FORMATS,
    PARTITIONINGS,
    Case,
    JavaTable,
    create,
)
from tests.oracle.product import read_arrow, read_both, read_frame, read_spark

Tables = Callable[[Case], JavaTable]
by_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
FULLEST = [Case(2, file_format, "days_bucket", "both") for file_format in FORMATS]
by_fullest = pytest.mark.parametrize("case", FULLEST, ids=lambda case: case.name)

FILTERS = (
    "id IN (1, 6, 27, 45)",
    "id BETWEEN 10 AND 30",
    "ts >= '2024-01-02 00:00:00+00:00' AND ts < '2024-01-03 00:00:00+00:00'",
    "tsn <= '1970-01-01 00:00:00'",
    "dt < '1990-01-01'",
    "flag = true",
    "s LIKE 'a%'",
    "s = 'zürich' OR s IS NULL",
    "i NOT IN (1000, 2000) AND i > -2000",
    "d > 1.0",
    "NOT (d < 0)",
    "isnan(d) OR d = 0.0",
    "f <= -2.25",
    "dec9 >= 0.33 AND dec38 < 0",
    "st.a = 8 OR st.n.x IS NULL",
)
STRUCT_WITH_ONE_CHILD = """
CASE WHEN st IS NOT NULL THEN named_struct('n',
  CASE WHEN st.n IS NOT NULL THEN named_struct('y', st.n.y) END) END AS st"""


@by_case
def test_both_engines_equal_java(java: SparkSession, java_table: Tables, case: Case) -> None:
    table = java_table(case)
    assert_same_rows(table.rows, read_both(java, table.path), what=case.name)


@by_case
def test_the_spark_frame_equals_java(java: SparkSession, java_table: Tables, case: Case) -> None:
    table = java_table(case)
    assert_same_rows(table.rows, read_spark(java, table.path), what=case.name)


@by_case
def test_every_row_filter_keeps_what_spark_keeps(
    java: SparkSession, java_table: Tables, case: Case
) -> None:
    """Java's rows filtered by Spark itself: Java's own push-down would lose NaN rows.

    Each filter meets each pair of file format, partitioning and kind of deletes, by our reader and,
    where the files are Parquet, natively; not all three of them together.
    """
    table = java_table(case)
    texts = [FILTERS[number] for number in filters_of(case)]
    expected = kept_by_spark(java, table.rows, texts)
    if case.file_format == "parquet":
        assert_both_keep(java, table.path, texts, expected)
        return
    for text, kept in zip(texts, expected, strict=True):
        assert_same_rows(kept, read_arrow(table.path, row_filter=text), what=text)


def filters_of(case: Case) -> range:
    """Every third filter; which ones, changes with each of the three."""
    first = FORMATS.index(case.file_format) + DELETES.index(case.deletes)
    return range((first + list(PARTITIONINGS).index(case.partitioning)) % 3, len(FILTERS), 3)


def test_every_filter_meets_every_pair() -> None:
    second = [case for case in CASES if case.version == 2]
    pairs: tuple[Callable[[Case], object], ...] = (
        lambda case: (case.file_format, case.partitioning),
        lambda case: (case.file_format, case.deletes),
        lambda case: (case.partitioning, case.deletes),
    )
    for pair in pairs:
        met = {(pair(case), number) for case in second for number in filters_of(case)}
        assert len(met) == len({pair(case) for case in second}) * len(FILTERS)


@by_fullest
def test_the_row_filter_option_keeps_what_spark_keeps(
    java: SparkSession, java_table: Tables, case: Case
) -> None:
    table = java_table(case)
    text = "ts < '2024-01-03 00:00:00+00:00' AND id > 5 AND (d > 1.0 OR s IS NULL)"
    expected = frame(java, table.rows).where(text).toArrow()
    actual = read_spark(java, table.path, **{"row-filter": text})
    assert_same_rows(expected, actual, what=text)


@by_fullest
def test_a_projection_reads_equality_columns_and_drops_them_again(
    java: SparkSession, java_table: Tables, case: Case
) -> None:
    """The equality deletes need id, d and s; none of them is asked for."""
    table = java_table(case)
    expected = frame(java, table.rows).selectExpr("ts", STRUCT_WITH_ONE_CHILD)
    columns = ("ts", "st.n.y")
    assert_same_rows(expected.toArrow(), read_both(java, table.path, selected_fields=columns))
    actual = read_spark(java, table.path, columns=",".join(columns))
    assert_same_rows(expected.toArrow(), actual)


@by_fullest
def test_every_snapshot_equals_java_reading_that_version(
    java: SparkSession, java_table: Tables, case: Case
) -> None:
    table = java_table(case)
    snapshots = read(java, f"{table.path}#snapshots")["snapshot_id"].to_pylist()
    assert len(snapshots) > 4
    for snapshot in snapshots:
        expected = read(java, table.path, versionAsOf=str(snapshot))
        assert_same_rows(expected, read_both(java, table.path, snapshot_id=snapshot))


@by_fullest
def test_time_travel_options_equal_java(java: SparkSession, java_table: Tables, case: Case) -> None:
    table = java_table(case)
    snapshots = read(java, f"{table.path}#snapshots").sort_by("committed_at")
    second = str(snapshots["snapshot_id"][1].as_py())
    micros = snapshots["committed_at"].cast(pa.int64())[1].as_py()
    expected = read(java, table.path, versionAsOf=second)
    for option in ("snapshot-id", "versionAsOf"):
        assert_same_rows(expected, read_spark(java, table.path, **{option: second}), what=option)
    at = {"as-of-timestamp": str(micros // 1000)}
    assert_same_rows(expected, read_spark(java, table.path, **at), what=str(at))


@by_fullest
def test_branches_and_tags_equal_java(java: SparkSession, java_table: Tables, case: Case) -> None:
    table = java_table(case)
    first = read(java, f"{table.path}#snapshots").sort_by("committed_at")["snapshot_id"][0]
    name = identifier(table.name)
    java.sql(f"ALTER TABLE {name} CREATE OR REPLACE BRANCH side AS OF VERSION {first}")
    java.sql(f"ALTER TABLE {name} CREATE OR REPLACE TAG start AS OF VERSION {first}")
    java.sql(f"DELETE FROM {name}.branch_side WHERE id < 10")
    branch = java.sql(f"SELECT * FROM {name} VERSION AS OF 'side'").toArrow()
    tag = java.sql(f"SELECT * FROM {name} VERSION AS OF 'start'").toArrow()
    assert_same_rows(branch, read_both(java, table.path, branch="side"))
    assert_same_rows(branch, read_spark(java, table.path, branch="side"))
    assert_same_rows(tag, read_spark(java, table.path, tag="start"))
    assert_same_rows(table.rows, read_both(java, table.path), what="main is as it was")


def test_a_table_whose_flags_are_no_flags_is_read_as_java_reads_it(java: SparkSession) -> None:
    odd = {
        "write_metadata_delete__after__commit_enabled": "yes",
        "read_split_adaptive__size_enabled": "1",
    }
    create(java, "odd_flags", "id INT", **odd)
    java.sql(f"INSERT INTO {identifier('odd_flags')} VALUES (1), (2)")
    path = location(java, "odd_flags")
    assert_same_rows(read(java, path), read_both(java, path))


@by_fullest
def test_metadata_columns_equal_java(java: SparkSession, java_table: Tables, case: Case) -> None:
    table = java_table(case)
    names = ["id", "_file", "_pos", "_spec_id", "_partition"]
    expected = java.table(identifier(table.name)).select(*names).toArrow()
    options = {"columns": "id", "metadata-columns": "_file,_pos,_spec_id,_partition"}
    actual = read_spark(java, table.path, **options)
    assert sorted(canonical_rows(expected, names)) == sorted(canonical_rows(actual, names))
    scan = {"selected_fields": names[:1], "metadata_columns": names[1:]}
    by_frame = read_frame(java, table.path, None, **scan)
    assert sorted(canonical_rows(expected, names)) == sorted(canonical_rows(by_frame, names))


@by_fullest
def test_asking_for_deleted_returns_deleted_rows_marked(
    java: SparkSession, java_table: Tables, case: Case
) -> None:
    table = java_table(case)
    expected = java.table(identifier(table.name)).select("id", "_deleted").toArrow()
    options = {"columns": "id", "metadata-columns": "_deleted"}
    assert_same_rows(expected, read_spark(java, table.path, **options))
    scan = {"selected_fields": ["id"], "metadata_columns": ["_deleted"]}
    assert_same_rows(expected, read_both(java, table.path, **scan))
