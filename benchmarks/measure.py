"""Rounds taken by turns, the minimum of each: machines drift, minima hardly do."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Rounds before those that count: so many at least, and until so many seconds have gone."""

    rounds: int = 1
    seconds: float = 0


ONE_ROUND = WarmUp()
UNWARMED = WarmUp(0)
"""Of works so long that Java has compiled all there is to after their first seconds."""
LONG_WARM_UP = WarmUp(3, 15)
"""Of short works: they get quicker while Java compiles them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of every round of one contender, in the order they were taken."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The quickest round, in seconds."""
        return min(self.seconds)


def by_turns(
    contenders: Mapping[str, Callable[[], object]],
    rounds: int,
    warm_up: WarmUp = ONE_ROUND,
    before: Callable[[], object] = lambda: None,
    seconds: float = 0,
) -> dict[str, Measured]:
    """Time the contenders one after the other, again and again; warm-up rounds don't count.

    `before` is called before each of them, and takes no time. Of short works there are more rounds
    than `rounds`, all of them within `seconds`.
    """
    started, turns = time.perf_counter(), 0
    while turns < warm_up.rounds or time.perf_counter() - started < warm_up.seconds:
        _turn(contenders, before)
        turns += 1
    started, taken = time.perf_counter(), []
    while len(taken) < rounds or time.perf_counter() - started < seconds:
        taken.append(_turn(contenders, before))
    return {name: Measured(tuple(turn[name] for turn in taken)) for name in contenders}


def _turn(
    contenders: Mapping[str, Callable[[], object]], before: Callable[[], object]
) -> dict[str, float]:
    taken = {}
    for name, work in contenders.items():
        before()
        gc.collect()
        start = time.perf_counter()
        work()
        taken[name] = time.perf_counter() - start
    return taken


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
