"""Filters that come after a frame was made choose its files, and never its rows."""

import datetime as dt
import random
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.spark.catalyst.classic_frame import estimated_bytes

COLUMNS = (
    "id bigint, d date, ts timestamp, w timestamp_ntz, s string, m decimal(9,2), x double, "
    "st struct<a: int, b: string>"
)
FIRST = dt.date(2024, 1, 1)


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of 12 files by months; later ones with another column name, NaN, NULL and deletes."""
    path = str(tmp_path_factory.mktemp("narrowed") / "t")
    table = ice.create_table(
        path, COLUMNS, partition_by=["months(d)"], properties={"write.delete.mode": "merge-on-read"}
    )
    day = "date_add(date'2024-01-01', cast(id as int))"
    table.append(
        spark.range(360).coalesce(1).selectExpr(
            "id", f"{day} AS d", f"cast({day} as timestamp) AS ts",
            f"cast({day} as timestamp_ntz) AS w", "if(id % 50 = 0, NULL, cast(id as string)) AS s",
            "cast(id / 2 as decimal(9,2)) AS m",
            "if(id % 40 = 0, double('NaN'), if(id % 41 = 0, -0.0D, cast(id as double))) AS x",
            "named_struct('a', cast(id as int), 'b', 'x') AS st",
        )
    )  # fmt: skip
    table.update_schema().rename_column("s", "text one").commit()
    table.delete("id % 30 = 7")
    return path


@pytest.fixture
def frame(spark: SparkSession, place: str) -> Iterator[Any]:
    ice.enable(spark)
    yield spark.read.format("pyiceberg-lite").load(place)
    ice.disable(spark)


def files(frame: Any) -> int:
    return len(frame.inputFiles())


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


PRUNING = {
    "d >= date'2024-12-31' - interval 3 days": 1,
    "ts < timestamp'2024-02-01'": 1,
    "w < timestamp_ntz'2024-02-02'": 2,
    "id in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)": 1,
    "`text one` = '3'": 3,
    "m > 170": 1,
    "st.a > 345": 1,
    "x < 3": 9,  # where -0.0 is, and the first
    "x = 346.0D": 1,
    "not (id < 350)": 1,
    "id > 350 or id < 3": 2,
    "id <=> 5 and rand() >= 0": 1,
    "id = '5'": 1,
    "id + 1 > 350": 12,
    "id is null": 1,
    "d < current_date()": 12,
}


def test_a_condition_behind_other_steps_chooses_files(frame: Any) -> None:
    steps = frame.select("*", sf.col("d").alias("day")).withColumn("twice", sf.col("id") * 2)
    every = {row.id: row for row in frame.collect()}
    assert files(frame) == 12 and len(every) == 348
    for condition, expected in PRUNING.items():
        found = steps.where(condition)
        assert files(found) <= expected, condition
        assert (files(found) == 12) == (expected == 12), condition
    assert ids(steps.where("day >= date'2024-12-20'")) == [i for i in every if i >= 354]
    assert files(steps.where("twice > 4").where("id < 40")) == 2


def test_frames_that_share_a_table_keep_their_rows(frame: Any, spark: SparkSession) -> None:
    """Each frame of a table stays what it was, whatever became of its filtered sisters."""
    few, last = frame.where(frame.id < 5), frame.where("id >= 350")
    assert files(few) == 1 and ids(few) == list(range(5))
    assert [row.d for row in few.select(frame["d"]).where(frame["id"] == 2).collect()] == [
        FIRST + dt.timedelta(days=2)
    ]
    assert few.join(frame, few.id == frame.id).count() == 5
    assert frame.join(few, "id").count() == 5
    assert few.alias("a").join(last.alias("b"), sf.col("a.id") + 350 == sf.col("b.id")).count() == 5
    both = few.union(last)
    assert ids(both) == [*range(5), *range(350, 360)]
    assert ids(both.where("id > 355")) == [356, 357, 358, 359]
    assert ids(few.union(frame).where("id > 355")) == [356, 357, 358, 359]
    assert ids(few.where("id > 2").where("id < 100")) == [3, 4]
    assert frame.count() == 348 and len(ids(frame)) == 348


def test_a_cached_frame_is_filtered_in_the_cache(frame: Any) -> None:
    part = frame.select("id")
    part.cache()
    try:
        assert part.count() == 348
        both = part.union(frame.where("id > 355").select("id"))
        assert both.where("id > 355").count() == 8 and both.count() == 352
        assert "InMemoryTableScan" in part.where("id > 5")._jdf.queryExecution().toString()
    finally:
        part.unpersist()


@pytest.mark.parametrize("condition", ["id < 5", "id % 2 = 0", "`text one` LIKE '%1%2%'"])
def test_a_frame_of_a_text_that_is_cached_before_it_is_read_is_read_once(
    frame: Any, spark: SparkSession, condition: str
) -> None:
    """A frame looks for kept rows when it is planned first; so nobody may plan it before."""
    other = spark.range(3).cache()
    frame.createOrReplaceTempView("narrowed")
    part = spark.sql(f"SELECT * FROM narrowed a JOIN narrowed b USING (id) WHERE a.{condition}")
    part.cache()
    try:
        assert other.count() == 3 and part.collect()
        assert "InMemoryTableScan" in part._jdf.queryExecution().executedPlan().toString()
    finally:
        part.unpersist()
        other.unpersist()


def test_a_view_and_a_frame_in_a_text_are_narrowed(frame: Any, spark: SparkSession) -> None:
    frame.createOrReplaceTempView("narrowed_view")
    try:
        text = "SELECT id FROM narrowed_view WHERE d < date'2024-02-01'"
        assert files(spark.sql(text)) == 1 and ids(spark.sql(text)) == [
            i for i in range(31) if i != 7
        ]
        given = spark.sql("SELECT id FROM {t} WHERE id < :n", {"n": 3}, t=frame)
        assert files(given) == 1 and ids(given) == [0, 1, 2]
        joined = spark.sql(
            "SELECT a.id FROM narrowed_view a JOIN narrowed_view b ON a.id = b.id "
            "WHERE a.id > 350 AND NOT EXISTS (SELECT 1 FROM narrowed_view c WHERE c.id = a.id + 1)"
        )
        assert ids(joined) == [359]
        frame.where("id = 1").createOrReplaceTempView("narrowed_view")
        assert ids(spark.sql("SELECT id FROM narrowed_view WHERE id < 100")) == [1]
    finally:
        spark.catalog.dropTempView("narrowed_view")


def test_a_narrowed_frame_says_its_own_size(frame: Any) -> None:
    whole, few = estimated_bytes(frame), estimated_bytes(frame.where("id < 5"))
    assert whole is not None and few is not None and few < whole / 6


def test_the_settings_of_the_call_count(frame: Any, spark: SparkSession) -> None:
    """A text is the moment that it was in the zone of the session when `where` was called."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    found, expected = [], []
    every = frame.select("id", sf.unix_seconds("ts").alias("at")).collect()
    try:
        for name, hours in (("Etc/GMT+12", 12), ("Etc/GMT-14", -14)):
            spark.conf.set("spark.sql.session.timeZone", name)
            found.append(frame.where("ts < '2024-12-01'"))
            first = int(dt.datetime(2024, 12, 1, tzinfo=dt.UTC).timestamp()) + hours * 3600
            expected.append(sorted(row.id for row in every if row["at"] < first))
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert [ids(one) for one in found] == expected and expected[0] != expected[1]
    assert [files(one) for one in found] == [12, 11]


def test_an_older_version_stays_older(frame: Any, spark: SparkSession, place: str) -> None:
    first = ice.load_table(place).snapshots()[0].snapshot_id
    old = spark.read.format("pyiceberg-lite").option("snapshot-id", first).load(place)
    assert ids(old.where("id < 10")) == list(range(10))
    assert ids(frame.where("id < 10")) == [i for i in range(10) if i != 7]
    assert files(old.where("id < 10")) == 1


def test_random_conditions_keep_the_rows(frame: Any, spark: SparkSession) -> None:
    """Beside the same conditions over the same rows where nothing prunes."""
    plain = spark.createDataFrame(frame.collect(), frame.schema).coalesce(1).cache()
    draw = random.Random(7)
    try:
        for condition in [_condition(draw, 2) for _ in range(12)]:
            assert ids(frame.where(condition)) == ids(plain.where(condition)), condition
    finally:
        plain.unpersist()


def _condition(draw: random.Random, depth: int) -> str:
    if depth:
        left, right = _condition(draw, depth - 1), _condition(draw, depth - 1)
        return draw.choice([f"({left}) AND ({right})", f"({left}) OR ({right})", f"NOT ({left})"])
    number = draw.choice([-1, 0, 7, 40, 123, 300, 359, 400])
    operator = draw.choice(["<", "<=", "=", ">=", ">", "<=>", "!="])
    return draw.choice(
        [
            f"id {operator} {number}",
            f"x {operator} {number}.0D",
            f"x {operator} double('NaN')",
            f"d {operator} date_add(date'2024-01-01', {number})",
            f"ts {operator} timestamp'2024-03-31 01:30:00'",
            f"m {operator} {number}.5",
            f"`text one` {operator} '{number}'",
            "`text one` IS NULL",
            f"id IN ({', '.join(map(str, range(number, number + 15)))}, NULL)",
            f"id NOT IN ({', '.join(map(str, range(number, number + 15)))})",
            f"st.a {operator} {number}",
        ]
    )


IN_SUBQUERIES = {
    # made joins of: files by the conditions of each
    "SELECT k FROM keys WHERE 0 < (SELECT count(*) FROM {v} v WHERE v.id = k AND d < '2024-02-01')":
        1,
    "SELECT k FROM keys WHERE EXISTS (SELECT 1 FROM {v} v WHERE v.id = k AND id > 345)": 1,
    "SELECT k FROM keys WHERE k NOT IN (SELECT id FROM {v} WHERE id > 345)": 1,
    "SELECT id FROM {v} a WHERE id < 9 AND EXISTS"
    " (SELECT 1 FROM {v} b WHERE b.id = a.id * 40 AND b.id > 300)": 4,
    "SELECT k FROM keys WHERE EXISTS (SELECT 1 FROM {v} a WHERE a.id = k AND a.id > 320 AND a.id IN"
    " (SELECT id + 1 FROM {v} WHERE id > 345))": 2,
    "SELECT k FROM keys WHERE EXISTS (SELECT 1 FROM {v} a WHERE a.id > k AND a.id < 20)": 1,
    # that stay: their scans are their own
    "SELECT id FROM {v} WHERE id < 9 AND id > (SELECT max(id) - 358 FROM {v})": 1,
    "SELECT a.id FROM {v} a JOIN {v} b ON a.id = b.id AND b.id < 5 WHERE a.id > 1 AND a.id <"
    " (SELECT max(id) - 350 FROM {v} WHERE id > 340)": None,
    "WITH w AS (SELECT * FROM {v}) SELECT id, (SELECT max(id) FROM w) FROM w WHERE id < 3": 1,
    "WITH q AS (SELECT * FROM {v}), x AS (SELECT * FROM q) SELECT id FROM q WHERE id < 3 AND id <"
    " (SELECT count(*) FROM x) - 340 AND EXISTS (SELECT 1 FROM {v} b WHERE b.id = q.id + 1)": 12,
    "WITH q AS (SELECT * FROM {v}) SELECT id FROM {v} WHERE id < 3 AND id IN (SELECT id FROM q)":
        12,
    "WITH w AS (SELECT * FROM {v} WHERE id > 345) SELECT k FROM keys WHERE k IN (SELECT id FROM w)"
    " OR k < (SELECT count(*) FROM w)": None,
}  # fmt: skip


@pytest.mark.parametrize("text", IN_SUBQUERIES)
def test_relations_in_subqueries_are_narrowed_and_keep_their_rows(
    frame: Any, spark: SparkSession, text: str
) -> None:
    spark.range(360).selectExpr("id AS k").createOrReplaceTempView("keys")
    frame.createOrReplaceTempView("narrowed")
    spark.createDataFrame(frame.collect(), frame.schema).createOrReplaceTempView("whole")
    found = spark.sql(text.format(v="narrowed"))
    if IN_SUBQUERIES[text] is not None:
        assert files(found) == IN_SUBQUERIES[text]
    expected = spark.sql(text.format(v="whole")).collect()
    assert sorted(found.collect()) == sorted(expected) and expected
