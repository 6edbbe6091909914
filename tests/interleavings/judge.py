"""Whether two writers that overlap leave what one of their serial orders leaves."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.interleavings.schedule import Store, scheduled, succeeds
from tests.interleavings.verbs import SEQUENCES, VERBS, State, load_all_row_ids, make, state

_ALL = VERBS | SEQUENCES

_OTHER_ROWS = ("upsert", "roll_back")
"""Verbs that write rows again, or bring former ones back, so that row ids may differ."""


@dataclass(slots=True)
class Judge:
    """The outcomes of serial orders on one table, computed once."""

    start: Store
    _outcomes: dict[tuple[str, ...], tuple[tuple[bool, ...], State]] = field(default_factory=dict)
    _calls: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, format_version: int) -> Judge:
        """Make the table of a format version."""
        Store({}, {}).restore()
        make(format_version)
        return cls(Store.snapshot())

    def calls(self, verb: str) -> list[str]:
        """Return the calls that a verb makes to the catalog when it runs alone."""
        if verb not in self._calls:
            self.start.restore()
            with scheduled(None, lambda: None) as trace:
                succeeds(VERBS[verb])
            self._calls[verb] = trace.calls
        return self._calls[verb]

    def serial(self, *verbs: str) -> tuple[tuple[bool, ...], State]:
        """Return which of some verbs succeed, one after the other, and what they leave."""
        if verbs not in self._outcomes:
            self.start.restore()
            ends = tuple(succeeds(_ALL[verb]) for verb in verbs)
            self._outcomes[verbs] = ends, _read()
        return self._outcomes[verbs]

    def check(self, verb: str, other: str, call: int) -> str | None:
        """Run `other` before a call of `verb`; return what is wrong with the end, None if right."""
        self.start.restore()
        ends: list[bool] = []
        ids: dict[str, int] = {}

        def overlap() -> None:
            ends.append(succeeds(_ALL[other]))
            ids.update(load_all_row_ids())

        with scheduled(call, overlap):
            ended = succeeds(VERBS[verb])
        if not ends:
            return None  # the verb made fewer calls this time
        left = _read()
        expected = self._expected(verb, other, ended, ends[0])
        if left not in expected:
            return f"({verb}: {ended}, {other}: {ends[0]}) left {left}, not one of {expected}"
        if UNREADABLE in left or verb in _OTHER_ROWS:
            return None
        after = load_all_row_ids()
        moved = [row for row in ids.keys() & after.keys() if ids[row] != after[row]]
        return f"rows got other row ids: {moved}" if moved else None

    def _expected(self, verb: str, other: str, ended: bool, other_ended: bool) -> list[State]:
        if ended and other_ended:
            orders = [self.serial(verb, other), self.serial(other, verb)]
            return [left for ends, left in orders if all(ends)]
        successful = [name for name, end in ((verb, ended), (other, other_ended)) if end]
        return [self.serial(*successful)[1]]


UNREADABLE = "unreadable"
"""What a reader sees if an expiry or a purge deletes files that a second registration shares."""


def _read() -> State:
    try:
        return state()
    except Exception as error:  # noqa: BLE001 - a table that can't be read is a finding
        return {UNREADABLE: type(error).__name__}
