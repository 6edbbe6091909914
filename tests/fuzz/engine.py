"""Runs inputs in child processes: what ends a process, takes too long or too much is seen.

An engine of our own rather than atheris or hypothesis: the worst findings are aborts in C++,
memory and time, which only another process survives to tell, and coverage of compiled decoders
is not to be had from Python.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
STEP = 2_000


@dataclass(slots=True)
class Found:
    """How many inputs were run, and each that did not end as it should by its number."""

    count: int = 0
    wrong: list[str] = field(default_factory=list)
    by_input: Counter[str] = field(default_factory=Counter)


def fuzz(first: int, end: int, seconds: float) -> Found:
    """Run the inputs of the numbers from `first` to `end`, or as many as the time allows."""
    found = Found()
    deadline = time.time() + seconds
    while first < end and time.time() < deadline:
        first = _child(first, min(first + STEP, end), deadline, found)
    return found


def _child(first: int, end: int, deadline: float, found: Found) -> int:
    """Run one process and return the number to go on with."""
    child = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.child", str(first), str(end), str(deadline)],
        cwd=ROOT,
        capture_output=True,
        check=False,
        encoding="utf-8",
        errors="replace",
    )
    last = first - 1
    for line in child.stdout.splitlines():
        kind, _, rest = line.partition(" ")
        if kind == "at":
            number, _, name = rest.partition(" ")
            last = int(number)
            found.count += 1
            found.by_input[name] += 1
        elif kind == "wrong":
            found.wrong.append(rest)
    if child.returncode:
        said = " ".join(child.stderr.split())[-300:]
        found.wrong.append(f"{last} ended the process with {child.returncode}: {said}")
        return last + 1
    return end
