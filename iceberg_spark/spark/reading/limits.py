"""Numbers by which engines are chosen and files spread, when Spark reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NativeLimits:
    """Where Spark's own Parquet reader pays, and what is kept for it."""

    groups: int = 16
    """Native groups of files, at most: a plan that is looked at should read well."""
    listed_files: int = 5_000
    """Files: more than that, and smaller ones than ..."""
    listed_file_bytes: int = 1024 * 1024
    """... so many bytes each, take Spark's driver longer to list than Java to plan."""
    several_files: int = 128
    """Files: more than that, and smaller ones than ..."""
    tiny_file_bytes: int = 64 * 1024
    """... so many bytes each, are read by the Arrow engine, which takes 0.4 ms a file, where
    Spark's reader takes 1.3 ms; so it pays even if Spark would read one column of many. Fewer files
    are not worth starting Python workers for."""
    kept_relations: int = 48
    """Relations that are kept, those of filtered frames too: to list 8 files takes Spark 10 ms."""
    kept_paths: int = 1_000
    """Files of a relation that is kept, at most."""
    many_paths: int = 50
    """Paths that are handed to Java one by one, at most."""


@dataclass(frozen=True, slots=True)
class FooterLimits:
    """Of how many files the footers are read for one frame, each file once in a process."""

    local: int = 20_000
    """Local files, 40 us each."""
    of_stores: int = 2_000
    """Files of a store, two requests each."""
    readers: int = 64
    """Files at once."""
    task_files: int = 1_000
    """Files whose footers one task reads, where the driver does not read them."""
    kept_bytes: int = 512
    """Bytes that a file takes in the process's cache, with its path."""


@dataclass(frozen=True, slots=True)
class ChangeLimits:
    """How changed files are spread over tasks."""

    task_bytes: int = 128 * 1024 * 1024
    """Bytes of files that one task reads, ..."""
    task_files: int = 64
    """... and files."""
    group_rows: int = 500_000
    """Rows that a task holds to bring removed and added ones together, about."""


@dataclass(frozen=True, slots=True)
class NarrowingLimits:
    """Which frames are planned again when filters are added to them."""

    leaves: int = 64
    """Relations of all kinds that a frame's plan has, at most: each is asked for by itself."""
    kept_files: int = 200_000
    """Files of all relations that are kept for it, 200 bytes each, about, ..."""
    kept_relations: int = 256
    """... and relations, each with the metadata of its table."""


NATIVE = NativeLimits()
FOOTERS = FooterLimits()
CHANGES = ChangeLimits()
NARROWING = NarrowingLimits()
