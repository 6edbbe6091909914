"""What the first use costs in a fresh process: imports, the first scan, the plain source."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

import iceberg_spark as ice
from benchmarks.cold_client import PLAIN_ROWS
from benchmarks.measure import Measured

SMALL_FILES = 200


def measure_cold_start(folder: Path, rounds: int) -> dict[str, dict[str, Measured]]:
    """Time fresh processes, alternating.

    `scan` is CPU next to PyIceberg, the plain source's first read and append are seconds of the
    clock next to a Python data source of ten lines.
    """
    small, plain = folder / "small", folder / "plain"
    table = ice.create_table(str(small), "id bigint, v int, s string, d double")
    for file in range(SMALL_FILES):
        table.append(small_rows(file))
    ids = pa.table({"id": np.arange(PLAIN_ROWS)})
    ice.create_table(str(plain), "id bigint").append(ids)
    ice.create_table(str(folder / "appended"), "id bigint")
    peers = {"pyiceberg": table.metadata_location, "ours": str(small)}
    source = dict.fromkeys(("ten lines", "ours"), str(plain))
    sink = dict.fromkeys(("ten lines", "ours"), str(folder / "appended"))
    return {
        f"fresh process: load and scan {SMALL_FILES} files": _alternating("scan", peers, rounds),
        f"plain source: first read of {PLAIN_ROWS:,} rows": _alternating("read", source, rounds),
        f"plain source: first append of {PLAIN_ROWS:,} rows": _alternating("append", sink, rounds),
    }


def small_rows(file: int) -> pa.Table:
    """Return the 1,000 rows of a small file."""
    random = np.random.default_rng(file)
    return pa.table(
        {
            "id": np.arange(file * 1_000, (file + 1) * 1_000),
            "v": random.integers(0, 100, 1_000, dtype=np.int32),
            "s": [f"text {number}" for number in range(1_000)],
            "d": random.random(1_000),
        }
    )


def _alternating(work: str, tables: Mapping[str, str], rounds: int) -> dict[str, Measured]:
    seconds: dict[str, list[float]] = {contender: [] for contender in tables}
    for _ in range(rounds):
        for contender, table in tables.items():
            seconds[contender].append(_run(work, contender, table))
    return {contender: Measured(tuple(taken)) for contender, taken in seconds.items()}


def _run(work: str, contender: str, table: str) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cold_client", work, contender, table],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{work} by {contender} failed: {done.stderr[-2000:]}")
    seconds: float = json.loads(done.stdout.splitlines()[-1])
    return seconds
