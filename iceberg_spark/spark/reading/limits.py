"""Limits of reading with Spark, by which engines are chosen and files distributed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NativeLimits:
    """When Spark's own Parquet reader pays, and how many relations are cached."""

    groups: int = 16
    """Native groups of files, at most, so that a plan stays readable."""
    listed_files: int = 5_000
    """More files than this, on average below `listed_file_bytes`, go to the Arrow engine ..."""
    listed_file_bytes: int = 1024 * 1024
    """... because Spark's driver takes longer to list them than Java to plan."""
    several_files: int = 128
    """More files than this, on average below `tiny_file_bytes`, go to the Arrow engine ..."""
    tiny_file_bytes: int = 64 * 1024
    """... which takes 0.4 ms a file, where Spark's reader takes 1.3 ms. It pays even if Spark reads
    one column of many. For fewer files it does not pay to start Python workers.
    """
    kept_relations: int = 48
    """Cached relations: Spark takes 10 ms to list 8 files."""
    kept_paths: int = 1_000
    """Files of a cached relation, at most."""
    many_paths: int = 50
    """Paths that are passed to Java one by one, at most."""


@dataclass(frozen=True, slots=True)
class FooterLimits:
    """The number of files whose footers are read for one DataFrame, each once in a process."""

    local: int = 20_000
    """Local files, 40 us each."""
    of_stores: int = 2_000
    """Files in object stores, two requests each."""
    readers: int = 64
    """Files read at the same time."""
    task_files: int = 1_000
    """Files whose footers one Spark task reads, if there are too many for the driver."""
    kept_bytes: int = 512
    """Bytes of a footer in the process's cache, with its path."""


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """How changed files are distributed to tasks."""

    task_bytes: int = 128 * 1024 * 1024
    """Bytes of files that one task reads, ..."""
    task_files: int = 64
    """... and files."""
    group_rows: int = 500_000
    """Rows that a task holds to match removed and added ones, about."""


@dataclass(frozen=True, slots=True)
class NarrowingLimits:
    """Which plans are pruned by joins, and how many relations stay registered."""

    leaves: int = 64
    """Relations in a plan, at most."""
    kept_files: int = 200_000
    """Files of all registered relations, about 200 bytes each."""
    kept_relations: int = 256
    """Registered relations, each with the metadata of its table."""


@dataclass(frozen=True, slots=True)
class DistributedPlanningLimits:
    """When a driver takes the files that Spark's tasks planned."""

    least_result_bytes: int = 256 * 1024 * 1024
    """Bytes of `spark.driver.maxResultSize`: with less, the driver plans (Java: SparkReadConf)."""


DISTRIBUTED_PLANNING = DistributedPlanningLimits()
NATIVE = NativeLimits()
FOOTERS = FooterLimits()
CHANGES = ChangeLimits()
NARROWING = NarrowingLimits()
