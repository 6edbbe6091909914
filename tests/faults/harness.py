"""Run a verb with one fault, look at the table with a clean store, and judge what the verb said."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fsspec.implementations.memory import MemoryFile

from iceberg_spark.errors import CommitStateUnknownException, IcebergError
from iceberg_spark.io.fsspec_store import SharedMemoryFiles
from iceberg_spark.scan.plan_cache import PLAN_CACHE
from tests.faults.store import Calls, Fault, different_faults
from tests.faults.verbs import VERBS, State, make, new_state, states

WHERE = "memory://faults/t"
_PREFIX = "/faults/t"
_VERSION = re.compile(r"/v\d+\.metadata\.json$")


@dataclass
class Kept:
    """What lies below the table, to be put back before each run."""

    files: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def now(cls) -> Kept:
        store = SharedMemoryFiles.store
        return cls({path: store[path].getvalue() for path in store if path.startswith(_PREFIX)})

    def but(self, below: str) -> Kept:
        """Return the same without what lies in one folder."""
        return Kept({at: data for at, data in self.files.items() if not at.startswith(below)})

    def put_back(self) -> None:
        PLAN_CACHE.clear()  # the same bytes will come back, and are to be asked for again
        store, files = SharedMemoryFiles.store, SharedMemoryFiles()
        for path in [path for path in store if path.startswith(_PREFIX)]:
            del store[path]
        for path, data in self.files.items():
            store[path] = MemoryFile(files, path, data)


@dataclass
class Case:
    """A verb on a table: how it looks before and after, and the calls that an undisturbed run
    makes; `swap` is the number of the call that hands the commit to the catalog.
    """

    name: str
    kept: Kept
    before: list[tuple[State, State]]
    after: State
    calls: list[tuple[str, str]]
    swap: int

    @classmethod
    def of(cls, name: str, calls: Calls) -> Case:
        calls.arm(None, None)
        Kept().put_back()
        make(WHERE, name)
        kept = Kept.now()
        before = [states(WHERE)]
        PLAN_CACHE.clear()
        calls.arm(None, None)
        VERBS[name](WHERE)
        made = list(calls.made)
        calls.arm(None, None)
        swaps = [at for at, call in enumerate(made) if _hands_over(call)]
        case = cls(name, kept, before, states(WHERE), made, swaps[-1])
        if len(swaps) > 1:  # a commit before it, by another
            kept.put_back()
            calls.arm(swaps[0] + 1, Fault.INTERRUPT_BEFORE)
            _outcome(name)
            calls.arm(None, None)
            before.append(states(WHERE))
        assert case.after not in before
        return case

    def now(self) -> tuple[State, State]:
        """Return what a reader sees; where no byte is another, what it saw before the verb."""
        if Kept.now().but(f"{_PREFIX}/new/") == self.kept:
            return self.before[0][0], new_state(WHERE)
        return states(WHERE)

    def plans(
        self, share_before: float, share_after: float, seed: int
    ) -> Iterator[tuple[int, Fault]]:
        """Yield shares of the faults before the swap, and of those from it on.

        One that every verb bears is always among them: the last call fails.
        """
        chance = random.Random(f"{self.name}-{seed}")
        last = len(self.calls) - 1, Fault.ERROR_BEFORE
        for at, (method, _) in enumerate(self.calls):
            share = share_after if at >= self.swap else share_before
            for fault in different_faults(method):
                if chance.random() < share or (at, fault) == last:
                    yield at, fault


def _hands_over(call: tuple[str, str]) -> bool:
    return call[0] == "create_if_absent" and _VERSION.search(call[1]) is not None


def _outcome(name: str) -> BaseException | None:
    try:
        VERBS[name](WHERE)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
        return error
    return None


@dataclass
class Tally:
    """How many faults had which end, and what was wrong."""

    ends: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.ends.total()} faults: " + ", ".join(
            f"{count} {end}" for end, count in sorted(self.ends.items())
        )


def attack(case: Case, calls: Calls, plans: Iterable[tuple[int, Fault]], tally: Tally) -> None:
    """Run the case once for each fault."""
    for at, fault in plans:
        case.kept.put_back()
        calls.arm(at, fault)
        error = _outcome(case.name)
        broke = calls.broke
        calls.arm(None, None)
        where = f"{case.name}: {fault.name} at call {at} of {len(case.calls)} {case.calls[at]}"
        if not broke:
            tally.wrong.append(f"{where} was never reached")
            continue
        end, wrong = _judged(case, error)
        tally.ends[end] += 1
        if wrong:
            tally.wrong.append(f"{where}: {wrong}; the verb ended with {error!r}")


def _judged(case: Case, error: BaseException | None) -> tuple[str, str]:
    try:
        now: Any = case.now()
    except IcebergError as broken:
        return "broken", f"the table can't be read: {broken!r}"
    landed = now == case.after
    if not landed and now not in case.before:
        return "broken", f"the table is neither before nor after: {now}"
    match error:
        case None:
            return "success", "" if landed else "it said success and nothing landed"
        case CommitStateUnknownException():
            return "unknown", ""
        case IcebergError() | KeyboardInterrupt():
            return "refused", "it landed, and the verb said otherwise" if landed else ""
        case _:
            return "foreign", "an error that is not ours"
