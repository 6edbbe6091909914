"""Whether a planning reads its manifests in this process or in the tasks of a cluster.

Source: Java's `BaseDistributedDataScan`, `PlanningMode` and `SparkReadConf`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import chain
from typing import Protocol, TypeVar

from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.properties import text_property

Job = TypeVar("Job")
Result = TypeVar("Result")


class PlanningMode(StrEnum):
    """Where the manifests of a scan are read (Java: `PlanningMode`)."""

    AUTO = "auto"
    LOCAL = "local"
    DISTRIBUTED = "distributed"


class PlanningTasks(Protocol):
    """Tasks of a cluster that can read manifests."""

    def mode(self, table_property: str) -> str | None:
        """Return the mode that overrides a property of the table, None if there is none."""
        ...

    @property
    def parallelism(self) -> int:
        """How many tasks can run at once; 0 if the driver can't take their results."""
        ...

    def run(self, work: Callable[[Job], Result], jobs: Sequence[Job]) -> Iterable[Result]:
        """Return the result of `work` for each job, in order; each job is one task.

        Raises UnsupportedError if the tasks can't run, and the errors of `work`.
        """
        ...


def run_by_tasks(
    tasks: PlanningTasks | None,
    table_property: str,
    properties: Mapping[str, str],
    manifests: Sequence[ManifestFile],
    work: Callable[[Sequence[ManifestFile]], Sequence[Result]],
) -> Iterable[Result] | None:
    """Return what `work` returns for all manifests, in their order; None: run it in this process.

    `table_property` has the planning mode if the session has none. Raises InvalidOptionError for
    a wrong mode, UnsupportedError if the mode is `distributed` and tasks can't run, and the errors
    of `work`.
    """
    if tasks is None or not manifests:
        return None
    mode = _planning_mode(table_property, properties, tasks)
    if not _is_distributed(mode, manifests, tasks):
        return None
    try:
        parts = tasks.run(work, _jobs(manifests))
    except UnsupportedError:
        if mode is PlanningMode.DISTRIBUTED:
            raise
        return None  # executors without this library can still read by Spark's own reader
    return chain.from_iterable(parts)


def _planning_mode(
    table_property: str, properties: Mapping[str, str], tasks: PlanningTasks
) -> PlanningMode:
    override = tasks.mode(table_property)
    if override is None:
        return PlanningMode(text_property(properties, table_property))
    try:
        return PlanningMode(override.lower())
    except ValueError:
        modes = ", ".join(PlanningMode)
        raise InvalidOptionError(
            f"The session's setting for '{table_property}' is '{override}'; it must be one of: "
            f"{modes}"
        ) from None


def _is_distributed(
    mode: PlanningMode, manifests: Sequence[ManifestFile], tasks: PlanningTasks
) -> bool:
    """Return whether tasks read the manifests.

    `auto`: if there are more than twice as many manifests as this machine has cores, more than
    128 MB of them a core, and more tasks than cores (Java: `shouldPlanLocally`).
    """
    if mode is PlanningMode.LOCAL:
        return False
    if mode is PlanningMode.DISTRIBUTED:
        return tasks.parallelism > 0
    cores = max(2, os.cpu_count() or 1)  # Java: ThreadPools.WORKER_THREAD_POOL_SIZE
    size = sum(manifest.manifest_length for manifest in manifests)
    is_large = len(manifests) > 2 * cores and size > cores * PLANNING.local_bytes_a_core
    return is_large and tasks.parallelism > cores


def _jobs(manifests: Sequence[ManifestFile]) -> list[list[ManifestFile]]:
    """Divide manifests into runs of neighbours, a task each."""
    jobs: list[list[ManifestFile]] = []
    size = 0
    for manifest in manifests:
        if not jobs or size + manifest.manifest_length > PLANNING.task_manifest_bytes:
            jobs.append([])
            size = 0
        jobs[-1].append(manifest)
        size += manifest.manifest_length
    return jobs
