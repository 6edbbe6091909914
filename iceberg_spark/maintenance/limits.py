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


EXPIRING = ExpiringLimits()
REWRITING = RewritingLimits()
