"""What programs written for Spark say in an enabled session, in the words that they have for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError
from tests.spark.settings import settings


@pytest.fixture
def enabled(any_spark: Any, sql_home: Path) -> Iterator[Any]:
    """A session that knows the catalog `st`, with a table `d.t` of three rows."""
    ice.enable(any_spark)
    any_spark.sql("CREATE TABLE st.d.t (id int, s string)")
    any_spark.sql("INSERT INTO st.d.t VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    yield any_spark
    ice.disable(any_spark)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()), key=str)


def test_settings_stand_in_statements(enabled: Any) -> None:
    """`${name}`, as Spark's parser puts it there; a text without such a setting has nothing."""
    with settings(enabled, {"env": "dev", "part": "d"}):
        enabled.sql("CREATE NAMESPACE st.${env}")
        enabled.sql("CREATE TABLE st.${hivevar:env}.x (id int) TBLPROPERTIES ('of' = '${env}')")
        enabled.sql("COMMENT ON TABLE st.dev.x IS 'of ${env}, ${no.such}'")
        assert rows(enabled.sql("SELECT id FROM st.${part}.t WHERE s = '${part}' OR id = 1")) == [
            (1,)
        ]
    table = ice.load_table("st.dev.x")
    assert (table.properties["of"], table.properties["comment"]) == ("dev", "of dev, ")
    with settings(enabled, {"env": "dev", "spark.sql.variable.substitute": "false"}):
        enabled.sql("COMMENT ON TABLE st.dev.x IS '${env}'")
    assert table.refresh().properties["comment"] == "${env}"
    with settings(enabled, {"a": "${b}", "b": "${a}"}), pytest.raises(InvalidInputError):
        enabled.sql("COMMENT ON TABLE st.dev.x IS '${a}'")


def test_a_tables_columns_stand_behind_its_name(enabled: Any) -> None:
    table = enabled.table("st.d.t")
    assert rows(table.select("t.id").where("t.id > 2")) == [(3,)]
    enabled.sql("CREATE TABLE st.d.u AS SELECT 3 AS id, 'z' AS z")
    both = table.join(enabled.read.table("st.d.u"), sf.expr("t.id = u.id"))
    assert rows(both.select("t.s", "u.z")) == [("c", "z")]


def test_the_whole_name_stands_before_a_column_too(spark: Any, sql_home: Path) -> None:
    """In classic sessions; over Connect the frame has the last part alone."""
    ice.enable(spark)
    try:
        spark.sql("CREATE TABLE st.d.t AS SELECT 1 AS id")
        table = spark.table("st.d.t")
        assert rows(table.select("st.d.t.id", sf.col("d.t.id"))) == [(1, 1)]
    finally:
        ice.disable(spark)


def test_frames_and_values_of_any_name_stand_in_braces(enabled: Any) -> None:
    few = enabled.createDataFrame([(2,)], "id int")
    asked = "SELECT s FROM st.d.t JOIN {query} q USING (id)"
    assert rows(enabled.sql(asked, query=few)) == [("b",)]
    assert rows(enabled.sql("SELECT id FROM st.d.t WHERE id IN {ids}", ids=(1, 3))) == [(1,), (3,)]
    assert rows(enabled.sql("SELECT {c} FROM st.d.t WHERE {c} = 'a'", c=sf.col("s"))) == [("a",)]
    assert rows(enabled.sql("SELECT {x:.1f} FROM st.d.t WHERE id = 1", x=2.04))[0][0] == 2


def test_catalogs_and_namespaces_are_chosen_by_the_names_of_arguments(enabled: Any) -> None:
    try:
        enabled.catalog.setCurrentCatalog(catalogName="st")
        enabled.catalog.setCurrentDatabase(dbName="d")
        assert rows(enabled.sql("SELECT id FROM t")) == [(1,), (2,), (3,)]
    finally:
        enabled.catalog.setCurrentCatalog(catalogName="spark_catalog")
        enabled.catalog.setCurrentDatabase(dbName="default")


def test_metadata_tables_branches_and_tags_are_described(enabled: Any) -> None:
    enabled.sql("ALTER TABLE st.d.t CREATE BRANCH b")
    enabled.sql("ALTER TABLE st.d.t CREATE TAG g")
    snapshots = enabled.sql("DESCRIBE st.d.t.snapshots").collect()
    assert ("snapshot_id", "bigint", None) in [tuple(row) for row in snapshots]
    assert len(enabled.sql("SHOW COLUMNS IN st.d.t.history").collect()) == 4
    for name in ("branch_b", "tag_g"):
        described = rows(enabled.sql(f"DESCRIBE st.d.t.{name}"))
        assert described == rows(enabled.sql("DESCRIBE st.d.t"))
    enabled.sql("REFRESH TABLE st.d.t.snapshots")
    with pytest.raises(Exception, match="none"):
        enabled.sql("DESCRIBE st.d.t.branch_none")


def test_a_writer_keeps_its_last_mode(enabled: Any) -> None:
    writer = enabled.createDataFrame([(7, "z")], "id int, s string").write
    writer.insertInto("st.d.t", True)
    writer.insertInto("st.d.t")
    assert rows(enabled.table("st.d.t")) == [(7, "z")]


def test_rows_are_appended_to_a_table_for_every_format(enabled: Any) -> None:
    some = enabled.createDataFrame([(7, "z")], "id int, s string")
    some.write.format("parquet").mode("append").saveAsTable("st.d.t")
    assert (7, "z") in rows(enabled.table("st.d.t"))


def test_star_leaves_a_column_of_another_case_alone(enabled: Any) -> None:
    """Where the session tells columns apart by case."""
    enabled.sql("CREATE TABLE st.d.m (k int, id int)")
    enabled.sql("INSERT INTO st.d.m VALUES (1, 10)")
    enabled.createDataFrame([(1, 20)], "k int, ID int").createOrReplaceTempView("cased")
    with settings(enabled, {"spark.sql.caseSensitive": "true"}):
        enabled.sql(
            "MERGE WITH SCHEMA EVOLUTION INTO st.d.m t USING cased s ON t.k = s.k "
            "WHEN MATCHED THEN UPDATE SET *"
        )
        assert rows(enabled.sql("SELECT k, id, ID FROM st.d.m")) == [(1, 10, 20)]
    enabled.catalog.dropTempView("cased")


def test_batches_of_a_stream_are_in_an_enabled_session(
    spark: Any, sql_home: Path, tmp_path: Path
) -> None:
    """The usual form: Spark hands over a session that it cloned of the stream's."""
    ice.enable(spark)
    given = tmp_path / "given"
    spark.sql("CREATE TABLE st.d.t (id int, s string)")
    spark.sql("INSERT INTO st.d.t VALUES (1, 'a')")
    spark.sql("SELECT * FROM VALUES (1, 'new'), (2, 'more') AS v(id, s)").write.parquet(str(given))

    def upsert(batch: Any, _: int) -> None:
        batch.createOrReplaceTempView("updates")
        batch.sparkSession.sql(
            "MERGE INTO t USING updates s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * "
            "WHEN NOT MATCHED THEN INSERT *"
        )
        batch.limit(1).selectExpr("9 AS id", "'w' AS s").writeTo("st.d.t").append()

    try:
        spark.sql("USE st.d")
        feed = spark.readStream.schema("id int, s string").parquet(str(given))
        stream = feed.writeStream.foreachBatch(upsert).trigger(availableNow=True)
        stream.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
        assert rows(spark.table("t")) == [(1, "new"), (2, "more"), (9, "w")]
    finally:
        ice.disable(spark)
    assert type(spark).sql.__module__.startswith("pyspark")
