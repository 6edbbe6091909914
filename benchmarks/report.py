"""The results as a table of ratios, with what was to be reached and the versions."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.measure import Measured

GOALS: Mapping[tuple[str, str], float] = {
    ("full scan", "ours"): 1.7,
    ("one-column sum (option columns)", "ours"): 5.0,
    ("equality deletes (5%), full scan", "ours"): 1.3,
    ("append", "ours"): 1.6,
    ("native: full scan", "ours"): 0.85,
    ("native: one-column sum", "ours"): 1.0,
    ("native: df.count()", "ours"): 1.2,
    ("native: scan.count()", "ours"): 0.5,
    ("native: filtered scan (point)", "ours"): 0.9,
    ("native: filtered scan (scattered rows)", "ours"): 0.9,
    ("native: df.count() of 20,000 files", "ours"): 1.2,
    ("native: scan.count() of 20,000 files", "ours"): 0.5,
    ("native: frame of 20,000 files", "ours"): 1.0,
    ("native: 1% of 20,000 files", "ours"): 1.0,
    ("metadata commit, 2,000 snapshots", "ours"): 1.0,
    ("expire 1,000 of 2,000 snapshots", "ours"): 0.7,
    ("list orphans", "ours"): 0.5,
    ("rewrite manifests", "ours"): 0.7,
    ("table statistics", "ours"): 1.0,
    ("bin-pack", "ours"): 0.6,
    ("bin-pack, 5% deleted by position", "ours"): 0.6,
    ("bin-pack, 5% deleted by key", "ours"): 0.6,
    ("sort by two columns", "ours"): 0.8,
    ("z-order of two columns", "ours"): 0.8,
    ("reading after bin-pack", "ours"): 1.0,
    ("reading after sort", "ours"): 1.0,
    ("append, native, unpartitioned", "ours"): 1.05,
    ("append, native, by months", "ours"): 0.95,
    ("append, native, by days and bucket 16", "ours"): 0.85,
    ("merge update-all/insert-all, merge-on-read", "ours"): 0.6,
    ("general merge, merge-on-read", "ours"): 1.0,
    ("merge of 100,000 scattered rows, merge-on-read", "ours"): 0.6,
    ("merge of 100,000 scattered rows, copy-on-write", "ours"): 0.6,
    ("delete of 5%, merge-on-read", "ours"): 1.0,
    ("merge update-all/insert-all, copy-on-write", "ours"): 0.6,
    ("upsert of 1,000,000 rows", "ours"): 0.5,
    ("full scan after 10 upserts", "ours"): 0.7,
    ("sink: append, 1,000 rows a batch", "ours"): 1.0,
    ("sink: append, 1,000 rows a batch", "plain"): 3.0,
    ("sink: append, 1,000,000 rows a batch", "ours"): 1.2,
    ("sink: append, 1,000,000 rows a batch", "plain"): 1.8,
    ("sink: upsert, 1,000 rows a batch", "ours"): 0.6,
    ("sink: upsert, 100,000 rows a batch", "ours"): 0.6,
    ("source, 1,000 rows a batch", "ours"): 1.2,
    ("source, 3,000,000 rows a batch", "ours"): 1.1,
    ("metadata table files", "ours"): 1.0,
    ("metadata table partitions", "ours"): 1.0,
    ("equality deletes (5%), native: count", "ours"): 0.7,
    ("equality deletes (5%), native: one-column sum", "ours"): 0.7,
    ("equality deletes (5%), native: full scan", "ours"): 1.0,
    ("position deletes (5%), native: one-column sum", "ours"): 2.5,
    ("position deletes (5%), native: full scan", "ours"): 1.3,
    ("position deletes in a tenth of the files, native: one-column sum", "ours"): 1.0,
    ("position deletes in a tenth of the files, native: full scan", "ours"): 1.0,
    ("vectors (5%): full scan", "ours"): 1.2,
    ("vectors (5%): one-column sum", "ours"): 1.5,
    ("vectors (5%): scan.count()", "ours"): 0.5,
    ("vectors (5%): sum of _row_id", "ours"): 1.2,
    ("vectors (5%): full scan with both columns of lineage", "ours"): 1.2,
    ("version 3: delete of 5%", "ours"): 1.0,
    ("version 3: second delete of 5%, vectors replaced", "ours"): 1.0,
    ("version 3: merge update-all/insert-all", "ours"): 0.6,
    ("version 3: general merge", "ours"): 1.0,
    ("cost of lineage: copy-on-write delete", "version 3"): 1.1,
    ("cost of lineage: copy-on-write update", "version 3"): 1.1,
    ("cost of lineage: compaction", "version 3"): 1.1,
    ("TPC-H: total", "spark.sql"): 0.85,
    ("TPC-H: total", "frames"): 0.95,
    ("TPC-H with deletes: total", "spark.sql"): 0.85,
    ("TPC-H with deletes: total", "frames"): 0.85,
    ("TPC-DS: total", "spark.sql"): 0.9,
    ("TPC-DS: total", "frames"): 0.9,
    ("commit of a property by SQL", "ours"): 1.0,
}
QUERY_GOALS: Mapping[str, float] = {"spark.sql": 1.15, "frames": 1.3}
"""Of each query of TPC-H by itself."""
CATALOG_GOALS: Mapping[str, float] = {"loads": 0.7, "scan": 1.0}
"""Ratios to PyIceberg, by a word of the work."""
PLAN_GOALS: Mapping[str, float] = {"ours cold": 1.0, "ours again": 0.1}
VECTOR_PLAN_GOALS: Mapping[str, float] = {"ours cold": 0.7, "ours again": 0.1}
NOTES = Path("benchmarks/notes.md")


FIGURES = Path("benchmarks/figures")
"""One JSON file for each section: what was measured last, when, and with which versions."""


def keep(
    section: str,
    rows: int,
    rounds: int,
    works: Mapping[str, Mapping[str, Measured]],
    facts: Mapping[str, str],
) -> None:
    """Keep a section's figures, in place of those it had."""
    FIGURES.mkdir(exist_ok=True)
    seconds = {
        work: {name: [round(one, 4) for one in taken.seconds] for name, taken in each.items()}
        for work, each in works.items()
    }
    kept = {
        "rows": rows, "rounds": rounds, "versions": _versions(), "seconds": seconds, "facts": facts
    }  # fmt: skip
    (FIGURES / f"{section}.json").write_text(json.dumps(kept, indent=1) + "\n")


def write_report(path: Path, sections: Sequence[str]) -> None:
    """Write the Markdown report of all kept figures; the notes of `notes.md` follow them."""
    lines = [
        "# Results",
        "",
        (
            f"Tables of 13 columns, {os.cpu_count()} cores. Contenders take rounds by turns, the "
            "minimum of each counts. Seconds; ratio to Java Iceberg in the same run (of `frames` "
            "to `java frames`, the same program, where these take part), or to PyIceberg where it "
            "takes part; catalogs are measured in seconds of CPU of the client's process unless a "
            "row says time. `make bench` measures all sections, `BENCH_ONLY=reads make bench` one."
        ),
    ]
    for section in sections:
        kept = FIGURES / f"{section}.json"
        if kept.exists():
            lines += _section(section, json.loads(kept.read_text()))
    if NOTES.exists():
        lines += ["", NOTES.read_text()]
    path.write_text("\n".join(lines).rstrip() + "\n")


def _section(name: str, kept: Mapping[str, Any]) -> list[str]:
    lines = [
        "",
        f"## {name}",
        "",
        f"{kept['rows']:,} rows, {kept['rounds']} rounds. {kept['versions']}",
        "",
    ]
    if kept["seconds"]:
        lines += ["| work | contender | seconds | ratio | to reach |", "|---|---|---|---|---|"]
    for work, contenders in kept["seconds"].items():
        theirs = "pyiceberg" in contenders
        for contender, seconds in contenders.items():
            goal = _catalog_goal(work, contender) if theirs else _goal(work, contender)
            ratio = min(seconds) / min(_compared(contender, contenders))
            mark = "" if goal is None else f"{goal:g} {'✓' if ratio <= goal else '✗'}"
            lines.append(f"| {work} | {contender} | {min(seconds):.2f} | {ratio:.2f} | {mark} |")
    return [*lines, "", *(f"- {fact}: {text}" for fact, text in kept["facts"].items())]


def _compared(name: str, contenders: Mapping[str, Sequence[float]]) -> Sequence[float]:
    """Return the seconds to which a contender's are put: Java's for the same program."""
    if name == "frames" and "java frames" in contenders:
        return contenders["java frames"]
    first = next(iter(contenders.values()))
    return contenders.get("pyiceberg") or contenders.get("java") or first


def _goal(work: str, name: str) -> float | None:
    if work.startswith("TPC-H query"):
        return QUERY_GOALS.get(name)
    if not work.startswith("plan of"):
        return GOALS.get((work, name))
    return (VECTOR_PLAN_GOALS if work.endswith("vectors") else PLAN_GOALS).get(name)


def _catalog_goal(work: str, name: str) -> float | None:
    goals = (goal for word, goal in CATALOG_GOALS.items() if word in work)
    return next(goals, None) if name == "ours" else None


def _versions() -> str:
    names = ("pyspark", "pyarrow", "polars", "fastavro", "pyiceberg", "iceberg-spark")
    found = ", ".join(f"{name} {version(name)}" for name in names)
    today = dt.datetime.now(tz=dt.UTC).date()
    return f"{today}, Python {platform.python_version()}, Java Iceberg 1.12.0, {found}."
