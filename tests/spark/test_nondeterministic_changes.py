"""A change evaluates samples, random values and clocks once."""

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice

MODES = ["copy-on-write", "merge-on-read"]
SAMPLES = [
    "id IN (SELECT id FROM st.d.s TABLESAMPLE (50 PERCENT))",
    "id IN (SELECT id FROM st.d.s LIMIT 400)",
    "id IN (SELECT first(id) FROM st.d.s GROUP BY id % 400)",
]


def rows(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ice.sql(spark, text).collect()]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("condition", SAMPLES)
def test_an_update_evaluates_a_sample_once(
    any_spark: Any, sql_home: Path, mode: str, condition: str
) -> None:
    spark = any_spark
    properties = f"TBLPROPERTIES ('write.update.mode' = '{mode}')"
    rows(spark, f"CREATE TABLE st.d.t {properties} AS SELECT id, 'old' AS v FROM range(1000)")
    rows(spark, "CREATE TABLE st.d.s AS SELECT id FROM range(1000)")
    rows(spark, f"UPDATE st.d.t SET v = concat(v, ' and new') WHERE {condition}")
    found = Counter(v for _, v in rows(spark, "SELECT id, v FROM st.d.t"))
    assert set(found) == {"old", "old and new"}
    assert 300 < found["old and new"] < 700
    assert rows(spark, "SELECT count(DISTINCT id), count(*) FROM st.d.t") == [(1000, 1000)]


@pytest.mark.parametrize("mode", MODES)
def test_a_merge_evaluates_random_source_rows_once(
    any_spark: Any, sql_home: Path, mode: str
) -> None:
    properties = f"TBLPROPERTIES ('write.merge.mode' = '{mode}')"
    rows(any_spark, f"CREATE TABLE st.d.t {properties} AS SELECT id, 'old' AS v FROM range(1000)")
    rows(
        any_spark,
        """MERGE INTO st.d.t t USING (SELECT id FROM range(1200) WHERE rand() < 0.5) s
           ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = concat(v, ' and new')
           WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 'added')""",
    )
    found = Counter(v for _, v in rows(any_spark, "SELECT id, v FROM st.d.t"))
    assert set(found) == {"old", "old and new", "added"}
    assert found["old"] + found["old and new"] == 1000
    (counts,) = rows(any_spark, "SELECT count(DISTINCT id), count(*) FROM st.d.t")
    assert counts == (1000 + found["added"],) * 2


@pytest.mark.parametrize("clock", ["current_timestamp()", "current_timestamp", "now()"])
def test_a_merge_evaluates_the_clock_once_for_source_and_clauses(
    spark: Any, sql_home: Path, clock: str
) -> None:
    rows(spark, "CREATE TABLE st.d.t (id bigint, a timestamp, b timestamp)")
    rows(spark, "INSERT INTO st.d.t VALUES (1, NULL, NULL)")
    rows(spark, "CREATE TABLE st.d.s AS SELECT 1L AS id")
    rows(
        spark,
        f"""MERGE INTO st.d.t t USING (SELECT id, {clock} AS ts FROM st.d.s) s ON t.id = s.id
            WHEN MATCHED AND s.ts > {clock} THEN DELETE
            WHEN MATCHED THEN UPDATE SET a = {clock}, b = s.ts""",
    )
    assert rows(spark, "SELECT id, a IS NOT NULL, a = b FROM st.d.t") == [(1, True, True)]


def test_columns_named_like_clock_functions_are_columns(spark: Any, sql_home: Path) -> None:
    rows(spark, "CREATE TABLE st.d.e AS SELECT 1 AS id, DATE '2024-06-01' AS d")
    rows(spark, "CREATE TABLE st.d.cal AS SELECT DATE '2020-01-01' AS `current_date`")
    rows(spark, "DELETE FROM st.d.e WHERE d < (SELECT max(current_date) FROM st.d.cal)")
    rows(
        spark,
        """MERGE INTO st.d.e t USING (SELECT 1 AS id, current_date AS day FROM st.d.cal) s
           ON t.id = s.id WHEN MATCHED THEN UPDATE SET d = s.day""",
    )
    assert str(rows(spark, "SELECT * FROM st.d.e")) == "[(1, datetime.date(2020, 1, 1))]"


def test_a_backslash_continues_a_comment_on_the_next_line(spark: Any, sql_home: Path) -> None:
    rows(spark, "CREATE TABLE st.d.t AS SELECT 1 AS id")
    rows(spark, "INSERT INTO st.d.t VALUES (2)")
    assert rows(spark, "SELECT count(*) FROM st.d.t -- of C:\\\n WHERE id = 2") == [(2,)]
    rows(spark, "DELETE FROM st.d.t WHERE id = 1 -- of C:\\\n OR id = 2")
    assert rows(spark, "SELECT id FROM st.d.t") == [(2,)]


def test_replace_where_evaluates_functions_of_constants(spark: Any, sql_home: Path) -> None:
    rows(spark, "CREATE TABLE st.d.t (id int, day date) PARTITIONED BY (day)")
    rows(spark, "INSERT INTO st.d.t VALUES (1, current_date()), (2, date_sub(current_date(), 30))")
    replaced = "REPLACE WHERE day >= date_sub(current_date(), 7)"
    rows(spark, f"INSERT INTO st.d.t {replaced} SELECT 3, current_date()")
    assert rows(spark, "SELECT id FROM st.d.t ORDER BY id") == [(2,), (3,)]


def test_ctes_before_an_insert_into_a_spark_table_may_read_iceberg_tables(
    spark: Any, sql_home: Path
) -> None:
    rows(spark, "CREATE TABLE st.d.t AS SELECT 1L AS id")
    spark.sql("CREATE TABLE default.taken (id bigint) USING parquet")
    try:
        text = (
            "-- all\nWITH q AS (SELECT id FROM st.d.t)\nINSERT INTO default.taken SELECT * FROM q"
        )
        rows(spark, text)
        assert [tuple(row) for row in spark.table("default.taken").collect()] == [(1,)]
    finally:
        spark.sql("DROP TABLE default.taken")


def test_a_merge_with_a_batch_reader_keeps_its_rows_for_retries(spark: Any, tmp_path: Path) -> None:
    """A reader returns its batches once: the retry had no source rows and deleted all others."""
    table = ice.create_table(str(tmp_path), "id bigint, v bigint")
    table.append(pa.table({"id": [1, 2, 3], "v": [0, 0, 0]}))
    source = pa.table({"id": [1, 2], "v": [10, 20]})
    reader = pa.RecordBatchReader.from_batches(source.schema, source.to_batches())
    merge = table.merge(reader, "t.id = s.id").when_matched_update_all()
    merge = merge.when_not_matched_by_source_delete()
    for _ in range(2):
        merge.execute(max_attempts=3)
        found = table.refresh().scan().to_arrow().to_pylist()
        assert sorted(found, key=lambda row: row["id"]) == source.to_pylist()


@pytest.mark.parametrize(
    "source",
    [
        "(VALUES (1, DATE '2020-01-01')) AS v(id, current_date)",
        "(SELECT id, d AS current_date FROM st.d.e)",
        "st.d.v",
    ],
)
def test_a_source_column_named_like_a_clock_function_is_a_column(
    spark: Any, sql_home: Path, source: str
) -> None:
    rows(spark, "CREATE TABLE st.d.e AS SELECT 1 AS id, DATE '2020-01-01' AS d")
    rows(spark, "CREATE VIEW st.d.v (id, current_date) AS SELECT id, d FROM st.d.e")
    rows(spark, "CREATE TABLE st.d.t AS SELECT 1 AS id, DATE '2024-06-01' AS d")
    rows(
        spark,
        f"""MERGE INTO st.d.t t USING (SELECT id, current_date AS day FROM {source}) s
            ON t.id = s.id WHEN MATCHED THEN UPDATE SET d = s.day""",
    )
    assert str(rows(spark, "SELECT * FROM st.d.t")) == "[(1, datetime.date(2020, 1, 1))]"
