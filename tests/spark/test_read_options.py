"""Read options: names of Iceberg's Spark runtime, and ours (contract: "Spark data source")."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Three appends of two rows a day, partitioned by day; a tag and a branch on the second."""
    location = str(tmp_path_factory.mktemp("options") / "t")
    schema = "id bigint, ts timestamp, s struct<a: bigint, b: string>"
    made = ice.create_table(location, schema, partition_by=["days(ts)"])
    for day in (1, 2, 3):
        moments = [dt.datetime(2024, 1, day, hour, tzinfo=dt.UTC) for hour in (0, 12)]
        rows = pa.table(
            {
                "id": [10 * day, 10 * day + 1],
                "ts": pa.array(moments, pa.timestamp("us", "UTC")),
                "s": [{"a": day, "b": "x"}, None],
            }
        )
        made.append(rows, snapshot_properties={"day": str(day)})
    return made


def ids(spark: Any, table: Table, **options: object) -> list[int]:
    reader = spark.read.format("pyiceberg-lite")
    frame = reader.options(**{key.replace("_", "-"): str(v) for key, v in options.items()})
    return sorted(row.id for row in frame.load(table.location()).select("id").collect())


def test_a_snapshot_by_id_in_both_spellings(spark: Any, table: Table) -> None:
    second = table.snapshots()[1].snapshot_id
    assert ids(spark, table, snapshot_id=second) == [10, 11, 20, 21]
    assert ids(spark, table, versionAsOf=second) == [10, 11, 20, 21]


def test_a_user_s_schema_reads_a_required_column(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint not null, k string")
    table.append(spark.range(3).selectExpr("id", "string(id) k"))
    reader = spark.read.format("pyiceberg-lite").schema("id bigint, k string")
    assert sorted(row.id for row in reader.load(table.location()).collect()) == [0, 1, 2]


def test_a_time_in_both_spellings(spark: Any, table: Table) -> None:
    second = table.snapshots()[1].timestamp_ms
    assert ids(spark, table, as_of_timestamp=second) == [10, 11, 20, 21]
    text = dt.datetime.fromtimestamp(second / 1000, dt.UTC).isoformat(sep=" ")
    assert ids(spark, table, timestampAsOf=text) == [10, 11, 20, 21]


def test_appends_between_two_snapshots_start_exclusive_end_inclusive(
    spark: Any, table: Table
) -> None:
    first, second, third = (snapshot.snapshot_id for snapshot in table.snapshots())
    assert ids(spark, table, start_snapshot_id=first) == [20, 21, 30, 31]
    assert ids(spark, table, start_snapshot_id=first, end_snapshot_id=second) == [20, 21]
    assert ids(spark, table, start_snapshot_id=third) == []


def test_row_filter_returns_only_matching_rows(spark: Any, table: Table) -> None:
    assert ids(spark, table, row_filter="id in (10, 31) and s.a is not null") == [10]
    late = "ts >= '2024-01-02 12:00:00+00:00'"
    assert ids(spark, table, row_filter=late) == [21, 30, 31]


def test_row_filter_without_an_offset_needs_a_time_zone(spark: Any, table: Table) -> None:
    late = "ts >= timestamp '2024-01-02 21:00:00'"
    assert ids(spark, table, row_filter=late, time_zone="UTC") == [30, 31]
    assert ids(spark, table, row_filter=late, time_zone="Asia/Tokyo") == [21, 30, 31]
    with pytest.raises(Exception, match=r"time.zone"):
        ids(spark, table, row_filter=late)


def test_columns_choose_what_is_read_in_the_tables_order(spark: Any, table: Table) -> None:
    reader = spark.read.format("pyiceberg-lite").option("columns", "s.b,id")
    frame = reader.load(table.location())
    assert frame.schema.simpleString() == "struct<id:bigint,s:struct<b:string>>"
    first = frame.where("id = 10").collect()[0]
    assert first.s.b == "x"


def test_columns_and_filter_ignore_case_as_spark_does(spark: Any, table: Table) -> None:
    reader = spark.read.format("pyiceberg-lite").options(columns="ID", **{"row-filter": "Id = 10"})
    assert reader.load(table.location()).collect()[0].id == 10


def test_metadata_columns(spark: Any, table: Table) -> None:
    reader = spark.read.format("pyiceberg-lite").options(
        columns="id", **{"metadata-columns": "_file,_pos,_spec_id,_partition,_deleted"}
    )
    row = reader.load(table.location()).where("id = 21").collect()[0]
    assert row._file.startswith(f"{table.location()}/data/ts_day=2024-01-02/")
    assert (row._pos, row._spec_id, row._deleted) == (1, 0, False)
    assert row._partition.ts_day == dt.date(2024, 1, 2)


def test_split_size_makes_more_partitions(spark: Any, table: Table) -> None:
    def partitions(**options: str) -> int:
        reader = spark.read.format("pyiceberg-lite").options(**options)
        return int(reader.load(table.location()).rdd.getNumPartitions())

    small = {"split-size": "1", "file-open-cost": "0", "lookback": "1"}
    assert partitions() == 1
    assert partitions(**small) >= 3


def test_batch_size_bounds_the_rows_of_a_batch(spark: Any, table: Table) -> None:
    assert len(ids(spark, table, batch_size=1)) == 6


def test_path_may_be_a_metadata_file(spark: Any, table: Table) -> None:
    location = table.metadata_location
    assert spark.read.format("pyiceberg-lite").load(location).count() == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"snapshotid": "1"}, "snapshot-id"),
        ({"row-filters": "id = 1"}, "row-filter"),
        ({"columns": "id,nope"}, "nope"),
        ({"row-filter": "nope = 1"}, "nope"),
        ({"row-filter": "id = "}, "row.filter|predicate|parse"),
        ({"snapshot-id": "12345"}, "12345"),
        ({"snapshot-id": "x"}, "snapshot-id"),
        ({"branch": "nope"}, "nope"),
        ({"tag": "nope"}, "nope"),
        ({"split-size": "0"}, "split-size"),
        ({"metadata-columns": "_nope"}, "_nope"),
    ],
)
def test_what_is_wrong_is_named(
    spark: Any, table: Table, options: dict[str, str], message: str
) -> None:
    reader = spark.read.format("pyiceberg-lite").options(**options)
    with pytest.raises(Exception, match=message):
        reader.load(table.location()).collect()


def test_a_schema_of_the_users_own_is_refused(spark: Any, table: Table) -> None:
    reader = spark.read.format("pyiceberg-lite").schema("id int")
    with pytest.raises(Exception, match="columns"):
        reader.load(table.location()).collect()


def test_a_folder_that_is_no_table_is_named(spark: Any, tmp_path: Any) -> None:
    with pytest.raises(Exception, match=str(tmp_path)):
        spark.read.format("pyiceberg-lite").load(str(tmp_path)).count()
