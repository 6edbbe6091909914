"""What changes by key must leave behind: a function of the set of changes, whatever their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa


class Change(NamedTuple):
    """A change of a key; without values it is a delete."""

    key: int
    sequence: int
    value: tuple[str | None, float | None] | None


def current(changes: Iterable[Change]) -> dict[int, tuple[Any, ...]]:
    """Return the row that the last change of each key leaves."""
    last: dict[int, Change] = {}
    for change in changes:
        if change.key not in last or change.sequence > last[change.key].sequence:
            last[change.key] = change
    return {
        key: (key, *change.value, change.sequence)
        for key, change in last.items()
        if change.value is not None
    }


def history(changes: Iterable[Change]) -> list[tuple[Any, ...]]:
    """Return what each key was, from which sequence on and to which."""
    rows: list[list[Any]] = []
    ordered = sorted(set(changes), key=lambda one: (one.key, one.sequence))
    for key, group in groupby(ordered, key=lambda one: one.key):
        open_row: list[Any] | None = None
        for change in group:
            if open_row is not None and change.value == tuple(open_row[1:3]):
                continue
            if open_row is not None:
                open_row[4] = change.sequence
                open_row = None
            if change.value is not None:
                open_row = [key, *change.value, change.sequence, None]
                rows.append(open_row)
    return [tuple(row) for row in rows]


def frame(changes: Iterable[Change], sequence: str = "seq") -> pa.Table:
    """Return changes as rows: `id`, `name`, `price`, the sequence and `op`."""
    given = list(changes)
    values = [(None, None) if one.value is None else one.value for one in given]
    columns: Mapping[str, pa.Array] = {
        "id": pa.array([one.key for one in given], pa.int64()),
        "name": pa.array([name for name, _ in values], pa.string()),
        "price": pa.array([price for _, price in values], pa.float64()),
        sequence: pa.array([one.sequence for one in given], pa.int64()),
        "op": pa.array(["D" if one.value is None else "U" for one in given], pa.string()),
    }
    return pa.table(dict(columns))
