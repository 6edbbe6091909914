"""Random feeds whose updates leave out values, and the rows that they leave."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pyarrow as pa

COLUMNS = ("a", "b", "c")


class Event(NamedTuple):
    key: int
    seq: int
    values: dict[str, str | None] | None
    left_out: tuple[str, ...] = ()


def rows_of(events: list[Event], sequence: str) -> pa.Table:
    cells = {
        name: pa.array(
            [None if e.values is None or name in e.left_out else e.values[name] for e in events],
            pa.string(),
        )
        for name in COLUMNS
    }
    return pa.table(
        {
            "id": pa.array([e.key for e in events], pa.int64()),
            **cells,
            sequence: pa.array([e.seq for e in events], pa.int64()),
            "__deleted": [e.values is None for e in events],
            "__unavailable": pa.array(
                [list(e.left_out) or None for e in events], pa.list_(pa.string())
            ),
        }
    )


def random_feed(rng: random.Random) -> list[Event]:
    """Changes of rows of which updates leave out what they did not change, as TOAST does."""
    rows: dict[int, dict[str, str | None]] = {}
    feed = []
    for seq in range(1, 25):
        key = rng.randrange(3)
        before = rows.get(key)
        if before is not None and rng.random() < 0.2:
            del rows[key]
            feed.append(Event(key, seq, None))
            continue
        changed = [name for name in COLUMNS if before is None or rng.random() < 0.4]
        row = {**(before or {}), **{name: f"{name}{seq}" for name in changed}}
        if before is None and rng.random() < 0.3:
            row["c"] = None
        left_out = tuple(n for n in COLUMNS if n not in changed and rng.random() < 0.8)
        rows[key] = row
        feed.append(Event(key, seq, row, left_out))
    return feed


def expected_rows(feed: list[Event]) -> list[tuple[Any, ...]]:
    last = {event.key: event.values for event in feed}
    return sorted((key, *(row[n] for n in COLUMNS)) for key, row in last.items() if row)


def shuffled_batches(feed: list[Event], rng: random.Random, shuffles: bool) -> list[list[Event]]:
    events = [*feed, *rng.sample(feed, 5)] if shuffles else list(feed)
    if shuffles:
        rng.shuffle(events)
    batches = []
    while events:
        size = rng.randint(1, 8)
        batches.append(events[:size])
        events = events[size:]
    return batches
