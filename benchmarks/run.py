"""Run everything and write benchmarks/results.md: `make bench`.

Environment: BENCH_ROWS (default 10,000,000), BENCH_ROUNDS (5), BENCH_FILES (200,000),
BENCH_MANY_FILES (1,000,000), BENCH_SMALL_FILES (20,000), BENCH_ONLY (comma list of reads,
native-reading, native-deletes, append, native-writing, planning, metadata, evolution, upserts).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.evolution import measure_expiry, measure_metadata_commits
from benchmarks.fabricate import fabricate_table
from benchmarks.measure import Measured
from benchmarks.metadata_tables import measure_metadata_tables
from benchmarks.native_deletes import measure_native_deletes
from benchmarks.native_reading import measure_growth, measure_native_reads
from benchmarks.native_writing import measure_native_writing
from benchmarks.planning import measure_many_files, measure_plain_source, measure_planning
from benchmarks.reading import measure_append, measure_reads
from benchmarks.report import Figures, write_report
from benchmarks.session import session
from benchmarks.tables import make_tables
from benchmarks.upserts import measure_upserts

EVERYTHING = (
    "reads,native-reading,native-deletes,append,native-writing,planning,metadata,evolution,upserts"
)


def main() -> None:
    """Measure what is asked for and write the report."""
    count = int(os.environ.get("BENCH_ROWS", "10000000"))
    rounds = int(os.environ.get("BENCH_ROUNDS", "5"))
    files = int(os.environ.get("BENCH_FILES", "200000"))
    many = int(os.environ.get("BENCH_MANY_FILES", "1000000"))
    only = os.environ.get("BENCH_ONLY", EVERYTHING).split(",")
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    spark = session(folder)
    measured: dict[str, dict[str, Measured]] = {}
    facts: dict[str, str] = {}
    try:
        if {"reads", "native-deletes"} & set(only):
            measured |= _whole_tables(spark, folder, count, rounds, only)
        if "native-reading" in only:
            small = int(os.environ.get("BENCH_SMALL_FILES", "20000"))
            measured |= measure_native_reads(spark, folder, count, small, rounds)
            measured |= measure_growth(spark, folder, rounds)
        if "append" in only:
            measured["append"] = measure_append(spark, folder, count, min(rounds, 3))
        if "native-writing" in only:
            measured |= measure_native_writing(spark, folder, count, min(rounds, 3))
        if "planning" in only:
            location = folder / "many"
            fabricate_table(location, files)
            measured[f"plan of {files:,} files"] = measure_planning(spark, location, rounds)
            plain = measure_plain_source(spark, location, 2)
            facts[f"plain source, plan of {files:,} files"] = f"{plain:.2f} s"
            shutil.rmtree(location)
            fabricate_table(location, many)
            found = measure_many_files(location)
            facts[f"plan of {many:,} files in a process of its own"] = (
                f"{found['seconds']:.2f} s, peak {found['peak_mb']:,.0f} MB"
            )
        if "metadata" in only:
            location = folder / "described"
            fabricate_table(location, files)
            measured |= measure_metadata_tables(spark, location, rounds)
        if "evolution" in only:
            measured |= measure_metadata_commits(spark, folder, rounds)
            measured["expire 1,000 of 2,000 snapshots"] = measure_expiry(
                spark, folder, min(rounds, 3), 2_000, files
            )
        if "upserts" in only:
            measured |= measure_upserts(spark, folder, count, min(rounds, 3), facts)
        write_report(Path("benchmarks/results.md"), Figures(count, rounds, measured, facts))
    finally:
        spark.stop()
        shutil.rmtree(folder)


def _whole_tables(
    spark: SparkSession, folder: Path, count: int, rounds: int, only: Sequence[str]
) -> dict[str, dict[str, Measured]]:
    """Measure what shares the tables with and without deletes."""
    tables = make_tables(spark, folder, count)
    measured: dict[str, dict[str, Measured]] = {}
    if "reads" in only:
        measured |= measure_reads(spark, tables, rounds)
    if "native-deletes" in only:
        measured |= measure_native_deletes(spark, tables, rounds)
    return measured


if __name__ == "__main__":
    main()
