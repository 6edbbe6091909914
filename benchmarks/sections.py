"""What can be measured: each section has a session and a warehouse of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from pyspark.sql import SparkSession

from benchmarks.care import measure_manifests, measure_orphans, measure_statistics
from benchmarks.catalogs import measure_catalogs, measure_s3_scans
from benchmarks.changes import measure_changes, measure_scattered_merges
from benchmarks.cold_start import measure_cold_start
from benchmarks.compaction import measure_compaction, measure_sorted_compaction
from benchmarks.evolution import (
    measure_expiry,
    measure_large_metadata,
    measure_metadata_commits,
)
from benchmarks.fabricate import Shape, fabricate, fabricate_table
from benchmarks.measure import Measured
from benchmarks.metadata_tables import measure_metadata_tables
from benchmarks.native_deletes import measure_native_deletes
from benchmarks.native_reading import (
    measure_growth,
    measure_native_reads,
    measure_small_files,
)
from benchmarks.native_writing import measure_native_writing
from benchmarks.newer_spark import measure_newer_spark
from benchmarks.plain_python import measure_plain_python
from benchmarks.planning import (
    FILTERS,
    measure_many_files,
    measure_plain_source,
    measure_planning,
)
from benchmarks.reading import measure_append, measure_reads
from benchmarks.stream_sink import measure_stream_sink
from benchmarks.stream_source import measure_stream_source
from benchmarks.stress import measure_stress
from benchmarks.tables import make_tables, rows
from benchmarks.tpch import measure_tpcds, measure_tpch, measure_tpch_with_deletes
from benchmarks.upserts import measure_upserts
from benchmarks.version_3 import (
    measure_lineage_cost,
    measure_vector_changes,
    measure_vector_plans,
    measure_vectors,
    vector_facts,
)

Works: TypeAlias = dict[str, dict[str, Measured]]


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured: rows and files of the tables, rounds taken by turns."""

    rows: int = 10_000_000
    rounds: int = 5
    files: int = 200_000
    many_files: int = 1_000_000
    small_files: int = 20_000
    stress_seconds: int = 60
    tpch_percent: int = 100

    @classmethod
    def of_environment(cls) -> Size:
        """Return the size that BENCH_ROWS, BENCH_ROUNDS, BENCH_FILES, ... ask for."""
        names = {name: f"BENCH_{name.upper()}" for name in cls.__dataclass_fields__}
        return cls(**{k: int(os.environ[v]) for k, v in names.items() if v in os.environ})

    @property
    def few_rounds(self) -> int:
        """Rounds of what takes long."""
        return min(self.rounds, 3)


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds by work and contender, and facts that have no contender."""

    works: Works
    facts: Mapping[str, str] = field(default_factory=dict)


def _reads(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found(measure_reads(spark, make_tables(spark, folder, size.rows), size.rounds))


def _native_reads(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found(measure_native_reads(spark, folder, size.rows, size.rounds))


def _small_files(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found(measure_small_files(spark, folder, size.small_files, size.rounds))


def _growth(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found(measure_growth(spark, folder, size.few_rounds))


def _newer_spark(spark: SparkSession, folder: Path, size: Size) -> Found:
    rows(spark, size.rows).writeTo("java.db.native").using("iceberg").create()
    return Found(measure_newer_spark(folder / "db" / "native", size.rounds))


def _native_deletes(spark: SparkSession, folder: Path, size: Size) -> Found:
    tables = make_tables(spark, folder, size.rows)
    return Found(measure_native_deletes(spark, tables, size.rounds))


def _append(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found({"append": measure_append(spark, folder, size.rows, size.few_rounds)})


def _native_writing(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found(measure_native_writing(spark, folder, size.rows, size.few_rounds))


def _planning(spark: SparkSession, folder: Path, size: Size) -> Found:
    location = folder / "many"
    fabricate(location, Shape(size.files, scattered=True))
    works = {f"plan of {size.files:,} files": measure_planning(spark, location, size.rounds)}
    works |= {
        f"plan of {selected} in {size.files:,} files": measure_planning(
            spark, location, size.rounds, selected
        )
        for selected in FILTERS
    }
    plain = measure_plain_source(spark, location, 2)
    shutil.rmtree(location)
    fabricate_table(location, size.many_files)
    found = measure_many_files(location)
    facts = {
        f"plain source, plan of {size.files:,} files": f"{plain:.2f} s",
        f"plan of {size.many_files:,} files in a process of its own": (
            f"{found['seconds']:.2f} s, peak {found['peak_mb']:,.0f} MB"
        ),
    }
    return Found(works, facts)


def _metadata(spark: SparkSession, folder: Path, size: Size) -> Found:
    location = folder / "described"
    fabricate_table(location, size.files)
    return Found(measure_metadata_tables(spark, location, size.rounds))


def _evolution(spark: SparkSession, folder: Path, size: Size) -> Found:
    works = measure_metadata_commits(spark, folder, size.rounds)
    expired = measure_expiry(spark, folder, size.few_rounds, 2_000, size.files)
    return Found(works | {"expire 1,000 of 2,000 snapshots": expired})


def _changes(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found(measure_changes(spark, folder, size.rows, size.few_rounds))


def _scattered_merges(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found(measure_scattered_merges(spark, folder, size.rounds))


def _large_metadata(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found(measure_large_metadata(spark, folder, size.few_rounds))


def _upserts(spark: SparkSession, folder: Path, size: Size) -> Found:
    facts: dict[str, str] = {}
    works = measure_upserts(spark, folder, size.rows, size.few_rounds, facts)
    return Found(works, facts)


def _version_3(spark: SparkSession, folder: Path, size: Size) -> Found:
    works = {
        **measure_vectors(spark, folder, size.rows, size.rounds),
        **measure_vector_changes(spark, folder, size.rows, size.few_rounds),
        **measure_lineage_cost(spark, folder, size.rows, size.few_rounds),
        **measure_vector_plans(spark, folder, size.files, size.rounds),
    }
    return Found(works, vector_facts())


def _streams(spark: SparkSession, folder: Path, size: Size) -> Found:
    facts: dict[str, str] = {}
    return Found(measure_stream_source(spark, folder, size.rows, facts), facts)


def _streams_written(spark: SparkSession, folder: Path, size: Size) -> Found:
    facts: dict[str, str] = {}
    return Found(measure_stream_sink(spark, folder, size.rows, facts), facts)


def _compaction(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found(measure_compaction(spark, folder, size.rows, size.few_rounds))


def _sorted_compaction(spark: SparkSession, folder: Path, size: Size) -> Found:
    return Found(measure_sorted_compaction(spark, folder, size.rows, size.few_rounds))


def _care(spark: SparkSession, folder: Path, size: Size) -> Found:
    files, stray = size.files, size.files // 4
    counted = measure_statistics(spark, folder, size.few_rounds, size.rows, files // 1_000)
    return Found(
        {
            "list orphans": measure_orphans(spark, folder, size.few_rounds, stray),
            "rewrite manifests": measure_manifests(spark, folder, size.few_rounds, files),
            "table statistics": counted,
        },
        {"orphans listed": f"{stray:,}", "files in rewritten manifests": f"{files:,}"},
    )


def _catalogs(spark: SparkSession, folder: Path, size: Size) -> Found:
    facts: dict[str, str] = {}
    return Found(measure_catalogs(spark, folder, size.few_rounds, facts), facts)


def _cold_start(spark: SparkSession, folder: Path, size: Size) -> Found:  # noqa: ARG001 (none)
    return Found(measure_cold_start(folder, size.few_rounds))


def _plain_python(spark: SparkSession, folder: Path, size: Size) -> Found:
    works = measure_plain_python(spark, folder, size.rows, size.few_rounds)
    return Found(works, {"measured": "seconds of CPU of the second run in a process of its own"})


def _s3_scans(spark: SparkSession, folder: Path, size: Size) -> Found:  # noqa: ARG001 (none)
    return Found(measure_s3_scans(folder, size.rounds))


def _tpch(spark: SparkSession, folder: Path, size: Size) -> Found:
    facts = {"scale": f"{size.tpch_percent / 100:g}"}
    works = measure_tpch(spark, folder, size.tpch_percent / 100, size.rounds, facts)
    return Found(works, facts)


def _tpch_with_deletes(spark: SparkSession, folder: Path, size: Size) -> Found:
    works = measure_tpch_with_deletes(spark, folder, size.tpch_percent / 100, size.few_rounds)
    return Found(works, {"scale": f"{size.tpch_percent / 100:g}"})


def _tpcds(spark: SparkSession, folder: Path, size: Size) -> Found:
    works = measure_tpcds(spark, folder, size.tpch_percent / 100, size.rounds)  # short ones
    return Found(works, {"scale": f"{size.tpch_percent / 100:g}"})


def _stress(spark: SparkSession, folder: Path, size: Size) -> Found:  # noqa: ARG001 (its own)
    return Found({}, measure_stress(folder, size.stress_seconds))


SECTIONS: Mapping[str, Callable[[SparkSession, Path, Size], Found]] = {
    "reads": _reads,
    "native-reading": _native_reads,
    "small-files": _small_files,
    "growth": _growth,
    "newer-spark": _newer_spark,
    "native-deletes": _native_deletes,
    "append": _append,
    "native-writing": _native_writing,
    "changes": _changes,
    "scattered-merges": _scattered_merges,
    "upserts": _upserts,
    "streams-written": _streams_written,
    "streams": _streams,
    "version-3": _version_3,
    "compaction": _compaction,
    "sorted-compaction": _sorted_compaction,
    "planning": _planning,
    "metadata": _metadata,
    "evolution": _evolution,
    "large-metadata": _large_metadata,
    "care": _care,
    "cold-start": _cold_start,
    "plain-python": _plain_python,
    "catalogs": _catalogs,
    "s3-scans": _s3_scans,
    "tpch": _tpch,
    "tpch-deletes": _tpch_with_deletes,
    "tpcds": _tpcds,
    "stress": _stress,
}
