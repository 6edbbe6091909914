"""Sections tpch, tpch-deletes and tpcds: queries by `spark.sql` and by frames, and statements."""

from __future__ import annotations

import time
from pathlib import Path

from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.decision_support import OURS, TPCDS, TPCH, Works, make_data, measure_queries
from benchmarks.measure import by_turns
from iceberg_spark.spark.sql.statements.read import read_statement

MERGE = """MERGE INTO mine.tpch.orders t USING (SELECT o_orderkey, 'F' AS s FROM updates WHERE
o_orderdate >= date '1998-01-01' - interval 3 days) s ON t.o_orderkey = s.o_orderkey
WHEN MATCHED AND t.o_orderstatus <> s.s THEN UPDATE SET t.o_orderstatus = s.s
WHEN NOT MATCHED THEN INSERT (o_orderkey, o_orderstatus) VALUES (s.o_orderkey, s.s)"""


def measure_tpch(
    spark: SparkSession, folder: Path, scale: float, rounds: int, facts: dict[str, str]
) -> Works:
    """Measure TPC-H, and statements."""
    queries = make_data(TPCH, spark, folder, scale)
    works = measure_queries(TPCH, folder, queries, rounds, "TPC-H")
    java = spark.newSession()
    ice.enable(spark)
    spark.conf.set(f"spark.sql.catalog.{OURS}.type", "filesystem")
    spark.conf.set(f"spark.sql.catalog.{OURS}.warehouse", str(folder))
    works |= _definitions(java, spark, rounds)
    facts |= _overheads(spark, list(queries.values()))
    ice.disable(spark)
    return works


def measure_tpch_with_deletes(
    spark: SparkSession, folder: Path, scale: float, rounds: int
) -> Works:
    """Measure TPC-H's queries of lineitem after 5% of it went by position and 5% by key."""
    queries = make_data(TPCH, spark, folder, scale)
    _delete(spark, folder)
    of_lineitem = {nr: text for nr, text in queries.items() if "lineitem" in text}
    instead = {"lineitem": "lineitem_deleted"}
    return measure_queries(TPCH, folder, of_lineitem, rounds, "TPC-H with deletes", instead)


def measure_tpcds(spark: SparkSession, folder: Path, scale: float, rounds: int) -> Works:
    """Measure a dozen queries of TPC-DS that ask for some time."""
    queries = make_data(TPCDS, spark, folder, scale)
    # Their minimum is found later than that of longer ones, and a round takes half a minute.
    return measure_queries(TPCDS, folder, queries, max(rounds, 12), "TPC-DS")


def _delete(spark: SparkSession, folder: Path) -> None:
    """Copy lineitem and delete a twentieth by position, another by key."""
    spark.sql(
        "CREATE TABLE java.tpch.lineitem_deleted USING iceberg PARTITIONED BY (months(l_shipdate)) "
        "TBLPROPERTIES ('write.delete.mode' = 'merge-on-read') AS SELECT * FROM java.tpch.lineitem"
    )
    table = ice.load_table(str(folder / "tpch" / "lineitem_deleted"))
    table.delete("l_orderkey % 20 = 3")
    keys = ["l_orderkey", "l_linenumber", "l_shipdate"]
    gone = spark.table("java.tpch.lineitem").where("l_orderkey % 20 = 7")
    table.upsert(gone.selectExpr("*", "'D' AS _op"), keys=keys)


def _definitions(java: SparkSession, spark: SparkSession, rounds: int) -> Works:
    """Measure a commit of a definition: a property, on a table of its own each."""
    for who in ("java", "ours"):
        java.sql(f"CREATE TABLE java.tpch.defined_{who} (id bigint) USING iceberg")
    numbers = iter(range(10**6))

    def change(session: SparkSession, name: str) -> None:
        session.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('a' = '{next(numbers)}')")

    runs = {
        "java": lambda: change(java, "java.tpch.defined_java"),
        "ours": lambda: change(spark, f"{OURS}.tpch.defined_ours"),
    }
    return {"commit of a property by SQL": by_turns(runs, max(rounds, 10))}


def _overheads(spark: SparkSession, texts: list[str]) -> dict[str, str]:
    """Return what a statement takes until Spark gets it."""

    def best(run: object, times: int = 20) -> float:
        taken = []
        for _ in range(times):
            started = time.perf_counter()
            run()  # type: ignore[operator]
            taken.append(time.perf_counter() - started)
        return min(taken) * 1000

    reading = max(best(lambda t=text: read_statement(t)) for text in (*texts, MERGE))
    enabled = best(lambda: spark.sql("SELECT 1 AS a"))
    ice.disable(spark)
    plain = best(lambda: spark.sql("SELECT 1 AS a"))
    ice.enable(spark)
    return {
        "the slowest of 23 statements read": f"{reading:.1f} ms",
        "a statement of Spark's, more than without `enable`": f"{enabled - plain:.1f} ms",
    }
