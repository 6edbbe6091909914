"""One run of a stream: loads its table, computes the end of the next batch, and plans it."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from iceberg_spark.streams.history import BranchHistory
from iceberg_spark.streams.offset import StreamOffset
from iceberg_spark.streams.table_watch import Pace, StreamedTable, TableSeen, TableWatch

Planned_co = TypeVar("Planned_co", covariant=True)


class StreamKind(Protocol[Planned_co]):
    """What a stream shows of a table: appended rows, or changes."""

    def start(self, history: BranchHistory) -> StreamOffset:
        """Return the start of the first batch."""
        ...

    def latest(self, seen: TableSeen, start: StreamOffset, *, limited: bool) -> StreamOffset:
        """Return the end of the next batch, `start` if there is nothing to read."""
        ...

    def plan(self, seen: TableSeen, start: StreamOffset, end: StreamOffset) -> Planned_co:
        """Return the plan of a batch."""
        ...


class RunningStream(Generic[Planned_co]):
    """The state of one run of a query.

    PySpark 4.1 passes neither its position nor the limits of a batch. The stream continues from the
    offset that it returned last, or from the checkpoint's, which is planned first after a restart.
    """

    def __init__(
        self, table: StreamedTable, kind: StreamKind[Planned_co], pace: Pace | None = None
    ) -> None:
        self._kind = kind
        self._watch = TableWatch(table)
        self._pace = pace or Pace()
        self._position: StreamOffset | None = None
        self._initial: StreamOffset | None = None
        self._idle: tuple[TableSeen, StreamOffset] | None = None
        self._last: tuple[int | None] | None = None

    def initial(self) -> StreamOffset:
        """Return the start of the first batch, the same during a run."""
        if self._initial is None:
            seen = self._watch.look()
            self._initial = self._kind.start(seen.history)
        return self._initial

    def latest(self, start: StreamOffset | None = None, *, limited: bool = True) -> StreamOffset:
        """Return the end of the next batch after `start` (None: after the one before)."""
        begin = start or self._position or self.initial()
        if not self._pace.may_look():
            return begin
        seen = self._seen()
        end = begin
        if self._idle != (seen, begin):
            end = self._kind.latest(seen, begin, limited=limited)
        self._pace.looked(has_news=end != begin)
        self._idle = (seen, begin) if end == begin else None
        self._position = end
        return end

    def plan(self, start: StreamOffset, end: StreamOffset) -> Planned_co:
        """Return the plan of the batch between two offsets."""
        self._position = self._position or end
        return self._kind.plan(self._watch.look(), start, end)

    def end_here(self) -> None:
        """Read no further than the current snapshot."""
        head = self._watch.look().history.head
        self._last = (None if head is None else head.snapshot_id,)

    def _seen(self) -> TableSeen:
        seen = self._watch.look()
        return seen if self._last is None else seen.up_to(*self._last)
