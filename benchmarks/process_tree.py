"""CPU of this process and of all that it started: the JVM, Python workers."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _FIRST_TIME = 1, 11  # places behind the command in /proc/<pid>/stat


def tree_cpu_seconds() -> float:
    """Return seconds of CPU so far; what has ended counts by the parent that waited for it."""
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
    waiting, ticks = [os.getpid()], 0
    while waiting:
        pid = waiting.pop()
        waiting += children[pid]
        ticks += sum(map(int, found[pid][_FIRST_TIME : _FIRST_TIME + 4])) if pid in found else 0
    return ticks / _TICKS
