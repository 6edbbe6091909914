"""Queries of TPC-H and TPC-DS over tables that Java wrote: three ways of ours beside Java's.

Data and texts come from DuckDB's extensions (PyPI). Frames are made in every round: planning and
listing count, as Java's planning does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TypeAlias

import duckdb
from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.measure import Measured, by_turns

FORMAT = "pyiceberg-lite"
OURS = "mine"
Works: TypeAlias = dict[str, dict[str, Measured]]
_ALIAS = r"(\s+(?:AS\s+)?(?!WHERE|JOIN|ON|GROUP|ORDER|LEFT|INNER|CROSS)\w+\b)?"


@dataclass(frozen=True, slots=True)
class Suite:
    """Tables of a benchmark, by name with how they are partitioned, and its queries by number."""

    name: str
    generate: str
    partitioned: Mapping[str, str]
    chosen: tuple[int, ...] = field(default=())


TPCH = Suite(
    "tpch",
    "CALL dbgen(sf={scale})",
    {"lineitem": "months(l_shipdate)", "orders": "months(o_orderdate)"},
)
TPCDS = Suite(
    "tpcds",
    "CALL dsdgen(sf={scale})",
    {"store_sales": "truncate(30, ss_sold_date_sk)"},
    (3, 7, 19, 34, 42, 43, 52, 55, 68, 73, 79, 98),
)


def make_data(suite: Suite, spark: SparkSession, folder: Path, scale: float) -> dict[int, str]:
    """Write a suite's tables by Java, as `java.<suite>.<table>`; return its queries' texts."""
    spark.conf.set(f"spark.sql.catalog.{OURS}.type", "filesystem")
    spark.conf.set(f"spark.sql.catalog.{OURS}.warehouse", str(folder))
    config = {"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    with duckdb.connect(config=config) as made:
        package = files(f"duckdb_extension_{suite.name}")
        extension = f"v{duckdb.__version__}/{suite.name}.duckdb_extension"
        made.load_extension(str(package / "extensions" / extension))
        made.execute(suite.generate.format(scale=scale))
        tables = [row[0] for row in made.execute("SHOW TABLES").fetchall()]
        texts = made.execute(f"SELECT query_nr, query FROM {suite.name}_queries()").fetchall()
        queries = {nr: text.rstrip().rstrip(";") for nr, text in texts}
        wanted = {nr: queries[nr] for nr in suite.chosen or queries}
        for table in tables:
            if any(_names(table, text) for text in wanted.values()):
                raw = folder / f"{table}.parquet"
                made.execute(f"COPY {table} TO '{raw}' (FORMAT parquet)")
                _write(suite, spark, table, raw)
                raw.unlink()
    return wanted


def _write(suite: Suite, spark: SparkSession, table: str, raw: Path) -> None:
    spark.read.parquet(str(raw)).createOrReplaceTempView("raw")
    by = suite.partitioned.get(table)
    partitioned = f"PARTITIONED BY ({by})" if by else ""
    spark.sql(
        f"CREATE TABLE java.{suite.name}.{table} USING iceberg {partitioned} AS SELECT * FROM raw"
    )
    spark.catalog.dropTempView("raw")


def _names(table: str, text: str) -> list[str]:
    return re.findall(rf"(?:\bFROM|\bJOIN|,)\s+({table})\b", text, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Contenders:
    """A session of Java's, and an enabled one, over a suite's tables.

    `instead` names tables that stand in for those that the texts name.
    """

    suite: Suite
    spark: SparkSession
    java: SparkSession
    folder: Path
    tables: tuple[str, ...]
    instead: Mapping[str, str] = field(default_factory=dict)

    def by_java(self, text: str) -> list[object]:
        """Run a query as Java's runtime does."""
        return self.java.sql(text).collect()

    def by_sql(self, text: str) -> list[object]:
        """Run it by `spark.sql` of the enabled session, tables by their catalog's names."""
        for table in self.tables:
            name = f"{OURS}.{self.suite.name}.{self.instead.get(table, table)}"
            text = re.sub(
                rf"((?:\bFROM|\bJOIN|,)\s+){table}\b{_ALIAS}",
                lambda at, n=name, t=table: f"{at[1]}{n}{at[2] or f' AS {t}'}",
                text,
                flags=re.IGNORECASE,
            )
        return self.spark.sql(text).collect()

    def by_frames(self, text: str) -> list[object]:
        """Run it over views of frames that `spark.read` of the enabled session gives."""
        for table in self.tables:
            if _names(table, text):
                place = self.folder / self.suite.name / self.instead.get(table, table)
                self.spark.read.format(FORMAT).load(str(place)).createOrReplaceTempView(table)
        return self.spark.sql(text).collect()


def contenders(
    suite: Suite, spark: SparkSession, folder: Path, instead: Mapping[str, str] | None = None
) -> Contenders:
    """Return contenders over a suite's tables; the session is enabled, Java's is another."""
    java = spark.newSession()
    java.sql(f"USE java.{suite.name}")
    for table, other in (instead or {}).items():
        java.sql(f"SELECT * FROM java.{suite.name}.{other}").createOrReplaceTempView(table)
    ice.enable(spark)
    tables = tuple(row.tableName for row in java.sql("SHOW TABLES").collect() if row.namespace)
    return Contenders(suite, spark, java, folder, tables, instead or {})


def measure_queries(
    found: Contenders, queries: Mapping[int, str], rounds: int, ways: Iterable[str], what: str
) -> Works:
    """Measure queries each by turns; all answers must be Java's. The total is of the minima."""
    of: dict[str, Callable[[str], list[object]]] = {
        "java": found.by_java, "spark.sql": found.by_sql, "frames": found.by_frames,
    }  # fmt: skip
    works: Works = {}
    for number, text in queries.items():
        answers = {way: sorted(map(str, of[way](text))) for way in ("java", *ways)}
        for way in ways:
            if answers[way] != answers["java"]:
                raise AssertionError(f"{what} query {number} by {way} is not Java's answer")
        runs = {way: (lambda run=of[way], t=text: run(t)) for way in ("java", *ways)}
        works[f"{what} query {number}"] = by_turns(runs, rounds)
        print(
            what,
            number,
            [f"{m.best:.2f}" for m in works[f"{what} query {number}"].values()],
            flush=True,
        )
    total = {
        way: Measured((sum(work[way].best for work in works.values()),)) for way in ("java", *ways)
    }
    return {f"{what}: total": total, **works}
