"""Syntax of statements and options of writers that Java's runtime accepts."""

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.errors import InvalidOptionError
from tests.spark.settings import settings


@pytest.fixture
def enabled(any_spark: Any, sql_home: Path) -> Iterator[Any]:
    ice.enable(any_spark)
    yield any_spark
    ice.disable(any_spark)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=str)


NOON = "2024-01-01 12:00:00"


def test_a_timestamp_of_a_partition_is_an_instant_for_every_timestamp_type(
    any_spark: Any, sql_home: Path
) -> None:
    """`spark.sql.timestampType` sets the type TIMESTAMP of SQL, not that of the column."""
    spark = any_spark
    ice.sql(spark, "CREATE TABLE st.d.t (id int, ts timestamp) PARTITIONED BY (ts)")
    zone = "America/New_York"
    with settings(
        spark, {"spark.sql.timestampType": "TIMESTAMP_NTZ", "spark.sql.session.timeZone": zone}
    ):
        ice.sql(spark, f"INSERT INTO st.d.t PARTITION (ts = '{NOON}Z') SELECT 1")
        ice.sql(spark, f"INSERT INTO st.d.t PARTITION (ts = '{NOON}') SELECT 2")
        found = ice.load_table("st.d.t").scan().to_arrow().sort_by("id")["ts"].to_pylist()
        noon = dt.datetime.fromisoformat(NOON)
        assert found == [noon.replace(tzinfo=dt.UTC), dt.datetime(2024, 1, 1, 17, tzinfo=dt.UTC)]
        ice.sql(spark, f"INSERT OVERWRITE st.d.t PARTITION (ts = '{NOON}Z') SELECT 3")
        ice.sql(spark, f"INSERT OVERWRITE st.d.t PARTITION (ts = TIMESTAMP'{NOON}') SELECT 4")
        assert sorted(ice.load_table("st.d.t").scan().to_arrow()["id"].to_pylist()) == [3, 4]
        shown = ice.sql(spark, f"SHOW PARTITIONS st.d.t PARTITION (ts = '{NOON}Z')")
        assert len(shown.collect()) == 1


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("5", "5"), ("05", "5"), ("1.50", "1.50"), ("true", "true"), ("NULL", None),
        ("DATE'2024-01-01'", "2024-01-01"), ("'it''s'", "it's"),
    ],
)  # fmt: skip
def test_a_string_partition_accepts_literals_of_every_type(
    spark: Any, sql_home: Path, literal: str, text: str | None
) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t (id int, s string) PARTITIONED BY (s)")
    ice.sql(spark, "INSERT INTO st.d.t VALUES (1, 'x')")
    ice.sql(spark, f"INSERT INTO st.d.t PARTITION (s = {literal}) SELECT 2")
    ice.sql(spark, f"INSERT OVERWRITE st.d.t PARTITION (s = {literal}) SELECT 3")
    assert rows(ice.sql(spark, "SELECT id, s FROM st.d.t")) == [(1, "x"), (3, text)]


def test_columns_of_a_merge_may_be_named_like_its_keywords(any_spark: Any, sql_home: Path) -> None:
    spark = any_spark
    ice.sql(
        spark,
        "CREATE TABLE st.d.t (id int, `when` int, `then` int, `end` int, `case` int, v string)",
    )
    ice.sql(spark, "INSERT INTO st.d.t VALUES (1, 1, 1, 1, 1, 'a'), (2, 9, 1, 1, 1, 'b')")
    merge = """MERGE INTO st.d.t AS t USING (SELECT id, 5 AS `when`, 7 AS `end` FROM st.d.t) AS s
        ON t.id = s.id AND s.when > t.when
        WHEN MATCHED AND t.then = 1 AND t.case IS NOT NULL THEN UPDATE SET
            v = CASE WHEN s.end > 100 THEN 'one' WHEN s.end > 5 THEN 'two' END"""
    ice.sql(spark, merge)
    assert rows(ice.sql(spark, "SELECT id, v FROM st.d.t")) == [(1, "two"), (2, "b")]


def test_replace_where_accepts_is_not_distinct_from(any_spark: Any, sql_home: Path) -> None:
    spark = any_spark
    ice.sql(spark, "CREATE TABLE st.d.t (id int, p int)")
    ice.sql(spark, "INSERT INTO st.d.t VALUES (1, 1), (2, 2), (3, NULL)")
    ice.sql(
        spark,
        "INSERT INTO st.d.t REPLACE WHERE p IS NOT DISTINCT FROM 2 SELECT 20 AS id, 2 AS p",
    )
    assert rows(ice.sql(spark, "SELECT id FROM st.d.t")) == [(1,), (20,), (3,)]


def test_insert_accepts_write_options(any_spark: Any, sql_home: Path) -> None:
    spark = any_spark
    ice.sql(spark, "CREATE TABLE st.d.t (id int) PARTITIONED BY (id)")
    options = "('snapshot-property.Who' = 'me', 'distribution-mode' = 'none')"
    ice.sql(spark, f"INSERT INTO st.d.t WITH {options} SELECT 1 AS id")
    ice.sql(spark, f"INSERT OVERWRITE st.d.t WITH {options} VALUES (2)")
    assert rows(ice.sql(spark, "SELECT * FROM st.d.t")) == [(2,)]
    for snapshot in ice.load_table("st.d.t").snapshots():
        assert snapshot.summary["Who"] == "me"
    ice.sql(spark, "ALTER TABLE st.d.t SET TBLPROPERTIES ('write.wap.enabled' = 'true')")
    with settings(spark, {"spark.wap.id": "mine"}):  # the session's comes first, as in Java
        other = "('snapshot-property.wap.id' = 'other')"
        ice.sql(spark, f"INSERT INTO st.d.t WITH {other} SELECT 5")
    assert ice.load_table("st.d.t").snapshots()[-1].summary["wap.id"] == "mine"
    ice.sql(spark, "INSERT OVERWRITE st.d.t WITH ('write-format' = 'orc') VALUES (3)")
    files = ice.load_table("st.d.t").inspect.files()
    assert files["file_format"].to_pylist() == ["ORC"]
    with pytest.raises(InvalidOptionError, match="partition-by"):
        ice.sql(spark, "INSERT INTO st.d.t WITH ('partition-by' = 'id') VALUES (3)")


def test_a_merge_of_a_dataframe_follows_the_case_sensitivity_of_the_session(enabled: Any) -> None:
    with settings(enabled, {"spark.sql.caseSensitive": "true"}):
        enabled.sql("CREATE TABLE st.d.t (id int, a int, A int)")
        enabled.sql("INSERT INTO st.d.t VALUES (1, 1, 1)")
        source = enabled.sql("SELECT 1 AS id, 7 AS a, 8 AS A UNION ALL SELECT 2, 3, 4").alias("s")
        merge = source.mergeInto("st.d.t", sf.expr("t.id = s.id"))
        merge.whenMatched().update({"A": sf.expr("s.A")}).whenNotMatched().insertAll().merge()
        assert rows(enabled.sql("SELECT * FROM st.d.t")) == [(1, 1, 8), (2, 3, 4)]


def test_an_overwrite_with_an_empty_isin_replaces_no_row(enabled: Any) -> None:
    enabled.sql("CREATE TABLE st.d.t AS SELECT 1L AS id")
    enabled.range(2, 3).writeTo("st.d.t").overwrite(sf.col("id").isin([]))
    assert rows(enabled.table("st.d.t")) == [(1,), (2,)]


@pytest.mark.parametrize("option", ["overwrite-mode", "partitionOverwriteMode"])
def test_insert_into_follows_the_overwrite_mode_option(enabled: Any, option: str) -> None:
    enabled.sql("CREATE TABLE st.d.t (id bigint, p bigint) PARTITIONED BY (p)")
    enabled.sql("INSERT INTO st.d.t VALUES (1, 1), (2, 2)")
    frame = enabled.sql("SELECT 3L AS id, 2L AS p")
    frame.write.option(option, "dynamic").mode("overwrite").insertInto("st.d.t")
    assert rows(enabled.table("st.d.t")) == [(1, 1), (3, 2)]
    frame.write.option(option, "static").mode("overwrite").insertInto("st.d.t")
    assert rows(enabled.table("st.d.t")) == [(3, 2)]
    with pytest.raises(InvalidOptionError, match="static or dynamic"):
        frame.write.option(option, "often").mode("overwrite").insertInto("st.d.t")
    assert rows(enabled.table("st.d.t")) == [(3, 2)]
