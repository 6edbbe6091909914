"""Numbers by which expiring and rewriting bound their memory and use threads and tasks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExpiringLimits:
    """How much expiring reads and deletes at a time."""

    threads: int = 8
    """Threads that read manifests or delete files: most of the time is waiting for the store."""
    deleted_at_once: int = 10_000
    """Files that are deleted at a time."""
    manifests_at_once: int = 64
    """Manifests or lists that are held and decoded together: 8 MB each at most, as Java writes
    them."""
    paths_at_once: int = 1_000_000
    """Paths that are compared at a time."""
    spark_from_files: int = 2_000_000
    """Files from which on an active session is used: the paths are some 400 MB then."""
    task_manifests: int = 32
    """Manifests that one of Spark's tasks reads."""
    rows_at_once: int = 50_000
    """Files that the driver takes from Spark at a time."""


@dataclass(frozen=True, slots=True)
class RewritingLimits:
    """How a rewrite of deletes is spread."""

    most_tasks: int = 1_000
    """Tasks of one rewrite."""


@dataclass(frozen=True, slots=True)
class OrphanLimits:
    """How orphan files are looked for and deleted."""

    day_ms: int = 24 * 60 * 60 * 1000
    """Younger files may belong to a write in progress: refused unless the caller insists."""
    default_days: int = 3
    """How old an orphan is without `older_than`, as Java's procedure has it."""
    listed_at_once: int = 10_000
    """Files that are taken from a listing at a time."""
    deletes: int = 8
    """Threads that delete files, without `max_concurrent_deletes`."""
    looked_at: int = 100
    """Metadata files among the orphans that are read, of each end: they may be another table's."""
    looks: int = 3
    """How often the table is read again because others committed meanwhile."""


@dataclass(frozen=True, slots=True)
class CompactingLimits:
    """Where data files are rewritten, and how much is held."""

    here_bytes: int = 64 * 1024 * 1024
    """Up to so many bytes of data files are rewritten by this process though a session is active:
    its tasks would cost more than the work."""
    rounds: int = 5
    """How often groups that others changed meanwhile are planned again."""
    z_rows: int = 131_072
    """Rows whose place on a z-order curve is computed at a time."""


COMPACTING = CompactingLimits()


@dataclass(frozen=True, slots=True)
class OrderingLimits:
    """How rows are put in order, by one task or by several."""

    run_bytes: int = 1024 * 1024 * 1024
    """Bytes of rows that are sorted in memory; what is beyond makes files of its own."""
    run_stride: int = 10_000_000
    """What tells the sorted runs of a task apart in file names: more than there are tasks."""
    task_bytes: int = 64 * 1024 * 1024
    """Bytes of data files that a task reads; a group of no more is put in order by one."""
    range_bytes: int = 16 * 1024 * 1024
    """Bytes of data files whose rows are put in order together, about; several times that in
    memory."""
    most_ranges: int = 8_192
    """Ranges of an order that are told apart, about."""
    sampled_rows: int = 50_000
    """Rows whose keys show where ranges begin, about: their files are alike to some 2%, ..."""
    sampled_in_range: int = 100
    """... and a range is seldom half as large again; at least so many rows for each."""
    cut_bytes: int = 128 * 1024 * 1024
    """Bytes of rows that are cut to ranges at a time."""
    travelling_bytes: int = 512 * 1024
    """Bytes of rows that travel together."""
    travelling_batches: int = 32
    """Of these a task takes so many at a time."""


ORDERING = OrderingLimits()


@dataclass(frozen=True, slots=True)
class SketchingLimits:
    """How the values of columns are counted."""

    threads: int = 4
    """Data files that this process reads at a time."""
    values_at_once: int = 32_768
    """Values that are hashed at a time: a third of the time that four times as many take."""
    most_tasks: int = 1_000
    """Tasks of one job of Spark."""
    task_bytes: int = 16 * 1024 * 1024
    """Bytes of data files that a task reads: half a second or so."""
    file_bytes: int = 1024 * 1024
    """What opening a file counts as besides its own bytes."""
    here_bytes: int = 64 * 1024 * 1024
    """Up to so many bytes this process reads though a session is active."""


@dataclass(frozen=True, slots=True)
class UpkeepLimits:
    """From when on care is worth while, and how much of it comes by itself after a write."""

    snapshots: int = 10
    """Snapshots that may be expired."""
    equality_deletes: int = 10
    """Equality delete files."""
    manifests: int = 30
    """Manifests, where half of them would do."""
    listed_files: int = 50_000
    """Data files of a table whose folder is listed for orphans: some 50 requests, 2 seconds."""
    auto_files: int = 100
    """Data files that one pass after a write rewrites at most."""
    auto_bytes: int = 64 * 1024 * 1024
    """Bytes of data files that are rewritten together after a write at most."""


EXPIRING = ExpiringLimits()
ORPHANS = OrphanLimits()
REWRITING = RewritingLimits()
SKETCHING = SketchingLimits()
UPKEEP = UpkeepLimits()
