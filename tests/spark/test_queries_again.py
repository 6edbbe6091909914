"""A query that is made again: what is asked of Java, and what a session says by then."""

import datetime as dt
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.spark.session.active_session import session_time_zone
from tests.spark.keyed_tables import in_order, named
from tests.spark.round_trips import counted_round_trips
from tests.spark.settings import settings

JOINED = "lines l JOIN orders r ON l.o = r.o"
AGAIN = {
    "between": f"SELECT 1 FROM {JOINED} WHERE r.o BETWEEN 3 AND 9 AND amount BETWEEN 0 AND 9",
    "nvl": f"SELECT nvl(l.code, r.code) FROM {JOINED} WHERE r.o < 9",
    "in": f"SELECT 1 FROM {JOINED} WHERE r.o IN (1, 2, 3)",
    "groups": f"SELECT r.o, sum(amount), count(DISTINCT l.code) FROM {JOINED} WHERE r.o < 9 "
    "GROUP BY r.o HAVING count(*) > 1 ORDER BY 2",
    "sets": f"SELECT r.o, sum(amount) FROM {JOINED} WHERE r.o < 9 GROUP BY CUBE (r.o, l.code)",
    "window": f"SELECT rank() OVER (PARTITION BY r.o ORDER BY amount) FROM {JOINED} WHERE r.o < 9",
    "scalar": f"SELECT 1 FROM {JOINED} WHERE r.o = (SELECT max(o) FROM orders)",
    "exists": "SELECT 1 FROM lines l WHERE EXISTS "
    "(SELECT 1 FROM orders r WHERE l.o = r.o AND r.o < 9)",
    "lateral": f"SELECT m FROM {JOINED}, "
    "LATERAL (SELECT max(c) m FROM customers s WHERE s.c = r.c) WHERE r.o < 9",
    "named": f"WITH x AS (SELECT r.o, amount FROM {JOINED} WHERE r.o < 9) "
    "SELECT * FROM x a JOIN x b ON a.o = b.o",
    "union": f"SELECT l.o FROM {JOINED} WHERE r.o < 9 UNION SELECT c FROM customers s",
    "self": "SELECT 1 FROM orders a JOIN orders b ON a.o = b.c JOIN lines l ON l.o = a.o "
    "WHERE b.o < 9",
    "exploded": f"SELECT e FROM {JOINED} LATERAL VIEW explode(array(l.o, 1)) x AS e WHERE r.o < 9",
    "pivoted": f"SELECT * FROM (SELECT r.o, amount FROM {JOINED} WHERE r.o < 9) "
    "PIVOT (sum(amount) FOR o IN (1, 2))",
}


@pytest.mark.parametrize("name", AGAIN)
def test_a_query_has_the_same_rows_again(
    enabled: SparkSession, keyed_warehouse: Path, name: str
) -> None:
    rows = [in_order(enabled.sql(named(AGAIN[name]))) for _ in range(2)]
    for table in ("nations", "customers", "orders", "lines"):
        frame = enabled.read.format("pyiceberg-lite").load(f"{keyed_warehouse}/db/{table}")
        frame.createOrReplaceTempView(table)
    rows.append(in_order(enabled.sql(AGAIN[name])))
    assert rows[0] == rows[1] == rows[2]


def test_a_query_asks_java_a_few_times_however_many_tables_it_has(enabled: SparkSession) -> None:
    joined = (
        "SELECT 1 FROM lines l JOIN orders r ON l.o = r.o JOIN customers s ON r.c = s.c"
        " JOIN nations t ON s.n = t.n WHERE name = 'n2'"
    )
    for text, most in (("SELECT 1 FROM nations t", 19), (joined, 37)):
        for _ in range(2):
            enabled.sql(named(text))
        with counted_round_trips(enabled) as found:
            enabled.sql(named(text))
        assert found.count <= most, text


def test_each_query_sees_the_settings_of_its_time(spark: SparkSession, tmp_path: Path) -> None:
    for place in ("a", "b"):
        table = ice.create_table(str(tmp_path / place / "db" / "t"), "id bigint, v string")
        table.append(pa.table({"id": [1, 2], "v": [place, "x"]}))
    catalog = "spark.sql.catalog.turns"
    text = "SELECT v FROM turns.db.t WHERE ID = 1"
    with settings(spark, {f"{catalog}.type": "filesystem"}):
        ice.enable(spark)
        try:
            for place in ("a", "b", "a"):
                with settings(spark, {f"{catalog}.warehouse": str(tmp_path / place)}):
                    assert [row.v for row in spark.sql(text).collect()] == [place]
                    with (
                        settings(spark, {"spark.sql.caseSensitive": "true"}),
                        pytest.raises(Exception, match="UNRESOLVED_COLUMN"),
                    ):
                        spark.sql(text)
        finally:
            ice.disable(spark)


def test_a_condition_of_a_moment_prunes_by_the_zone_of_its_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = str(tmp_path / "moments")
    table = ice.create_table(place, "id bigint, ts timestamptz", partition_by=["hours(ts)"])
    moments = pa.array([0, 3_600_000_000, 7_200_000_000], pa.timestamp("us", "UTC"))
    table.append(pa.table({"id": [0, 1, 2], "ts": moments}))
    text = f"SELECT id FROM `{place}` WHERE ts = timestamp '1970-01-01 02:00:00'"
    hours = {"UTC": 2, "Europe/Berlin": 1, "Africa/Cairo": 0}
    for zone, hour in [*hours.items(), *hours.items()]:
        with settings(spark, {"spark.sql.session.timeZone": zone}):
            frame = ice.sql(spark, text)
            assert [row.id for row in frame.collect()] == [hour]
            assert len(frame.inputFiles()) == 1


def test_a_session_without_a_zone_of_its_own_has_the_jvms(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = str(tmp_path / "moments")
    table = ice.create_table(place, "id bigint, ts timestamptz", partition_by=["hours(ts)"])
    moments = pa.array([0, 3_600_000_000], pa.timestamp("us", "UTC"))
    table.append(pa.table({"id": [0, 1], "ts": moments}))
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.unset("spark.sql.session.timeZone")
    try:
        zone = spark.conf.get("spark.sql.session.timeZone")
        assert zone is not None and session_time_zone(spark) == zone
        here = dt.datetime.fromtimestamp(3600, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S")
        frame = ice.sql(spark, f"SELECT id FROM `{place}` WHERE ts = timestamp '{here}'")
        assert [row.id for row in frame.collect()] == [1]
        assert len(frame.inputFiles()) == 1
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_a_subquery_that_spark_takes_twice_hides_no_other_table(enabled: SparkSession) -> None:
    """Spark parses the operand of a CASE once, and has it in each of its branches."""
    case = "CASE (SELECT max(n) FROM nations) WHEN 11 THEN 'a' WHEN 12 THEN 'b' END"
    (row,) = enabled.sql(named(f"SELECT DISTINCT {case} AS k FROM customers")).collect()
    assert row.k == "a"
