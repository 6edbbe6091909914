"""CPU of this process and of all that it started: the JVM, Python workers."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _OWN_TIME = 1, slice(11, 13)  # places behind the command in /proc/<pid>/stat


def tree_cpu() -> dict[int, float]:
    """Return seconds of CPU so far of each process that lives."""
    found: dict[int, list[str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[int(folder.name)] = text.rpartition(")")[2].split()
    children = defaultdict(list)
    for pid, fields in found.items():
        children[int(fields[_PARENT])].append(pid)
    waiting, taken = [os.getpid()], {}
    while waiting:
        pid = waiting.pop()
        waiting += children[pid]
        if pid in found:
            taken[pid] = sum(map(int, found[pid][_OWN_TIME])) / _TICKS
    return taken


def used(before: Mapping[int, float], after: Mapping[int, float]) -> float:
    """Return the seconds between two moments, without those of processes that ended meanwhile."""
    return sum(taken - before.get(pid, 0.0) for pid, taken in after.items())
