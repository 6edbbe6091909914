"""Queries of TPC-H and TPC-DS over tables that Java wrote: two ways of ours beside Java's.

Data and texts come from DuckDB's extensions (PyPI). Frames are made in every round: planning and
listing count, as Java's planning does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import TypeAlias

import duckdb
from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.measure import Measured, WarmUp, by_turns
from benchmarks.query_process import QueryProcess
from benchmarks.session import session, session_without_java

OURS = "mine"
Works: TypeAlias = dict[str, dict[str, Measured]]
_ALIAS = r"(\s+(?:AS\s+)?(?!WHERE|JOIN|ON|GROUP|ORDER|LEFT|INNER|CROSS)\w+\b)?"


PLAIN = "plain"
"""Spark's reader of Parquet, of all files there are: nothing is planned."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Tables of a benchmark, by name with how they are partitioned, and its queries by number.

    `ways` are java (tables by name), spark.sql (ours by name), java frames and frames (the same
    program by each), and plain.
    """

    name: str
    generate: str
    partitioned: Mapping[str, str]
    ways: tuple[str, ...]
    chosen: tuple[int, ...] = field(default=())

    @property
    def memory(self) -> str:
        """What each of the sessions gets: all ways have one at the same time."""
        return f"{_MEMORY_MB // len(self.ways)}m"


TPCH = Suite(
    "tpch",
    "CALL dbgen(sf={scale})",
    {"lineitem": "months(l_shipdate)", "orders": "months(o_orderdate)"},
    ("java", "spark.sql", "frames", PLAIN),
)
TPCDS = Suite(
    "tpcds",
    "CALL dsdgen(sf={scale})",
    {"store_sales": "truncate(30, ss_sold_date_sk)"},
    ("java", "spark.sql", "java frames", "frames", PLAIN),
    (3, 7, 19, 34, 42, 43, 52, 55, 68, 73, 79, 98),
)
_MEMORY_MB = 13 * 1024
"""Of all contenders; there is the session that made their tables, too."""
SUITES = {suite.name: suite for suite in (TPCH, TPCDS)}
_PROCESSES = 4
"""Java's compiler decides once in a JVM: the same plan took 1.6 s in one and 2.1 s in another."""
_WARM_UP = WarmUp(1, 8)
_SECONDS = 10
"""Queries of tenths of a second run more often: of four rounds of Java's, one in ten was half."""


def make_data(suite: Suite, spark: SparkSession, folder: Path, scale: float) -> dict[int, str]:
    """Write a suite's tables by Java, as `java.<suite>.<table>`; return its queries' texts."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
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
    return re.findall(rf"(?:\bFROM|\bJOIN|,)\s+({table})\b(?!\.)", text, re.IGNORECASE)


def contender(
    way: str, suite: Suite, folder: Path, instead: Mapping[str, str]
) -> Callable[[str], list[object]]:
    """Return what runs a query one way, in a session of its own that has no other engine.

    `instead` names tables that stand in for those that the texts name.
    """
    is_java = way.startswith("java")
    spark = session(folder, suite.memory) if is_java else session_without_java(suite.memory)
    place = folder / suite.name
    tables = [one.name for one in place.iterdir() if one.name not in instead.values()]
    if way == "java":
        spark.sql(f"USE java.{suite.name}")
        for table, other in instead.items():
            spark.sql(f"SELECT * FROM java.{suite.name}.{other}").createOrReplaceTempView(table)
        return lambda text: list(spark.sql(text).collect())
    if way == PLAIN:
        for table in tables:
            reader = spark.read.option("recursiveFileLookup", "true")
            rows = reader.parquet(str(place / table / "data"))
            rows.createOrReplaceTempView(table)
        return lambda text: list(spark.sql(text).collect())
    if way == "java frames":
        return _by_frames(spark, "iceberg", f"java.{suite.name}.", tables, instead)
    ice.enable(spark)
    spark.conf.set(f"spark.sql.catalog.{OURS}.type", "filesystem")
    spark.conf.set(f"spark.sql.catalog.{OURS}.warehouse", str(folder))
    if way == "frames":
        return _by_frames(spark, "pyiceberg-lite", f"{place}/", tables, instead)

    @cache
    def with_names(text: str) -> str:
        for table in tables:
            name = f"{OURS}.{suite.name}.{instead.get(table, table)}"
            text = re.sub(
                rf"((?:\bFROM|\bJOIN|,)\s+){table}\b(?!\.){_ALIAS}",
                lambda at, n=name, t=table: f"{at[1]}{n}{at[2] or f' AS {t}'}",
                text,
                flags=re.IGNORECASE,
            )
        return text

    return lambda text: list(spark.sql(with_names(text)).collect())


def _by_frames(
    spark: SparkSession,
    source: str,
    place: str,
    tables: Sequence[str],
    instead: Mapping[str, str],
) -> Callable[[str], list[object]]:
    """Return what runs a query over views of frames, which are loaded each time."""

    def run(text: str) -> list[object]:
        for table in tables:
            if _names(table, text):
                frame = spark.read.format(source).load(f"{place}{instead.get(table, table)}")
                frame.createOrReplaceTempView(table)
        return list(spark.sql(text).collect())

    return run


def measure_queries(
    suite: Suite,
    folder: Path,
    queries: Mapping[int, str],
    rounds: int,
    what: str,
    instead: Mapping[str, str] | None = None,
) -> Works:
    """Measure queries each by turns; all answers must be Java's. The total is of the minima.

    Each contender is a process with a JVM of its own, and another one for each quarter of the
    rounds, or for each round of fewer than four. Plain Parquet takes part where no other table
    stands in.
    """
    ways = [way for way in suite.ways if not (instead and way == PLAIN)]
    taken: dict[str, dict[str, tuple[float, ...]]] = {}
    processes_each = min(_PROCESSES, rounds)
    for _ in range(processes_each):
        with ExitStack() as started:
            processes = {
                way: started.enter_context(
                    QueryProcess(way, suite.name, folder, instead or {}, folder / f"{way}.err")
                )
                for way in ways
            }
            for number, text in queries.items():
                name = f"{what} query {number}"
                for way, one in _query(
                    name, text, processes, ceil(rounds / processes_each)
                ).items():
                    seconds = taken.setdefault(name, {})
                    seconds[way] = seconds.get(way, ()) + one.seconds
    works = {name: {way: Measured(one[way]) for way in ways} for name, one in taken.items()}
    total = {way: Measured((sum(work[way].best for work in works.values()),)) for way in ways}
    return {f"{what}: total": total, **works}


def _query(
    name: str, text: str, processes: Mapping[str, QueryProcess], rounds: int
) -> dict[str, Measured]:
    """Measure a query by turns in processes that run. Raises AssertionError for a wrong answer."""
    answers = {way: process.run(text) for way, process in processes.items()}
    wrong = [way for way in answers if way != PLAIN and answers[way] != answers["java"]]
    if wrong:
        raise AssertionError(f"{name} by {wrong} is not Java's answer")
    runs = {way: partial(process.run, text) for way, process in processes.items()}
    found = by_turns(runs, rounds, _WARM_UP, seconds=_SECONDS)
    print(name, {way: f"{one.best:.2f}" for way, one in found.items()}, flush=True)
    return found
