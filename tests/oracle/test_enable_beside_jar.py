"""An enabled session that has Java's catalog too: both change and read the same tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import iceberg_spark as ice


@pytest.fixture
def both(
    java: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SparkSession]:
    """The session, enabled, with Java's catalog `j` and ours, `bj`, which has a namespace `d`."""
    monkeypatch.setenv("PYICEBERG_CATALOG__BJ__URI", f"sqlite:///{tmp_path}/bj.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__BJ__WAREHOUSE", str(tmp_path / "bj"))
    ice.load_catalog("bj").create_namespace("d")
    ice.enable(java)
    try:
        yield java
    finally:
        ice.disable(java)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()))


def test_javas_catalog_and_ours_work_in_one_session(both: SparkSession) -> None:
    """Names with their catalog are ours; the format `iceberg`, and other sessions, stay Java's."""
    plain = both.newSession()
    both.sql("CREATE TABLE j.beside.t (id bigint, d date) PARTITIONED BY (months(d))")
    both.sql("INSERT INTO j.beside.t VALUES (1, date'2024-01-05'), (2, date'2024-02-05')")
    plain.sql("INSERT INTO j.beside.t VALUES (3, date'2024-03-05')")
    both.sql("DELETE FROM j.beside.t WHERE id = 1")
    rows_of = both.range(4, 6).withColumn("d", sf.lit("2024-04-05").cast("date"))
    rows_of.where("id = 4").write.format("iceberg").mode("append").save("j.beside.t")
    plain.sql("ALTER TABLE j.beside.t ADD PARTITION FIELD bucket(4, id)")
    rows_of.where("id = 5").writeTo("j.beside.t").append()
    for read in (
        both.sql("SELECT id FROM j.beside.t"),
        both.table("j.beside.t").select("id"),
        both.read.format("iceberg").load("j.beside.t").where("id > 0").select("id"),
        plain.sql("SELECT id FROM j.beside.t"),
    ):
        assert rows(read) == [(number,) for number in (2, 3, 4, 5)]
    march = "d = date'2024-03-05'"
    assert len(both.table("j.beside.t").where(march).inputFiles()) == 1
    javas = both.read.format("iceberg").load("j.beside.t").where(march)
    assert "Iceberg" in javas._jdf.queryExecution().toString()


def test_a_query_joins_tables_of_both(both: SparkSession) -> None:
    both.sql("CREATE TABLE bj.d.names AS SELECT 1L AS id, 'one' AS name")
    both.sql("CREATE TABLE j.beside.joined AS SELECT 1L AS id, 10 AS v")
    both.read.format("iceberg").load("j.beside.joined").createOrReplaceTempView("beside_joined")
    text = "SELECT v, name FROM bj.d.names n JOIN {} j ON n.id = j.id WHERE n.id < 5"
    expected = [(10, "one")]
    assert rows(both.sql(text.format("beside_joined"))) == expected
    assert rows(both.sql(text.format("j.beside.joined"))) == expected
    both.sql("CREATE TABLE bj.d.made AS SELECT v FROM beside_joined")
    both.table("bj.d.made").join(both.table("beside_joined"), "v").where("v > 5").writeTo(
        "bj.d.both"
    ).create()
    assert rows(both.table("bj.d.both")) == [(10, 1)]
    both.catalog.dropTempView("beside_joined")


def test_disable_gives_javas_catalog_back(both: SparkSession) -> None:
    both.sql("CREATE TABLE j.beside.back AS SELECT 1L AS id")
    ice.disable(both)
    both.sql("INSERT INTO j.beside.back VALUES (2)")
    found = both.sql("SELECT * FROM j.beside.back")
    assert "Iceberg" in found._jdf.queryExecution().toString() and rows(found) == [(1,), (2,)]
    assert type(both.range(1).writeTo("j.beside.back")).__name__ == "DataFrameWriterV2"


def test_a_kind_of_catalog_that_only_the_jar_has_stays_javas(both: SparkSession) -> None:
    """Statements, frames and `spark.catalog` leave it to Spark, beside a table of ours too."""
    prefix = "spark.sql.catalog.jar_only"
    both.conf.set(prefix, "org.apache.iceberg.spark.SparkCatalog")
    both.conf.set(f"{prefix}.catalog-impl", "org.apache.iceberg.inmemory.InMemoryCatalog")
    both.sql("CREATE NAMESPACE jar_only.d")
    both.sql("CREATE TABLE jar_only.d.t (id bigint) USING iceberg")
    both.sql("INSERT INTO jar_only.d.t VALUES (1), (2)")
    both.range(3, 4).writeTo("jar_only.d.t").append()
    both.range(4, 5).write.insertInto("jar_only.d.t")
    both.sql("DELETE FROM jar_only.d.t WHERE id = 1")
    found = both.sql("SELECT * FROM jar_only.d.t")
    assert "Iceberg" in found._jdf.queryExecution().toString()
    assert rows(found) == rows(both.table("jar_only.d.t")) == [(2,), (3,), (4,)]
    assert rows(ice.sql(both, "SELECT * FROM jar_only.d.t")) == rows(found)
    both.sql("CREATE TABLE bj.d.kept AS SELECT 3L AS id")
    joined = "SELECT id FROM bj.d.kept JOIN jar_only.d.t USING (id)"
    assert rows(both.sql(joined)) == [(3,)]
    assert both.catalog.tableExists("jar_only.d.t")
    assert "bj" in [one.name for one in both.catalog.listCatalogs()]
    both.sql("CALL jar_only.system.expire_snapshots('d.t')")
    both.sql("DROP TABLE jar_only.d.t")
