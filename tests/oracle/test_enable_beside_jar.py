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
        java.sql("USE spark_catalog.default")


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()))


def test_javas_catalog_and_ours_work_in_one_session(both: SparkSession) -> None:
    """Names with their catalog are ours, those in Java's current namespace Java's own."""
    both.sql("CREATE TABLE j.beside.t (id bigint, d date) PARTITIONED BY (months(d))")
    both.sql("INSERT INTO j.beside.t VALUES (1, date'2024-01-05'), (2, date'2024-02-05')")
    both.sql("USE j.beside")
    both.sql("INSERT INTO t VALUES (3, date'2024-03-05')")
    both.sql("DELETE FROM j.beside.t WHERE id = 1")
    both.range(4, 5).withColumn("d", sf.lit("2024-04-05").cast("date")).writeTo("t").append()
    both.sql("ALTER TABLE t ADD PARTITION FIELD bucket(4, id)")
    both.range(5, 6).withColumn("d", sf.lit(None).cast("date")).writeTo("j.beside.t").append()
    expected = [2, 3, 4, 5]
    for read in (
        both.sql("SELECT id FROM t"),
        both.sql("SELECT id FROM j.beside.t"),
        both.read.format("iceberg").load("j.beside.t").select("id"),
        both.table("j.beside.t").select("id"),
        both.table("t").where("id > 0").select("id"),
    ):
        assert rows(read) == [(number,) for number in expected]
    assert len(both.table("j.beside.t").where("d = date'2024-03-05'").inputFiles()) == 1


def test_a_query_joins_tables_of_both(both: SparkSession) -> None:
    both.sql("CREATE TABLE bj.d.names AS SELECT 1L AS id, 'one' AS name")
    both.sql("CREATE TABLE j.beside.joined AS SELECT 1L AS id, 10 AS v")
    both.sql("USE j.beside")
    text = "SELECT v, name FROM bj.d.names n JOIN {} j ON n.id = j.id"
    assert rows(both.sql(text.format("joined"))) == rows(both.sql(text.format("j.beside.joined")))
    both.sql("CREATE TABLE bj.d.made AS SELECT v FROM joined")
    both.sql("INSERT INTO joined SELECT id + 1, 20 FROM j.beside.joined")
    assert rows(both.sql("SELECT * FROM joined")) == [(1, 10), (2, 20)]
    assert rows(both.table("bj.d.made")) == [(10,)]


def test_disable_gives_javas_catalog_back(both: SparkSession) -> None:
    both.sql("CREATE TABLE j.beside.back AS SELECT 1L AS id")
    ice.disable(both)
    both.sql("INSERT INTO j.beside.back VALUES (2)")
    plan = both.sql("SELECT * FROM j.beside.back")._jdf.queryExecution().toString()
    assert "IcebergScan" in plan or "BatchScan" in plan
    assert type(both.range(1).writeTo("j.beside.back")).__name__ == "DataFrameWriterV2"
