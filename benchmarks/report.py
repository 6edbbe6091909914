"""The results as a table of ratios, with what was to be reached and the versions."""

from __future__ import annotations

import datetime as dt
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.measure import Measured, peak_memory_mb

GOALS: Mapping[tuple[str, str], float] = {
    ("full scan", "ours"): 1.7,
    ("one-column sum (option columns)", "ours"): 5.0,
    ("equality deletes (5%), full scan", "ours"): 1.3,
    ("append", "ours"): 1.6,
    ("append, native, unpartitioned", "ours"): 1.05,
    ("append, native, by months", "ours"): 0.95,
    ("append, native, by days and bucket 16", "ours"): 0.85,
    ("upsert of 1,000,000 rows", "ours"): 0.5,
    ("full scan after 10 upserts", "ours"): 0.7,
    ("metadata table files", "ours"): 1.0,
    ("metadata table partitions", "ours"): 1.0,
    ("equality deletes (5%), native: count", "ours"): 0.7,
    ("equality deletes (5%), native: one-column sum", "ours"): 0.7,
    ("equality deletes (5%), native: full scan", "ours"): 1.0,
    ("position deletes (5%), native: one-column sum", "ours"): 2.5,
    ("position deletes (5%), native: full scan", "ours"): 1.3,
    ("position deletes in a tenth of the files, native: one-column sum", "ours"): 1.0,
    ("position deletes in a tenth of the files, native: full scan", "ours"): 1.0,
}
PLAN_GOALS: Mapping[str, float] = {"ours cold": 1.0, "ours again": 0.1}
NOTES = Path("benchmarks/notes.md")


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured: rows of the tables, rounds, seconds by work and contender, facts."""

    rows: int
    rounds: int
    measured: Mapping[str, Mapping[str, Measured]]
    facts: Mapping[str, str]


def write_report(path: Path, figures: Figures) -> None:
    """Write the Markdown report; hand-written notes of `notes.md` follow the tables."""
    lines = [
        "# Results",
        "",
        (
            f"{figures.rows:,} rows x 13 columns in 8 Parquet files, {os.cpu_count()} cores, "
            f"{figures.rounds} rounds taken by turns, the minimum of each. Seconds; ratio to Java "
            "Iceberg in the same run."
        ),
        "",
        _versions(),
        "",
        "| work | contender | seconds | ratio | to reach |",
        "|---|---|---|---|---|",
    ]
    for work, contenders in figures.measured.items():
        base = contenders["java"].best
        for name, taken in contenders.items():
            goal = _goal(work, name)
            ratio = taken.best / base
            mark = "" if goal is None else f"{goal:g} {'✓' if ratio <= goal else '✗'}"
            lines.append(f"| {work} | {name} | {taken.best:.2f} | {ratio:.2f} | {mark} |")
    lines += ["", *(f"- {name}: {text}" for name, text in figures.facts.items())]
    lines.append(f"- peak memory of the driver's Python: {peak_memory_mb():,.0f} MB")
    if NOTES.exists():
        lines += ["", NOTES.read_text()]
    path.write_text("\n".join(lines).rstrip() + "\n")


def _goal(work: str, name: str) -> float | None:
    return PLAN_GOALS.get(name) if work.startswith("plan of") else GOALS.get((work, name))


def _versions() -> str:
    names = ("pyspark", "pyarrow", "polars", "fastavro", "iceberg-spark")
    found = ", ".join(f"{name} {version(name)}" for name in names)
    today = dt.datetime.now(tz=dt.UTC).date()
    return f"{today}, Python {platform.python_version()}, Java Iceberg 1.12.0, {found}."
