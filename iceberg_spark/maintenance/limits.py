"""Numbers that limit the memory, threads and tasks of maintenance."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExpiringLimits:
    """How much an expiry reads and deletes at a time."""

    threads: int = 8
    """Threads that read manifests or delete files; they mostly wait for the store."""
    deleted_at_once: int = 10_000
    """Files deleted at a time."""
    manifests_at_once: int = 64
    """Manifests or lists held and decoded together: many small ones take a third of the time."""
    manifest_bytes_at_once: int = 32 * 1024 * 1024
    """Bytes of manifests held and decoded together, or one manifest."""
    paths_at_once: int = 1_000_000
    """Paths compared at a time."""
    spark_from_files: int = 500_000
    """An active session is used from this number of files on: their paths, the keys of these and
    the sets that are compared take about 700 MB."""
    task_manifests: int = 32
    """Manifests that one Spark task reads."""
    rows_at_once: int = 50_000
    """Files that the driver fetches from Spark at a time."""


@dataclass(frozen=True, slots=True)
class RewritingLimits:
    """How a rewrite of deletes is distributed."""

    most_tasks: int = 1_000
    """Tasks of one rewrite."""


@dataclass(frozen=True, slots=True)
class OrphanLimits:
    """How orphan files are searched and deleted."""

    day_ms: int = 24 * 60 * 60 * 1000
    """Younger files may belong to a running write: refused unless the caller allows it."""
    default_days: int = 3
    """The age of an orphan without `older_than`, as in Java's procedure."""
    listed_at_once: int = 10_000
    """Files fetched from a listing at a time."""
    hashed_from_files: int = 500_000
    """Live files of a table from which on files in use are left out while a folder is listed: they
    would take 500 bytes each."""
    paths_at_once: int = 100_000
    """Paths of metadata that are compared at a time, if there are no more files to compare."""
    deletes: int = 8
    """Threads that delete files, without `max_concurrent_deletes`."""
    looked_at: int = 100
    """Metadata files among the orphans to read at each end: they may be another table's."""
    looks: int = 3
    """How often the table is loaded again because of other commits."""


@dataclass(frozen=True, slots=True)
class CompactingLimits:
    """Where data files are rewritten, and how much is held in memory."""

    here_bytes: int = 64 * 1024 * 1024
    """Bytes up to which this process rewrites data files despite a session: tasks cost more."""
    rounds: int = 5
    """How often groups that other commits changed are planned again."""
    z_rows: int = 131_072
    """Rows whose z-order value is computed at a time."""


COMPACTING = CompactingLimits()


@dataclass(frozen=True, slots=True)
class OrderingLimits:
    """How one or several tasks sort rows."""

    run_bytes: int = 1024 * 1024 * 1024
    """Bytes of rows sorted in memory; rows beyond are written to files of their own."""
    run_stride: int = 10_000_000
    """Distinguishes the sorted runs of a task in file names; larger than the number of tasks."""
    task_bytes: int = 64 * 1024 * 1024
    """Bytes of data files that a task reads; one task sorts a group of at most this size."""
    range_bytes: int = 16 * 1024 * 1024
    """Bytes of data files whose rows are sorted together, about; several times that in memory."""
    most_ranges: int = 8_192
    """Approximate maximum number of ranges."""
    sampled_rows: int = 50_000
    """Sampled keys that decide the ranges, about: file sizes then differ by about 2%, ..."""
    sampled_in_range: int = 100
    """... and a range is rarely half as large again; the minimum for each range."""
    cut_bytes: int = 128 * 1024 * 1024
    """Bytes of rows that are cut to ranges at a time."""
    travelling_bytes: int = 512 * 1024
    """Bytes of rows sent in one batch."""
    travelling_batches: int = 32
    """Batches that a task receives at a time."""


ORDERING = OrderingLimits()


@dataclass(frozen=True, slots=True)
class SketchingLimits:
    """How distinct values of columns are counted."""

    threads: int = 4
    """Data files that this process reads at a time."""
    values_at_once: int = 32_768
    """Values hashed at a time: takes a third of the time of four times as many."""
    most_tasks: int = 1_000
    """Tasks of one Spark job."""
    task_bytes: int = 16 * 1024 * 1024
    """Bytes of data files that a task reads: about half a second."""
    file_bytes: int = 1024 * 1024
    """The cost of opening a file, in bytes."""
    here_bytes: int = 64 * 1024 * 1024
    """Bytes up to which this process reads them despite an active session."""


@dataclass(frozen=True, slots=True)
class UpkeepLimits:
    """When maintenance is worthwhile, and how much of it follows a write automatically."""

    snapshots: int = 10
    """Snapshots that an expiry would remove."""
    equality_deletes: int = 10
    """Equality delete files."""
    manifests: int = 30
    """Manifests, if half of them would suffice."""
    row_changes: int = 5
    """Snapshots that change rows, and ..."""
    keyed_files: int = 100
    """... data files, from which Bloom filters for the keys are proposed."""
    listed_files: int = 50_000
    """Data files up to which a table's folder is listed for orphans: 50 requests, 2 seconds."""
    auto_files: int = 100
    """Data files that one pass after a write rewrites, at most."""
    auto_bytes: int = 64 * 1024 * 1024
    """Bytes of data files rewritten together after a write, at most."""


EXPIRING = ExpiringLimits()
ORPHANS = OrphanLimits()
REWRITING = RewritingLimits()
SKETCHING = SketchingLimits()
UPKEEP = UpkeepLimits()
