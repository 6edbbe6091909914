"""Settings that change what SQL means, in every place that reads SQL beside Spark."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.spark.session.classic_session import all_settings
from tests.spark.round_trips import counted_round_trips
from tests.spark.settings import settings

NAMES = {"spark.sql.ansi.doubleQuotedIdentifiers": "true"}
RAW = {"spark.sql.parser.escapedStringLiterals": "true"}
BERLIN = {"spark.sql.session.timeZone": "Europe/Berlin"}
DATA = pa.table({"id": [1, 2, 3], "region": ["x", "y", "a\\tb"], "d": ["2024-01-01", "", "z"]})


@pytest.fixture
def table(tmp_path: Path) -> Any:
    """A file for each row, so that pruning shows."""
    made = ice.create_table(str(tmp_path / "t"), DATA.schema, partition_by=["id"])
    made.append(DATA)
    return made


def ids(table: Any) -> list[int]:
    return sorted(table.scan().to_arrow().column("id").to_pylist())


@pytest.mark.parametrize(
    ("given", "condition", "left"),
    [
        (NAMES, "\"region\" <> 'x'", [1]),
        (NAMES, '"region" <> \'x\' and length("region") > 1', [1, 2]),
        (RAW, "region = 'a\\tb'", [1, 2]),
        ({}, "region = 'a\\tb'", [1, 2, 3]),
        ({"spark.sql.legacy.consecutiveStringLiterals.enabled": "true"}, "region = 'x'''", [2, 3]),
    ],
)
def test_delete_reads_its_condition_as_the_session_does(
    spark: Any, table: Any, given: dict[str, str], condition: str, left: list[int]
) -> None:
    frame = spark.createDataFrame(DATA)
    with settings(spark, given):
        kept = frame.where(f"not ({condition})").collect()
        table.delete(condition)
    assert ids(table) == left == sorted(row.id for row in kept)


def test_a_condition_of_a_verb_has_no_variables(spark: Any, table: Any) -> None:
    """Names and values of data may look like variables; Spark would put a setting there."""
    table.delete("region = '${nothing}x'")
    assert ids(table) == [1, 2, 3]


def test_update_merge_overwrite_and_scans_take_names_in_double_quotes(
    spark: Any, table: Any
) -> None:
    with settings(spark, NAMES):
        table.update({"d": '"region"'}, where="\"region\" = 'y'")
        source = spark.createDataFrame(DATA.slice(0, 1))
        on = 't."id" = s."id" and t."region" = \'x\''
        table.merge(source, on).when_matched_update({"d": 's."region"'}).execute()
        found = table.scan(row_filter="\"region\" <> 'x'").to_df(spark)
        assert sorted(row.id for row in found.collect()) == [2, 3]
        query = f"select \"d\" from `{table.location()}` where \"region\" in ('x', 'y')"
        assert sorted(row.d for row in ice.sql(spark, query).collect()) == ["x", "y"]
        table.overwrite(DATA.slice(0, 0), overwrite_filter="\"region\" <> 'x'")
    assert ids(table) == [1]


def test_built_predicates_mean_the_same_under_every_setting(spark: Any, table: Any) -> None:
    for given in (NAMES, RAW, {}):
        with settings(spark, given):
            found = table.scan(row_filter=ice.col("region") == "a\\tb").to_df(spark).collect()
            assert [row.id for row in found] == [3]
    with settings(spark, RAW):
        table.update({"d": "'new'"}, where=ice.col("region") == "a\\tb")
    assert table.scan(row_filter="d = 'new'").to_arrow().column("id").to_pylist() == [3]


def test_store_assignment_is_ansi_without_ansi_mode_too(spark: Any, tmp_path: Path) -> None:
    made = ice.create_table(str(tmp_path / "n"), "id bigint, i int")
    made.append(pa.table({"id": [1], "i": pa.array([1], pa.int32())}))
    loose = {"spark.sql.ansi.enabled": "false"}
    with settings(spark, loose), pytest.raises(Exception, match=r"overflow|OVERFLOW|can't hold"):
        made.update({"i": "3000000000"})
    assert made.scan().to_arrow().column("i").to_pylist() == [1]


QUERIES = (
    # a struct named like another table's alias: the alias wins
    "select a.id from `{0}` a join u s on s.id = a.id where s.x = 1",
    "select a.id from `{0}` a join u on u.id = a.id where s.x = 1",
    "select a.id from `{0}` a where s.x = 1",
    "select s.id from `{0}` s where s.s.x = 1",
    "select x.a from `{0}` as x(b, a, s, ts) where b = 1",
    "select a.id from `{0}` a join u using (id) where id = 1",
    "select a.id from `{0}` a right join u using (id) where id = 1",
    "select a.id from u left join `{0}` a using (id) where id = 1",
    "select id from `{0}` natural join u where id = 1",
    "with u as (select * from `{0}`) select id from u where s.x = 1",
    "select a.id from `{0}` a where exists (select 1 from u where u.id = a.id and x = 1)",
    "select a.id from `{0}` a where a.id in (select s.id from u s where s.x = 2)",
    "select a.id, v.y from `{0}` a, lateral (select s.x as y from u s where s.id = a.id) v",
    "select a.id from `{0}` a lateral view explode(array(1)) s as x where s.x = 1",
    "select id as b, b as id from `{0}` where id = 1 order by id",
    "select id, count(*) as b from `{0}` group by id having b > 0 and id = 2",
    "select id as z from `{0}` where id = 1 union all select b from `{0}` where b = 20",
    "select p.id from `{0}` p join `{0}` q on p.id = q.b / 10 where q.id = 2",
    "from `{0}` |> limit 3 |> where id < 0",
    "select (select struct(o.*).b) as b from `{0}` o where o.id = 3",
    "select ID from `{0}` T where t.Id = 1 and `S`.`X` = 1",
    "select id from `{0}` where ts < timestamp'2024-10-27T01:45:00Z' - interval '30' minute",
    "select id from `{0}` where ts >= timestamp'2024-10-27T00:15:00Z' + interval '30' minute",
    "select id from `{0}` where id = '1' or s.x in (1, 2.0D) and b <> cast(10.4 as int)",
)


@pytest.mark.parametrize("zone", [{}, BERLIN], ids=["utc", "berlin"])
def test_queries_give_spark_s_rows(spark: Any, tmp_path: Path, zone: dict[str, str]) -> None:
    kind = "id bigint, b bigint, s struct<x: bigint>, ts timestamp"
    made = ice.create_table(str(tmp_path / "q"), kind, partition_by=["id"])
    moments = [
        f"timestamp'2024-10-27T0{hour}:{minute}:00Z'" for hour in (0, 1) for minute in (15, 30, 50)
    ]
    with settings(spark, zone):
        values = ", ".join(
            f"({n + 1}, {10 * (n + 1)}, named_struct('x', {n + 1}), {each})"
            for n, each in enumerate(moments)
        )
        frame = (
            spark.sql(f"select * from values {values}")
            .toDF("id", "b", "s", "ts")
            .to(spark.createDataFrame([], kind).schema)
        )
        made.append(frame)
        frame.createOrReplaceTempView("plain_q")
        spark.sql(
            "select * from values (1, 2), (2, 1), (3, 1) as v(id, x)"
        ).createOrReplaceTempView("u")
        wrong = []
        for query in QUERIES:
            plain = query.replace("`{0}`", "plain_q")
            expected = sorted(map(str, spark.sql(plain).collect()))
            found = sorted(map(str, ice.sql(spark, query.format(made.location())).collect()))
            if found != expected:
                wrong.append((query, expected, found))
        spark.catalog.dropTempView("u")
        assert wrong == []


def test_keys_beyond_the_year_9999_are_found_by_a_merge(spark: Any, tmp_path: Path) -> None:
    made = ice.create_table(str(tmp_path / "m"), "ts timestamp, d date, v string")
    rows = spark.sql(
        "select timestamp'+12024-01-01 00:00:00Z' as ts, date'+12024-01-01' as d, 'old' as v"
    )
    made.append(rows)
    source = spark.sql(
        "select timestamp'+12024-01-01 00:00:00Z' as ts, date'+12024-01-01' as d, 'new' as v"
    )
    counts = made.merge(source, "t.ts = s.ts and t.d = s.d").when_matched_update_all().execute()
    assert counts.updated == 1
    assert made.scan().to_df(spark).select("v").collect()[0].v == "new"


def test_all_settings_are_found_in_as_many_round_trips_however_many_there_are(spark: Any) -> None:
    asked = spark.newSession()
    assert asked.conf  # PySpark asks Java for it once
    with counted_round_trips(asked) as few:
        all_settings(asked)
    for number in range(20):
        asked.conf.set(f"spark.sql.of.ours.n{number}", f"{number}, {{=\x00\n\x01}}, spark.sql.x=1")
    asked.conf.set("spark.sql.of.ours.none", "")
    with counted_round_trips(asked) as many:
        found = all_settings(asked)
    assert found == dict(asked.conf.getAll)
    assert found["spark.sql.of.ours.none"] == ""
    assert many.count == few.count


def test_settings_that_hold_every_separator_are_found(spark: Any) -> None:
    asked = spark.newSession()
    asked.conf.set("spark.sql.of.ours", "".join(map(chr, range(32))))
    assert all_settings(asked) == dict(asked.conf.getAll)
