"""What the columns of `df.mergeInto` mean, and columns as SQL texts, as PySpark's own do."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as sf
from pyspark.sql import types as s

import iceberg_spark as ice
from iceberg_spark.errors import InvalidSchemaError, InvalidTypeError
from iceberg_spark.spark.catalyst.column_texts import column_text
from tests.spark.settings import settings

Step = Callable[[Any], Any]


@pytest.fixture
def enabled(any_spark: Any, sql_home: Path) -> Iterator[Any]:
    """A session with a table `st.d.t` of two rows."""
    ice.enable(any_spark)
    any_spark.sql("CREATE TABLE st.d.t (id bigint, v string)")
    any_spark.sql("INSERT INTO st.d.t VALUES (1, 'a'), (2, 'b')")
    yield any_spark
    ice.disable(any_spark)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()), key=str)


def news(spark: Any) -> Any:
    return spark.createDataFrame([(1, "x"), (3, "z")], "id bigint, v string")


@pytest.mark.parametrize("name", ["t", "d.t", "st.d.t", "ST.`d`.T"])
def test_the_target_is_called_by_more_of_its_name(enabled: Any, name: str) -> None:
    """Spark's own tests of mergeInto do so."""
    (
        news(enabled).alias("s")
        .mergeInto("st.d.t", sf.col(f"{name}.id") == sf.col("s.id"))
        .whenMatched(sf.col(f"{name}.v") == "a")
        .update({f"{name}.v": sf.concat(sf.col(f"{name}.v"), sf.col("s.v"))})
        .whenNotMatched().insert({f"{name}.id": sf.col("s.id"), "v": sf.col("s.v")})
        .whenNotMatchedBySource(sf.col(f"{name}.id") > 1).delete()
        .merge()
    )  # fmt: skip
    assert rows(enabled.table("st.d.t")) == [(1, "ax"), (3, "z")]


def test_a_by_source_clause_resolves_against_the_target_alone(enabled: Any) -> None:
    """The source has columns of the same names."""
    (
        news(enabled).mergeInto("st.d.t", sf.expr("t.id = source.id"))
        .whenMatched().update({"v": sf.lit("m")})
        .whenNotMatched(sf.col("v") == "z").insert({"id": sf.col("id"), "v": sf.upper("v")})
        .whenNotMatchedBySource(sf.col("v") == "b").update({"v": sf.upper("v")})
        .merge()
    )  # fmt: skip
    assert rows(enabled.table("st.d.t")) == [(1, "m"), (2, "B"), (3, "Z")]
    enabled.sql(
        """MERGE INTO st.d.t USING (SELECT 1L AS id, 'x' AS v UNION ALL SELECT 4L, 'q') s
           ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v
           WHEN NOT MATCHED AND v = 'q' THEN INSERT (id, v) VALUES (id, upper(v))
           WHEN NOT MATCHED BY SOURCE AND v = (SELECT max(v) FROM st.d.t WHERE id > 1) THEN DELETE
           WHEN NOT MATCHED BY SOURCE AND v = 'B' THEN UPDATE SET v = lower(v)"""
    )
    assert rows(enabled.table("st.d.t")) == [(1, "x"), (2, "b"), (4, "Q")]


def test_a_column_behind_the_tables_name_gets_one_value(enabled: Any) -> None:
    merge = news(enabled).mergeInto("st.d.t", sf.expr("t.id = source.id")).whenMatched()
    with pytest.raises(InvalidSchemaError, match="twice"):
        merge.update({"v": sf.lit("p"), "t.v": sf.lit("q")}).merge()
    assert rows(enabled.table("st.d.t")) == [(1, "a"), (2, "b")]


def test_new_columns_are_assigned_behind_the_tables_name(enabled: Any) -> None:
    source = news(enabled).withColumn("more", sf.lit(7))
    merge = source.mergeInto("st.d.t", sf.col("d.t.id") == source.id).withSchemaEvolution()
    merge.whenMatched().update({"d.t.more": source.more}).merge()
    assert rows(enabled.table("st.d.t")) == [(1, "a", 7), (2, "b", None)]


@pytest.mark.parametrize(
    "then",
    [
        lambda frame: frame,
        lambda frame: frame.alias("s"),
        lambda frame: frame.alias("s").where("id < 9").orderBy("id"),
    ],
)
def test_columns_of_the_source_frame_are_the_sources(enabled: Any, then: Step) -> None:
    source = news(enabled)
    (
        then(source).mergeInto("st.d.t", sf.col("t.id") == source.id)
        .whenMatched(source["v"] != "no").update({"v": sf.upper(source.v)})
        .whenNotMatched(source.id.isNotNull()).insert({"id": source["id"], "v": source["v"]})
        .merge()
    )  # fmt: skip
    assert rows(enabled.table("st.d.t")) == [(1, "X"), (2, "b"), (3, "z")]


def test_a_field_of_the_source_frame_is_the_sources(enabled: Any) -> None:
    source = enabled.sql("SELECT 1L AS id, named_struct('a b', 'x') AS v")
    merge = source.mergeInto("st.d.t", sf.col("t.id") == source.id)
    merge.whenMatched().update({"v": source["v.`a b`"]}).merge()
    assert rows(enabled.table("st.d.t")) == [(1, "x"), (2, "b")]


@pytest.mark.parametrize(
    "then",
    [
        lambda frame: frame.where("id < 9"),
        lambda frame: frame.orderBy("id").limit(9).repartition(2),
        lambda frame: frame.distinct().dropna().drop("none"),
    ],
)
def test_the_sources_alias_is_kept(enabled: Any, then: Step) -> None:
    merge = then(news(enabled).alias("s")).mergeInto("st.d.t", sf.expr("s.id = t.id"))
    merge.whenMatched().updateAll().whenNotMatched(sf.col("s.id") > 2).insertAll().merge()
    assert rows(enabled.table("st.d.t")) == [(1, "x"), (2, "b"), (3, "z")]


@pytest.mark.parametrize("name", ["fresh", "source"])
def test_a_view_is_called_by_its_name_or_as_any_source(enabled: Any, name: str) -> None:
    news(enabled).createOrReplaceTempView("fresh")
    try:
        source = enabled.table("fresh").where("id < 9")
        merge = source.mergeInto("st.d.t", sf.expr(f"{name}.id = t.id"))
        merge.whenMatched().update({"v": source.v}).merge()
        assert rows(enabled.table("st.d.t")) == [(1, "x"), (2, "b")]
        query = enabled.sql("SELECT * FROM fresh")
        query.mergeInto("st.d.t", sf.expr("source.id = t.id")).whenMatched().delete().merge()
        assert rows(enabled.table("st.d.t")) == [(2, "b")]
    finally:
        enabled.catalog.dropTempView("fresh")


def test_a_branchs_table_is_called_by_more_of_its_name(enabled: Any) -> None:
    enabled.sql("ALTER TABLE st.d.t CREATE BRANCH x")
    merge = (
        news(enabled).alias("s").mergeInto("st.d.t.branch_x", sf.col("st.d.t.id") == sf.col("s.id"))
    )
    merge.whenMatched(sf.col("d.t.v") == "a").update({"st.d.t.v": sf.col("s.v")}).merge()
    assert rows(enabled.table("st.d.t")) == [(1, "a"), (2, "b")]
    assert rows(enabled.table("st.d.t.branch_x")) == [(1, "x"), (2, "b")]


def test_a_source_may_be_called_as_the_target_is(enabled: Any) -> None:
    """Its own columns are the source's, and those behind more of the name are the target's."""
    news(enabled).createOrReplaceTempView("t")
    try:
        source = enabled.table("t").where("id < 9")
        merge = source.mergeInto("st.d.t", sf.col("d.t.id") == source.id)
        merge.whenMatched().update({"v": sf.concat(sf.col("st.d.t.v"), source.v)}).merge()
        assert rows(enabled.table("st.d.t")) == [(1, "ax"), (2, "b")]
        named = source.alias("s")
        merge = named.mergeInto("st.d.t", sf.col("t.id") == named["s.id"])
        merge.whenMatched().update({"v": named["s.v"]}).merge()
        assert rows(enabled.table("st.d.t")) == [(1, "x"), (2, "b")]
    finally:
        enabled.catalog.dropTempView("t")


def test_a_merge_refuses_what_is_no_column(enabled: Any) -> None:
    source = news(enabled)
    merge = source.mergeInto("st.d.t", sf.expr("t.id = source.id"))
    wrong: Any = 5
    with pytest.raises(InvalidTypeError, match=r"value of 'v' must be a column.*lit\(5\)"):
        merge.whenMatched().update({"v": wrong})
    with pytest.raises(InvalidTypeError, match="condition of a clause"):
        merge.whenNotMatched(wrong).insertAll()
    with pytest.raises(InvalidTypeError, match="condition of mergeInto"):
        source.mergeInto("st.d.t", wrong)


def test_struct_keeps_the_names_of_its_fields(any_spark: Any) -> None:
    frame = any_spark.sql("SELECT named_struct('a', 1, 'b', 2) AS s, 3 AS c")
    made = sf.struct(sf.col("s.b").alias("a"), sf.col("s.a").alias("b"), "c").alias("x")
    found = frame.selectExpr(f"{column_text(any_spark, made)} AS x")
    assert found.schema["x"].dataType == frame.select(made).schema["x"].dataType
    assert found.collect()[0].x.asDict() == {"a": 2, "b": 1, "c": 3}


CASTS = {
    "array": ("array(n)", s.ArrayType(s.StringType())),
    "struct": ("named_struct('p', n)", s.StructType([s.StructField("a b", s.LongType())])),
    "map": ("map(n, n)", s.MapType(s.StringType(), s.DecimalType(5, 1))),
    "char": ("n", s.CharType(3)),
    "varchar": ("n", s.VarcharType(3)),
    "instant": ("n", s.TimestampType()),
    "interval": ("'5'", s.DayTimeIntervalType(0, 0)),
}


@pytest.mark.parametrize("name", CASTS)
def test_casts_have_the_same_type_as_sql(any_spark: Any, name: str) -> None:
    text, kind = CASTS[name]
    frame = any_spark.sql(f"SELECT {text} AS x FROM (SELECT id AS n FROM range(1, 4))")
    cast = sf.col("x").cast(kind)
    found = frame.selectExpr(f"{column_text(any_spark, cast)} AS x")
    made = frame.select(cast.alias("x"))
    assert (found.dtypes, rows(found)) == (made.dtypes, rows(made))


MOMENT = dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC)  # Berlin's clocks show this hour twice
TEXT = "TIMESTAMP_LTZ '2024-10-27 00:30:00.000000Z'"


def test_an_instant_is_one_in_every_zone(any_spark: Any) -> None:
    frame = any_spark.sql("SELECT timestamp_seconds(1729989000 + 3600 * id) AS ts FROM range(3)")
    column = sf.col("ts") == sf.lit(MOMENT)
    with settings(any_spark, {"spark.sql.session.timeZone": "Europe/Berlin"}):
        text = column_text(any_spark, column)
        assert frame.where(text).count() == 1
    assert text.replace("==", "=") == f"(`ts` = {TEXT})"
    others = {
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.timestampType": "TIMESTAMP_NTZ",
    }
    with settings(any_spark, others):
        assert frame.where(text).count() == 1


def test_an_instant_is_the_frames_whatever_session_is_active(spark: Any) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    other.createDataFrame([(1,)], "id int")  # makes it the active one
    assert column_text(spark, sf.lit(MOMENT)) == TEXT
    assert "NULL" in column_text(spark, sf.lit(None).cast("timestamp"))


def test_an_instant_chooses_what_is_overwritten(any_spark: Any, sql_home: Path) -> None:
    ice.enable(any_spark)
    try:
        any_spark.sql("CREATE TABLE st.d.moments (id bigint, ts timestamp)")
        made = "SELECT id, timestamp_seconds(1729989000 + 3600 * id) AS ts FROM range(3)"
        any_spark.sql(made).writeTo("st.d.moments").append()
        with settings(any_spark, {"spark.sql.session.timeZone": "Europe/Berlin"}):
            nothing = any_spark.sql(made).where("false")
            nothing.writeTo("st.d.moments").overwrite(sf.col("ts") <= sf.lit(MOMENT))
        assert [row[0] for row in rows(any_spark.table("st.d.moments"))] == [1, 2]
    finally:
        ice.disable(any_spark)


def test_structs_may_lack_fields_if_the_session_lets_them(enabled: Any) -> None:
    enabled.sql("CREATE TABLE st.d.n (id bigint, p struct<a: int, b: struct<c: int, e: int>>)")
    enabled.sql("INSERT INTO st.d.n VALUES (1, struct(1, struct(2, 3))), (2, NULL)")
    inner = "named_struct('b', named_struct('c', 7)) AS p"
    some = enabled.range(1, 3).selectExpr("id", inner).alias("s")
    more = enabled.range(3, 4).selectExpr("id", inner).alias("s")
    on = sf.expr("n.id = s.id")
    with pytest.raises(InvalidSchemaError, match="lack"):
        some.mergeInto("st.d.n", on).whenMatched().updateAll().merge()
    with settings(enabled, {"spark.sql.mergeNestedTypeCoercion.enabled": "true"}):
        some.mergeInto("st.d.n", on).whenMatched().updateAll().merge()
        with pytest.raises(InvalidSchemaError, match="lack"):
            more.mergeInto("st.d.n", on).whenNotMatched().insertAll().merge()
        merge = more.mergeInto("st.d.n", on).withSchemaEvolution()
        merge.whenNotMatched().insertAll().merge()
    found = enabled.sql("SELECT id, p.a, p.b.c, p.b.e FROM st.d.n")
    assert rows(found) == [(1, 1, 7, 3), (2, None, 7, None), (3, None, 7, None)]
