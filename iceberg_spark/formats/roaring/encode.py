"""Encode sets of positions as roaring bitmaps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from iceberg_spark.arrow.position_set import Positions, PositionSet, Words, bit_counts


def to_roaring(positions: PositionSet) -> bytes:
    """Return the bytes of a set, each container in the form that takes least."""
    places = positions.places
    keys = places >> KEY_SHIFT
    starts = _starts(keys).tolist()
    parts = [len(starts).to_bytes(8, "little")]
    for start, end in pairwise([*starts, len(places)]):
        parts.append(int(keys[start]).to_bytes(4, "little"))
        low = places[start:end] & (1 << KEY_SHIFT) - 1
        parts += _bitmap(low, positions.words[start:end])
    return b"".join(parts)


def _starts(values: Positions) -> Positions:
    """Return where a value differs from the one before."""
    changes = np.ones(len(values), np.bool_)
    changes[1:] = values[1:] != values[:-1]
    return np.flatnonzero(changes)


def _bitmap(places: Positions, words: Words) -> list[bytes]:
    chunks = places >> 10
    starts = _starts(chunks)
    counts = np.add.reduceat(bit_counts(words), starts)
    begins = _run_starts(places, words)
    runs = np.add.reduceat(bit_counts(begins), starts)
    as_runs = 2 + 4 * runs < np.minimum(2 * counts, 8 * WORDS)
    as_words = ~as_runs & (counts > MOST_NUMBERS)
    sizes = np.where(as_runs, 2 + 4 * runs, np.where(as_words, 8 * WORDS, 2 * counts))
    container = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(places)))
    containers = _Containers(places, words, begins, container)
    body = _in_order(
        (as_words, containers.as_words(as_words), sizes),
        (~as_runs & ~as_words, containers.as_numbers(~as_runs & ~as_words), sizes),
        (as_runs, containers.as_runs(as_runs, runs), sizes),
    )
    return [_header(chunks[starts], counts, as_runs, sizes), *body]


class _Containers:
    """The words of a bitmap, and their encoding as containers of each form."""

    def __init__(self, places: Positions, words: Words, begins: Words, container: Positions):
        self._places, self._words, self._begins, self._container = places, words, begins, container

    def as_words(self, chosen: Any) -> bytes:
        """Return all 1,024 words of the containers, one container after the other."""
        if not chosen.any():
            return b""
        mine = chosen[self._container]
        dense = np.zeros((int(chosen.sum()), WORDS), "<u8")
        row = (np.cumsum(chosen) - 1)[self._container[mine]]
        dense[row, self._places[mine] & WORDS - 1] = self._words[mine]
        return dense.tobytes()

    def as_numbers(self, chosen: Any) -> bytes:
        """Return the lower halves of the positions of the containers."""
        return self._positions(chosen, self._words).astype("<u2").tobytes()

    def as_runs(self, chosen: Any, runs: Positions) -> bytes:
        """Return for each container the number of its runs, their starts and their lengths.

        A run ends if the next position is not in the set, or is in another container: there are as
        many ends as starts, in the same order.
        """
        if not chosen.any():
            return b""
        first = self._positions(chosen, self._begins)
        last = self._positions(chosen, _run_ends(self._places, self._words))
        number = runs[chosen]
        shorts = np.empty(2 * len(first) + len(number), "<u2")
        heads = 2 * (np.cumsum(number) - number) + np.arange(len(number))
        rest = np.ones(len(shorts), np.bool_)
        rest[heads] = False
        shorts[heads] = number
        shorts[rest] = np.column_stack((first, last - first)).ravel()
        return shorts.tobytes()

    def _positions(self, chosen: Any, words: Words) -> Positions:
        mine = chosen[self._container]
        positions = PositionSet.from_words(self._places[mine], words[mine])
        return positions.positions() & POSITIONS - 1


def _run_starts(places: Positions, words: Words) -> Words:
    """Return bits where the position before is not in the set or in another container."""
    before = np.zeros_like(words)
    follows = (places[1:] == places[:-1] + 1) & (places[1:] & WORDS - 1 != 0)
    before[1:][follows] = words[:-1][follows] >> 63
    started: Words = words & ~(words << np.uint64(1) | before)
    return started


def _run_ends(places: Positions, words: Words) -> Words:
    """Return bits where the position after is not in the set or in another container."""
    after = np.zeros_like(words)
    follows = (places[1:] == places[:-1] + 1) & (places[1:] & WORDS - 1 != 0)
    after[:-1][follows] = words[1:][follows] << 63
    ended: Words = words & ~(words >> np.uint64(1) | after)
    return ended


def _in_order(*forms: tuple[Any, bytes, Positions]) -> list[bytes]:
    """Return the containers' bytes in their order; those of one form are adjacent."""
    alone = [data for chosen, data, _ in forms if chosen.all()]
    if alone:
        return alone
    parts: list[bytes] = [b""] * len(forms[0][0])
    for chosen, data, sizes in forms:
        mine = np.flatnonzero(chosen)
        ends = np.cumsum(sizes[mine])
        for index, begin, end in zip(
            mine.tolist(), (ends - sizes[mine]).tolist(), ends.tolist(), strict=True
        ):
            parts[index] = data[begin:end]
    return parts


def _header(chunks: Positions, counts: Positions, as_runs: Any, sizes: Positions) -> bytes:
    described = np.column_stack((chunks, counts - 1)).astype("<u2").tobytes()
    number = len(chunks)
    if as_runs.any():
        cookie = (WITH_RUNS | number - 1 << 16).to_bytes(4, "little")
        head = cookie + np.packbits(as_runs, bitorder="little").tobytes() + described
        if number < OFFSETS_FROM:
            return head
    else:
        head = PLAIN.to_bytes(4, "little") + number.to_bytes(4, "little") + described
    offsets = len(head) + 4 * number + np.cumsum(sizes) - sizes
    return head + offsets.astype("<u4").tobytes()


PLAIN, WITH_RUNS = 12346, 12347
"""How a bitmap begins: without containers of runs, or with some."""
WORDS = 1024
"""Words of a container, 64 positions each."""
POSITIONS = 1 << 16
"""Positions that a container may have."""
MOST_NUMBERS = 4096
"""Positions up to which a container is numbers, if it isn't runs; above it is words."""
OFFSETS_FROM = 4
"""Number of containers from which a bitmap with runs has offsets."""
KEY_SHIFT = 26
"""2**26 words have the same upper half."""
