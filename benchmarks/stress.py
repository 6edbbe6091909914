"""Many processes change one table, and some are killed: does it hold what its history says?

    python -m benchmarks.stress [--seconds 60] [--processes 8] [--spark]

Without Spark: appends, deletes, upserts and the maintenance of delete files, in processes that
are killed (SIGKILL) at random and started anew. With `--spark`: merges of two Spark processes with
four threads each. Ends with status 1 when anything is wrong.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import MappingProxyType

import iceberg_spark as ice
from benchmarks import stress_worker
from benchmarks.stress_history import SCHEMA, Findings, check_history
from benchmarks.stress_log import CONFLICT, GIVEN_UP, Told, read_logs
from benchmarks.stress_merges import merge_at_once

PROPERTIES = {
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "10",
    "commit.retry.max-wait-ms": "500",
    "commit.manifest.min-count-to-merge": "10",
}
_PATIENCE_S = 120
_PRELOADED = ["benchmarks.stress_worker", "iceberg_spark.api.table", "polars", "sqlglot"]
"""Slow to import: a worker that is started anew has them by its fork."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run did and what its history shows."""

    seconds: float
    kills: int
    told: Told
    found: Findings

    def __str__(self) -> str:
        found = self.found
        verbs = ", ".join(f"{verb} {count}" for verb, count in sorted(found.by_verb.items()))
        return (
            f"{found.commits} commits in {self.seconds:.0f} s, "
            f"{found.commits / self.seconds:.1f} a second ({verbs}); "
            f"conflicts {self.told.count(CONFLICT)}, retries {found.retries}, "
            f"given up {self.told.count(GIVEN_UP)}, killed {self.kills}; "
            f"rows compared at {found.compared} snapshots, {found.rows} at the end; "
            f"lost {found.lost}, violations {len(found.violations)}"
        )


def make_table(
    location: str, *partition_by: str, properties: Mapping[str, str] = MappingProxyType({})
) -> ice.Table:
    """Create the table that is changed, partitioned by ranges of the key unless told else."""
    by = partition_by or ("truncate(40, id)",)
    return ice.create_table(
        location, SCHEMA, partition_by=list(by), properties=PROPERTIES, **properties
    )


def stress(
    location: str,
    folder: Path,
    *,
    seconds: float,
    processes: int = 8,
    samples: int = 20,
    properties: Mapping[str, str] = MappingProxyType({}),
) -> Outcome:
    """Let processes change the table of a location, or of a name in the catalog of `properties`.

    `folder` takes their logs.
    """
    table = ice.load_table(location, **properties)
    stress_worker.fill(table, folder)
    kills, taken = _run_and_kill((location, dict(properties)), folder, seconds, processes)
    told = read_logs(sorted(folder.glob("*.log")))
    return Outcome(taken, kills, told, check_history(table.refresh(), told, samples=samples))


def _run_and_kill(
    table: tuple[str, dict[str, str]], folder: Path, seconds: float, processes: int
) -> tuple[int, float]:
    """Run the workers, kill one of them now and then: how many were, and the seconds taken."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(_PRELOADED)
    first = forks.Process(target=time.sleep, args=(0,))
    first.start()
    first.join(_PATIENCE_S)
    until = time.time() + seconds
    begun = 0

    def start() -> BaseProcess:
        nonlocal begun
        begun += 1
        given = (*table, f"w{begun}", str(folder), until)
        process = forks.Process(target=stress_worker.work, args=given, daemon=True)
        process.start()
        return process

    running = [start() for _ in range(processes)]
    choose = random.Random(processes)
    kills = 0
    while time.time() < until:
        time.sleep(choose.uniform(0.2, 1.2))
        place = choose.randrange(processes)
        if running[place].is_alive() and time.time() < until:
            running[place].kill()
            running[place].join()
            running[place] = start()
            kills += 1
    for process in running:
        process.join(_PATIENCE_S)
        if process.exitcode != 0:
            process.kill()
            raise RuntimeError(f"{process.name} ended with {process.exitcode}")
    return kills, time.time() - until + seconds


def measure_stress(folder: Path, seconds: float, processes: int = 8) -> dict[str, str]:
    """Return both runs as facts for the results. Raises RuntimeError when anything is wrong."""
    facts: dict[str, str] = {}
    for name, outcome in (
        (f"{processes} processes without Spark", _processes(folder, seconds, processes)),
        ("merges of 2 Spark processes x 4 threads", _merges(folder, seconds)),
    ):
        if outcome.found.violations:
            raise RuntimeError(f"{name}: {outcome.found.violations[:5]}")
        facts[name] = str(outcome)
    return facts


def _processes(folder: Path, seconds: float, processes: int) -> Outcome:
    logs = folder / "stress-logs"
    logs.mkdir()
    location = str(folder / "stress")
    make_table(location)
    return stress(location, logs, seconds=seconds, processes=processes)


def _merges(folder: Path, seconds: float) -> Outcome:
    logs = folder / "merge-logs"
    logs.mkdir()
    location = str(folder / "merged")
    make_table(location)
    return stress_merges(location, logs, seconds=seconds)


def stress_merges(
    location: str, folder: Path, *, seconds: float, samples: int = 20, **given: int
) -> Outcome:
    """Let Spark processes merge into the table of a location; `folder` takes their logs."""
    taken = merge_at_once(location, folder, seconds, **given)
    told = read_logs(sorted(folder.glob("*.log")))
    found = check_history(ice.load_table(location), told, samples=samples)
    return Outcome(taken, 0, told, found)


def main() -> int:
    """Run what is asked for; 1 when anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--spark", action="store_true", help="merges on Spark instead")
    parser.add_argument("--folder", type=Path, default=None, help="keep the table and logs here")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="stress-") as made:
        folder = asked.folder or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        if asked.spark:
            outcome = _merges(folder, asked.seconds)
        else:
            outcome = _processes(folder, asked.seconds, asked.processes)
    print(outcome)
    for violation in outcome.found.violations[:20]:
        print(f"- {violation}")
    return 1 if outcome.found.violations else 0


if __name__ == "__main__":
    sys.exit(main())
