"""Planning of tables with very many files, which exist in metadata only."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.measure import Measured, by_turns
from iceberg_spark.manifest.reader import MANIFEST_CACHE

_MANY_FILES = """
import json, sys, time
import iceberg_spark as ice
from benchmarks.measure import peak_memory_mb
before = peak_memory_mb()
start = time.perf_counter()
plan = ice.load_table(sys.argv[1]).scan().plan_files()
took = time.perf_counter() - start
facts = {"files": len(plan), "seconds": took, "before_mb": before, "peak_mb": peak_memory_mb()}
print(json.dumps(facts))
"""


FILTERS = {
    "a day": (("greaterThanOrEqual", "ts", "2020-03-01"), ("lessThan", "ts", "2020-03-02")),
    "a point": (("equal", "id", 1_234_567),),
}
"""Filters as calls of Java's `Expressions`; dates are midnights in UTC."""
_OPERATORS = {"greaterThanOrEqual": ">=", "lessThan": "<", "equal": "="}
_MIDNIGHT = "T00:00:00+00:00"


def measure_planning(
    spark: SparkSession, location: Path, rounds: int, selected: str = ""
) -> dict[str, Measured]:
    """Plan a table cold and again, and by Java; `selected` names one of FILTERS."""
    calls = FILTERS.get(selected, ())
    jvm: Any = spark._jvm
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    sized = jvm.org.apache.iceberg.relocated.com.google.common.collect.Iterables.size
    row_filter = " AND ".join(
        f"{name} {_OPERATORS[call]} {_text(value)!r}" for call, name, value in calls
    )

    def java() -> None:
        table = jvm.org.apache.iceberg.hadoop.HadoopTables(configuration).load(str(location))
        scan = table.newScan()
        for call, name, value in calls:
            expressions = jvm.org.apache.iceberg.expressions.Expressions
            scan = scan.filter(getattr(expressions, call)(name, _text(value)))
        sized(scan.planFiles())

    def cold() -> None:
        MANIFEST_CACHE.clear()
        len(ice.load_table(str(location)).scan(row_filter or None).plan_files())

    table = ice.load_table(str(location))

    def again() -> None:
        len(table.scan(row_filter or None).plan_files())

    return by_turns({"java": java, "ours cold": cold, "ours again": again}, rounds)


def _text(value: str | int) -> str | int:
    return value + _MIDNIGHT if isinstance(value, str) else value


def measure_many_files(location: Path) -> dict[str, float]:
    """Plan a table in a process of its own; returns files, seconds and MB of peak memory."""
    done = subprocess.run(
        [sys.executable, "-c", _MANY_FILES, str(location)],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure_plain_source(spark: SparkSession, location: Path, rounds: int) -> float:
    """Return the seconds until a frame of the plain source has planned (no row is read)."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        frame = spark.read.format("pyiceberg-lite").load(str(location))
        frame.rdd.getNumPartitions()
        taken.append(time.perf_counter() - start)
    return min(taken)
