"""Aggregates that metadata answers open no file, and have the values of the rows."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark.spark.reading import answered_aggregates
from tests.spark.settings import settings

COLUMNS = (
    "part int, i int, l bigint, d date, ts timestamptz, w timestamp, m decimal(9,2), "
    "big decimal(38,4), b boolean, s string, x double, n int, empty int, st struct<a: int>"
)

WALL = dt.datetime.fromisoformat("1583-01-01")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of three partitions, with NULL in every column and one of nothing but NULL."""
    path = str(tmp_path_factory.mktemp("aggregates") / "t")
    table = ice.create_table(path, COLUMNS, partition_by=["part"])
    rows = [_row(number) for number in range(30)]
    schema = table.scan().to_arrow().schema
    table.append(pa.Table.from_pylist(rows, schema=schema))
    return path


def _row(number: int) -> dict[str, Any]:
    if number % 7 == 3:
        return {"part": number % 3}
    return {
        "part": number % 3,
        "i": number - 9,
        "l": number * 10**12,
        "d": dt.date(1500, 1, 1) + dt.timedelta(number * 10_000),
        "ts": dt.datetime(1900, 1, 1, tzinfo=dt.UTC) + dt.timedelta(number * 1000, microseconds=7),
        "w": WALL + dt.timedelta(number * 10_000),
        "m": Decimal(number) / 4 - 3,
        "big": Decimal(10) ** 30 * (number - 15),
        "b": number > 4,
        "s": f"text {number}",
        "x": float(number),
        "n": number if number % 2 else None,
        "st": {"a": number},
    }


@pytest.fixture
def frame(spark: SparkSession, place: str) -> DataFrame:
    return ice.load_table(place).scan().to_df(spark)


def is_answered(frame: DataFrame) -> bool:
    return "FileScan" not in frame._jdf.queryExecution().executedPlan().toString()


def both(frame: DataFrame, *expressions: str) -> tuple[Any, Any]:
    """The row that metadata answers, and the same of the files."""
    answered = frame.selectExpr(*expressions)
    assert is_answered(answered)
    off = {"spark.sql.iceberg.aggregate-push-down.enabled": "false"}
    with settings(frame.sparkSession, off):
        read = frame.selectExpr(*expressions)
        assert not is_answered(read)
        return answered.collect(), read.collect()


def ints(**columns: Any) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


EXACT = ("part", "i", "l", "d", "ts", "w", "m", "big", "b", "n", "empty")


def test_counts_and_bounds_are_those_of_the_rows(frame: DataFrame) -> None:
    expressions = ["count(*)", "count(*) + 1 AS more"]
    expressions += [f"{name}({column})" for name in ("count", "min", "max") for column in EXACT]
    answered, read = both(frame, *expressions)
    assert answered == read
    assert answered[0][0] == 30


@pytest.mark.parametrize("column", EXACT)
def test_each_column_by_itself(frame: DataFrame, column: str) -> None:
    answered, read = both(frame, f"min({column})", f"max({column})", f"count({column})")
    assert answered == read


def test_a_whole_partition_is_answered(frame: DataFrame) -> None:
    answered, read = both(frame.where("part = 1 OR part IN (2)"), "count(*)", "min(l)", "max(d)")
    assert answered == read and answered[0][0] == 20


def test_the_text_of_a_query_is_answered(spark: SparkSession, place: str) -> None:
    rows = ice.sql(spark, f"SELECT count(*) AS n, max(l) AS m FROM `{place}`")
    assert is_answered(rows)
    assert rows.collect() == [(30, 29 * 10**12)]


def test_an_empty_table_counts_nothing(spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    frame = table.scan().to_df(spark).selectExpr("count(*) AS n", "max(id) AS m")
    assert frame.collect() == [(0, None)]


READ = {
    "text, whose bounds may be cut": "min(s)",
    "floats, which have NaN": "max(x)",
    "distinct values": "count(DISTINCT i)",
    "a computed column": "max(i + 1)",
    "a field of a struct": "max(st.a)",
    "several columns": "count(i, l)",
    "a filtered function": "count(*) FILTER (WHERE i > 3)",
    "a sum": "sum(i)",
    "one of two": "count(*); sum(i)",
}


@pytest.mark.parametrize("case", READ)
def test_other_aggregates_read_the_files(frame: DataFrame, case: str) -> None:
    assert not is_answered(frame.selectExpr(*READ[case].split("; ")))


@pytest.mark.parametrize(
    "condition",
    ["i > 3", "part = 1 AND i > 3", "part + 1 = 2", "rand(7) < 0.9", "part = 1 OR s = 'text 6'"],
)
def test_a_condition_on_some_rows_of_a_file_reads_it(frame: DataFrame, condition: str) -> None:
    rows = frame.where(condition).selectExpr("count(*) AS n")
    assert not is_answered(rows)
    assert rows.first() == (len(frame.where(condition).collect()),)


RANDOM = {
    "below a filter": "SELECT id FROM (SELECT i AS id, rand(7) AS r FROM {t}) WHERE r < 0.5",
    "below a filter with others": "SELECT i FROM (SELECT i, rand(7) AS r FROM {t}) WHERE r < 0.5"
    " AND i < 20",
    "in a column": "SELECT y FROM (SELECT IF(rand(1) < 0.5, i, NULL) AS y FROM {t})"
    " WHERE y IS NOT NULL",
    "in a union": "SELECT r FROM (SELECT rand(3) AS r FROM {t} UNION ALL SELECT rand(4) FROM {t})"
    " WHERE r < 0.5",
    "above a union": "SELECT q FROM (SELECT rand(9) AS q FROM (SELECT i FROM {t} UNION ALL"
    " SELECT n FROM {t})) WHERE q < 0.5",
    "by the row's number": "SELECT r FROM (SELECT monotonically_increasing_id() AS r FROM {t})"
    " WHERE r % 2 = 0",
}


@pytest.mark.parametrize("case", RANDOM)
def test_a_filter_of_random_values_is_evaluated(
    frame: DataFrame, spark: SparkSession, case: str
) -> None:
    frame.createOrReplaceTempView("random_rows")
    query = RANDOM[case].format(t="random_rows")
    counted = spark.sql(f"SELECT count(*) FROM ({query})")
    assert not is_answered(counted)
    assert counted.first() == (len(spark.sql(query).collect()),)


def test_partitions_of_nan_and_zeros_are_compared_as_spark_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    values = [1.5, float("nan"), -0.0, 0.0, None, 7.0, float("-inf"), float("inf")]
    table = ice.create_table(str(tmp_path / "t"), "i int, x double", partition_by=["x"])
    table.append(pa.table({"i": pa.array(range(16), pa.int32()), "x": values * 2}))
    frame = table.refresh().scan().to_df(spark)
    numbers = ("0.0D", "-0.0D", "double('NaN')", "1.5D", "3.0D")
    conditions = [f"x {sign} {number}" for sign in ("<", "=", ">=", "!=") for number in numbers]
    for condition in [*conditions, "x IS NULL", "x IN (1.5D, double('NaN'))"]:
        rows = frame.where(condition)
        (answered,) = rows.selectExpr("count(*)", "max(i)").collect()
        found = sorted(row.i for row in rows.collect())
        assert tuple(answered) == (len(found), found[-1] if found else None), condition


GROUPED_COLUMNS = "day date, region string, open boolean, price decimal(9,2), at timestamp, v int"
KEYS = ("day", "region", "open", "price", "at")


UNION = """SELECT region, count(*) FROM (
    SELECT region, v FROM grouped WHERE open UNION ALL SELECT region, v FROM grouped
) GROUP BY region"""


@pytest.fixture(scope="module")
def grouped_place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of many identity partitions, some of NULL, with several files in each."""
    path = str(tmp_path_factory.mktemp("groups") / "t")
    table = ice.create_table(path, GROUPED_COLUMNS, partition_by=list(KEYS))
    schema = table.scan().to_arrow().schema
    for start in (0, 40):
        rows = [_grouped_row(number) for number in range(start, start + 40)]
        table.append(pa.Table.from_pylist(rows, schema=schema))
    return path


def _grouped_row(number: int) -> dict[str, Any]:
    if number % 11 == 3:
        return {"v": number}
    return {
        "day": dt.date(1582, 10, 1) + dt.timedelta(number % 4 * 20),
        "region": ["", "null", "a\nb", 'q"uote\\', "ß"][number % 5],
        "open": number % 3 == 1,
        "price": Decimal(number % 2) / 4,
        "at": WALL + dt.timedelta(number % 2 * 9999, microseconds=7),
        "v": None if number % 5 == 4 else number,
    }


@pytest.fixture
def grouped(spark: SparkSession, grouped_place: str) -> DataFrame:
    frame = ice.load_table(grouped_place).scan().to_df(spark)
    frame.createOrReplaceTempView("grouped")
    return frame


def groups_of(grouped: DataFrame, query: str) -> tuple[list[str], list[str], bool]:
    """The rows of a query, those without answered aggregates, and whether metadata answered it."""
    spark = grouped.sparkSession
    answered = spark.sql(query)
    rows = sorted(str(row) for row in answered.collect())
    with settings(spark, {"spark.sql.iceberg.aggregate-push-down.enabled": "false"}):
        return rows, sorted(str(row) for row in spark.sql(query).collect()), is_answered(answered)


@pytest.mark.parametrize(
    "query",
    [
        *(f"SELECT {key}, count(*), count(v), min(v), max(v) FROM grouped GROUP BY {key}"
          for key in KEYS),
        "SELECT region, open, max(v) - min(v) AS spread FROM grouped GROUP BY region, open",
        "SELECT count(*) FROM grouped GROUP BY day",
        "SELECT DISTINCT region FROM grouped",
        "SELECT region, count(*) FROM grouped WHERE open AND price < 1 GROUP BY region",
        "SELECT day, count(*) AS n FROM grouped GROUP BY day HAVING n > 10 ORDER BY n",
        "SELECT r, max(v) FROM (SELECT region AS r, v FROM grouped) GROUP BY r",
        UNION,
        "SELECT region, count(*) FROM grouped WHERE region = 'nowhere' GROUP BY region",
        "SELECT upper(region), n FROM (SELECT region, count(*) AS n FROM grouped GROUP BY region)",
    ],
)  # fmt: skip
def test_groups_of_identity_partitions_are_answered(grouped: DataFrame, query: str) -> None:
    answered, read, is_from_metadata = groups_of(grouped, query)
    assert is_from_metadata
    assert answered == read


@pytest.mark.parametrize(
    "query",
    [
        "SELECT v, count(*) FROM grouped GROUP BY v",
        "SELECT day + INTERVAL 1 DAY, count(*) FROM grouped GROUP BY 1",
        "SELECT region, sum(v) FROM grouped GROUP BY region",
        "SELECT region, count(*) FROM grouped GROUP BY ROLLUP(region)",
        "SELECT region, count(*) FROM grouped WHERE v > 3 GROUP BY region",
        "SELECT region, count(*) FILTER (WHERE v > 3) FROM grouped GROUP BY region",
        "SELECT c, count(*) FROM (SELECT region COLLATE UTF8_LCASE AS c FROM grouped) GROUP BY c",
        "SELECT region, min(region) FROM grouped GROUP BY region",
        "SELECT count(DISTINCT region) FROM grouped",
    ],
)
def test_other_groups_are_read(grouped: DataFrame, query: str) -> None:
    answered, read, is_from_metadata = groups_of(grouped, query)
    assert not is_from_metadata
    assert answered == read


def test_groups_of_files_of_an_earlier_spec_are_read(spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "i int, v int")
    table.append(ints(i=[1, 2], v=[1, 2]))
    with table.update_spec() as update:
        update.add_field("i")
    table.append(ints(i=[1, 3], v=[5, 6]))
    groups = table.refresh().scan().to_df(spark).groupBy("i").count()
    assert not is_answered(groups)
    assert sorted(map(tuple, groups.collect())) == [(1, 2), (2, 1), (3, 1)]
    late = table.refresh().scan("i = 3").to_df(spark).groupBy("i").count()
    assert [tuple(row) for row in late.collect()] == [(3, 1)]


def test_groups_of_a_widened_and_renamed_column(spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "i int, v int", partition_by=["i"])
    table.append(ints(i=[1, 2], v=[1, 2]))
    with table.update_schema() as update:
        update.update_column("i", "bigint")
        update.rename_column("i", "number")
    table = table.refresh()
    table.append(
        pa.table({"number": pa.array([1, 2**40], pa.int64()), "v": pa.array([5, 6], pa.int32())})
    )
    groups = table.refresh().scan().to_df(spark).groupBy("number").agg({"v": "max"})
    assert is_answered(groups)
    assert sorted(map(tuple, groups.collect())) == [(1, 5), (2, 2), (2**40, 6)]


def test_more_groups_than_the_bound_are_read(
    grouped: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answered_aggregates, "_MOST_GROUPS", 2)
    answered, read, is_from_metadata = groups_of(grouped, "SELECT DISTINCT region FROM grouped")
    assert (answered, is_from_metadata) == (read, False)


@pytest.mark.parametrize("key", [[], ["i"]])
def test_a_table_with_deletes_is_read(spark: SparkSession, tmp_path: Path, key: list[str]) -> None:
    by_reading = {"write.delete.mode": "merge-on-read"}
    table = ice.create_table(str(tmp_path / "t"), "i int, v int", properties=by_reading)
    table.append(ints(i=range(9), v=range(9)))
    if key:
        table.upsert(ints(i=[3], v=[100]), keys=key)
    else:
        table.delete("i = 8")
    rows = table.refresh().scan().to_df(spark).selectExpr("count(*) AS n", "max(i) AS m")
    assert [tuple(row) for row in rows.collect()] == [(9, 8) if key else (8, 7)]


def test_files_without_metrics_are_read(spark: SparkSession, tmp_path: Path) -> None:
    without = {"write.metadata.metrics.default": "none"}
    table = ice.create_table(str(tmp_path / "t"), "i int", properties=without)
    table.append(ints(i=[1, 2]))
    frame = table.scan().to_df(spark)
    assert is_answered(frame.selectExpr("count(*)"))
    rows = frame.selectExpr("max(i) AS m", "count(i) AS n")
    assert not is_answered(rows)
    assert rows.collect() == [(2, 2)]


def test_a_column_that_files_do_not_have_is_read(spark: SparkSession, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "i int")
    table.append(ints(i=[1, 2]))
    table.update_schema().add_column("j", "int").commit()
    table.refresh().append(ints(i=[3], j=[5]))
    rows = table.refresh().scan().to_df(spark).selectExpr("max(j)", "count(j)", "count(*)")
    assert rows.collect() == [(5, 1, 3)]
