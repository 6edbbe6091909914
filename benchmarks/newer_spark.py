"""Native reads on a newer PySpark, for which there is no Java runtime, against plain Parquet.

Run with that PySpark's Python: the location of a table and the number of rounds are its arguments,
seconds by work and contender, as JSON, its output.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from benchmarks.measure import LONG_WARM_UP, Measured, by_turns
from benchmarks.native_reading import SCATTERED, Contenders, noop

PYTHON = Path(os.environ.get("BENCH_NEWER_PYTHON", ".venv-4.3/bin/python"))


def measure_newer_spark(location: Path, rounds: int) -> dict[str, dict[str, Measured]]:
    """Measure in a process of the newer PySpark; nothing where its environment isn't there."""
    if not PYTHON.exists():
        return {}
    python = str(PYTHON.absolute())
    ran = subprocess.run(
        [python, "-m", "benchmarks.newer_spark", str(location), str(rounds)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": python},
    )
    found = json.loads(ran.stdout.splitlines()[-1])
    return {
        work: {who: Measured(tuple(taken)) for who, taken in each.items()}
        for work, each in found.items()
    }


def _works(spark: SparkSession, location: Path) -> dict[str, Contenders]:
    """Plain Parquet reads the table's own files, as if there were no table."""

    def ours(**scan: str) -> DataFrame:
        return ice.load_table(str(location)).scan(**scan).to_df(spark)

    def plain() -> DataFrame:
        return spark.read.parquet(str(location / "data"))

    return {
        "full scan": {"plain": lambda: noop(plain()), "ours": lambda: noop(ours())},
        "one-column sum": {
            "plain": lambda: plain().selectExpr("sum(b)").collect(),
            "ours": lambda: ours().selectExpr("sum(b)").collect(),
        },
        "filtered scan": {
            "plain": lambda: noop(plain().where(SCATTERED)),
            "ours": lambda: noop(ours(row_filter=SCATTERED)),
        },
        "df.count()": {"plain": lambda: plain().count(), "ours": lambda: ours().count()},
    }


def main() -> None:
    """Measure, and print what was found."""
    location, rounds = Path(sys.argv[1]), int(sys.argv[2])
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.memory", "4g").getOrCreate()
    found = {
        f"native, PySpark {spark.version}: {name}": by_turns(work, rounds, LONG_WARM_UP)
        for name, work in _works(spark, location).items()
    }
    spark.stop()
    seconds = {w: {who: each.seconds for who, each in taken.items()} for w, taken in found.items()}
    print(json.dumps(seconds))


if __name__ == "__main__":
    main()
