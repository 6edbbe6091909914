"""Long texts of Java's come in pieces: py4j takes 40 ms for an answer of more than 8 KiB."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.spark.session import long_texts
from iceberg_spark.spark.session.long_texts import java_text, settings_text
from tests.spark.keyed_tables import named
from tests.spark.round_trips import counted_round_trips
from tests.spark.settings import settings

AT_ONCE = 8190
"""What py4j writes in one part, and what comes with it."""
TEXTS = {
    "short": "a b",
    "none": "",
    "ascii": "abc" * 10_000,
    "escaped": "\\\n\r" * 9_000,
    "pairs": "a" + "\U0001f9ca" * 9_000,
    "wide": "\u00e4\u4e2d" * 9_000,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_the_same_in_pieces(spark: SparkSession, name: str) -> None:
    text = TEXTS[name]
    held = spark._jvm.java.lang.StringBuilder(text)  # type: ignore[union-attr]
    assert java_text(spark, held) == text
    with counted_round_trips(spark) as found:
        java_text(spark, held)
    assert found.longest <= AT_ONCE
    assert found.count <= 3 + 3 * len(text.encode("utf-16-le")) / 2 / 8_000


def test_many_settings_are_read_in_pieces(spark: SparkSession) -> None:
    many = {f"spark.sql.catalog.many{at}.prop": "\u00e4" * 100 for at in range(200)}
    with settings(spark, many):
        settings_text(spark)  # the first call of a session compiles the class
        with counted_round_trips(spark) as found:
            said = settings_text(spark)
        assert said == spark.conf._jconf.getAllAsJava().toString()
        assert found.longest <= AT_ONCE and found.count < 20


def test_a_spark_that_does_not_compile_it_says_the_same(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = spark.range(3)._jdf.queryExecution().analyzed()
    known = java_text(spark, plan), settings_text(spark)
    monkeypatch.setattr(long_texts, "compiled_object", lambda *_: None)
    assert (java_text(spark, plan), settings_text(spark)) == known


def test_a_query_that_joins_tables_gets_no_long_answer(enabled: SparkSession) -> None:
    sums = ", ".join(f"sum(amount + {at}) AS of_{at}" for at in range(60))
    text = (
        f"SELECT s.n, {sums} FROM lines l JOIN orders r ON l.o = r.o JOIN customers s ON r.c = s.c"
        " JOIN nations t ON s.n = t.n WHERE name = 'n2' GROUP BY s.n"
    )
    for _ in range(2):
        with counted_round_trips(enabled) as found:
            frame = enabled.sql(named(text))
        assert len(frame._jdf.queryExecution().optimizedPlan().toJSON()) > AT_ONCE
        assert 0 < found.longest <= AT_ONCE


def test_frames_of_many_columns_are_joined_without_a_long_answer(
    enabled: SparkSession, tmp_path: Path
) -> None:
    names = [f"column_with_a_long_name_{at}" for at in range(150)]
    table = ice.create_table(str(tmp_path / "wide"), ", ".join(f"{one} bigint" for one in names))
    table.append(pa.table({one: [1, 2] for one in names}))
    for name in ("a", "b"):
        frame = enabled.read.format("pyiceberg-lite").load(str(tmp_path / "wide"))
        frame.createOrReplaceTempView(name)
    text = (
        f"SELECT a.{names[0]} FROM a JOIN b ON a.{names[1]} = b.{names[1]} WHERE b.{names[2]} = 1"
    )
    with counted_round_trips(enabled) as found:
        frame = enabled.sql(text)
    assert found.longest <= AT_ONCE
    assert len(frame.collect()) == 1
