"""Rounds taken by turns, the minimum of each: machines drift, minima hardly do."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

LONG_WARM_UP = 3
"""Rounds before those that count, of short works: they get quicker while Java compiles them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of every round of one contender, in the order they were taken."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The quickest round, in seconds."""
        return min(self.seconds)


def by_turns(
    contenders: Mapping[str, Callable[[], object]], rounds: int, warm_up: int = 1
) -> dict[str, Measured]:
    """Time the contenders one after the other, again and again; warm-up rounds don't count."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(warm_up + rounds):
        for name, work in contenders.items():
            gc.collect()
            start = time.perf_counter()
            work()
            if number >= warm_up:
                taken[name].append(time.perf_counter() - start)
    return {name: Measured(tuple(seconds)) for name, seconds in taken.items()}


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
