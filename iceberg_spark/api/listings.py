"""Snapshots, references and history as plain lists and dicts that print as tables."""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from iceberg_spark.spec.printable import printable
from iceberg_spark.spec.snapshot import Snapshot, SnapshotLogEntry, SnapshotRef

Row = Sequence[object]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Snapshots(list[Snapshot]):
    """The snapshots of a table, oldest first."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _text("snapshots", self._rows())

    def _repr_html_(self) -> str:
        return _html(self._rows())

    def _rows(self) -> list[Row]:
        head: Row = ("snapshot", "committed (UTC)", "operation", "parent", "added", "rows in total")
        return [head, *(_snapshot(snapshot) for snapshot in self)]


class References(dict[str, SnapshotRef]):
    """Branches and tags by name."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _text("branches or tags", self._rows())

    def _repr_html_(self) -> str:
        return _html(self._rows())

    def _rows(self) -> list[Row]:
        head: Row = ("name", "kind", "snapshot", "keeps at least", "max snapshot age", "max age")
        return [head, *(_reference(name, reference) for name, reference in self.items())]


class History(list[SnapshotLogEntry]):
    """Which snapshot became current when."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _text("history", self._rows())

    def _repr_html_(self) -> str:
        return _html(self._rows())

    def _rows(self) -> list[Row]:
        head: Row = ("current since (UTC)", "snapshot")
        return [head, *((_when(entry.timestamp_ms), entry.snapshot_id) for entry in self)]


def _snapshot(snapshot: Snapshot) -> Row:
    summary = snapshot.summary
    return (
        snapshot.snapshot_id, _when(snapshot.timestamp_ms),
        snapshot.operation, snapshot.parent_snapshot_id,
        summary.get("added-records"), summary.get("total-records"),
    )  # fmt: skip


def _reference(name: str, reference: SnapshotRef) -> Row:
    min_snapshots = reference.min_snapshots_to_keep
    ages = (_age(reference.max_snapshot_age_ms), _age(reference.max_ref_age_ms))
    return (name, str(reference.snapshot_ref_type), reference.snapshot_id, min_snapshots, *ages)


def _when(ms: int) -> str:
    try:
        return f"{_EPOCH + timedelta(milliseconds=ms):%Y-%m-%d %H:%M:%S}"
    except OverflowError:
        return f"{ms} ms"


def _age(ms: int | None) -> str | None:
    return None if ms is None else f"{ms} ms"


def _text(what: str, rows: list[Row]) -> str:
    if len(rows) == 1:
        return f"no {what} yet"
    cells = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def _html(rows: list[Row]) -> str:
    head, *rest = ([html.escape("" if cell is None else str(cell)) for cell in row] for row in rows)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rest)
    return f"<table><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>{body}</table>"
