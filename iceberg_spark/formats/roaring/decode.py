"""Decode roaring bitmaps to sets of positions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from iceberg_spark.arrow.position_set import (
    NO_POSITIONS,
    Positions,
    PositionSet,
    Words,
    bit_counts,
)
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.roaring.encode import (
    KEY_SHIFT,
    MOST_NUMBERS,
    OFFSETS_FROM,
    PLAIN,
    POSITIONS,
    WITH_RUNS,
    WORDS,
)

_MOST_KEY = (1 << 31) - 1  # so that positions are positive
_NUMBERS, _WORDS, _RUNS = 0, 1, 2
_ALL = np.uint64(2**64 - 1)


def from_roaring(
    data: bytes | memoryview, *, below: int | None = None, count: int | None = None
) -> PositionSet:
    """Return the set of serialized positions. Raises CorruptFileError for malformed bytes.

    Only positions `below` a number are returned: bytes may claim more positions than fit in memory.
    `count` is the expected number of positions, including those left out.
    """
    reader = _Reader(memoryview(data))
    sets: list[PositionSet] = []
    last, total = -1, 0
    for _ in range(reader.number(8)):
        key = reader.number(4)
        if not last < key <= _MOST_KEY:
            raise CorruptFileError(f"roaring bitmap {key} follows bitmap {last}")
        bitmap = _bitmap(reader)
        total += int(bitmap.counts.sum())
        sets.append(_decoded(bitmap, key << KEY_SHIFT, below))
        last = key
    if reader.offset != len(reader.data):
        raise CorruptFileError("bytes follow a roaring bitmap")
    if count is not None and total != count:
        raise CorruptFileError(f"a roaring bitmap has {total} positions, not {count}")
    joined = _joined(sets)
    return joined if below is None else joined.below(below)


def _joined(parts: list[PositionSet]) -> PositionSet:
    """Return sets as one, each of which has other positions than those before it, and greater."""
    some = [part for part in parts if not part.is_empty]
    if len(some) < 2:
        return some[0] if some else NO_POSITIONS
    return PositionSet(
        np.concatenate([part.places for part in some]),
        np.concatenate([part.words for part in some]),
    )


@dataclass(slots=True)
class _Reader:
    data: memoryview
    offset: int = 0

    def take(self, size: int) -> memoryview:
        part = self.data[self.offset : self.offset + size]
        if len(part) != size:
            raise CorruptFileError("a roaring bitmap is cut off")
        self.offset += size
        return part

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def shorts(self, count: int) -> Positions:
        return np.frombuffer(self.take(2 * count), "<u2").astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class _Bitmap:
    """A bitmap of 32 bits: its containers, their form, and their position in `data`."""

    data: memoryview
    chunks: Positions
    counts: Positions
    forms: Any
    begins: Positions
    ends: Positions


def _bitmap(reader: _Reader) -> _Bitmap:
    cookie = reader.number(4)
    if cookie & 0xFFFF == WITH_RUNS:
        size = (cookie >> 16) + 1
        flags = np.frombuffer(reader.take((size + 7) // 8), np.uint8)
        has_runs = np.unpackbits(flags, bitorder="little")[:size].astype(np.bool_)
        has_offsets = size >= OFFSETS_FROM
    elif cookie == PLAIN:
        size = reader.number(4)
        has_runs, has_offsets = np.zeros(min(size, 1 << 16), np.bool_), True
    else:
        raise CorruptFileError(f"a roaring bitmap begins with {cookie}")
    if size > 1 << 16:
        raise CorruptFileError(f"a roaring bitmap has {size} containers")
    described = reader.shorts(2 * size).reshape(size, 2)
    chunks, counts = described[:, 0], described[:, 1] + 1
    if np.any(chunks[1:] <= chunks[:-1]):
        raise CorruptFileError("containers of a roaring bitmap do not ascend")
    if has_offsets:
        reader.take(4 * size)  # one after the other, as everybody writes them
    forms = np.where(has_runs, _RUNS, np.where(counts > MOST_NUMBERS, _WORDS, _NUMBERS))
    sizes = _sizes(reader, counts, forms)
    ends = reader.offset + np.cumsum(sizes)
    reader.take(int(sizes.sum()))
    return _Bitmap(reader.data, chunks, counts, forms, ends - sizes, ends)


def _sizes(reader: _Reader, counts: Positions, forms: Any) -> Positions:
    """Return the bytes of each container; one of runs starts with their number."""
    sizes = np.where(forms == _WORDS, 8 * WORDS, 2 * counts)
    offset, before = reader.offset, 0
    for container in np.flatnonzero(forms == _RUNS).tolist():
        if before < container:
            offset += int(sizes[before:container].sum())
        head = reader.data[offset : offset + 2]
        if len(head) != 2:
            raise CorruptFileError("a roaring bitmap is cut off")
        sizes[container] = 2 + 4 * int.from_bytes(head, "little")
        offset, before = offset + int(sizes[container]), container + 1
    return sizes


def _decoded(bitmap: _Bitmap, first: int, below: int | None) -> PositionSet:
    """Return the positions of a bitmap whose first word has this place."""
    needed = np.ones(len(bitmap.chunks), np.bool_)
    if below is not None:
        needed = first * 64 + bitmap.chunks * POSITIONS < below
    parts = [
        make(bitmap, np.flatnonzero(needed & (bitmap.forms == form)))
        for form, make in ((_NUMBERS, _of_numbers), (_WORDS, _of_words), (_RUNS, _of_runs))
        if np.any(needed & (bitmap.forms == form))
    ]
    positions = parts[0] if len(parts) == 1 else _interleaved(parts)
    return PositionSet(positions.places + first, positions.words) if first else positions


def _interleaved(parts: list[PositionSet]) -> PositionSet:
    """Return sets that have no container in common as one."""
    joined = _joined(parts)
    order = np.argsort(joined.places, kind="stable")
    return PositionSet(joined.places[order], joined.words[order])


def _of_words(bitmap: _Bitmap, mine: Positions) -> PositionSet:
    words = np.empty((len(mine), WORDS), "<u8")
    for row, begin in enumerate(bitmap.begins[mine].tolist()):
        words[row] = np.frombuffer(bitmap.data, "<u8", WORDS, begin)
    return _dense(bitmap, mine, words)


def _of_numbers(bitmap: _Bitmap, mine: Positions) -> PositionSet:
    parts = [np.frombuffer(part, "<u2") for part in _parts(bitmap, mine)]
    shorts = parts[0] if len(parts) == 1 else np.concatenate(parts)
    counts = bitmap.counts[mine]
    ascends = shorts[1:] > shorts[:-1]
    ascends[np.cumsum(counts)[:-1] - 1] = True  # from a container to the next
    if not ascends.all():
        raise CorruptFileError("numbers in a container of a roaring bitmap do not ascend")
    return PositionSet.from_parts(np.repeat(bitmap.chunks[mine] * WORDS, counts), shorts)


def _of_runs(bitmap: _Bitmap, mine: Positions) -> PositionSet:
    shorts = [np.frombuffer(part, "<u2") for part in _parts(bitmap, mine, singly=True)]
    number = np.array([int(short[0]) for short in shorts])
    pairs = np.concatenate([short[1:] for short in shorts]).astype(np.int64).reshape(-1, 2)
    chunk = np.repeat(np.arange(len(mine)) * POSITIONS, number)  # in the rows of `_dense`
    first = pairs[:, 0] + chunk
    last = first + pairs[:, 1]
    if np.any(last >= chunk + POSITIONS) or np.any(first[1:] <= last[:-1]):
        raise CorruptFileError("runs of a roaring bitmap overlap")
    return _dense(bitmap, mine, _run_words(first, last, len(mine)).reshape(-1, WORDS))


def _run_words(first: Positions, last: Positions, containers: int) -> Words:
    """Return the words of runs, which ascend and don't touch: their ends and the words between."""
    words = np.zeros(containers * WORDS, np.uint64)
    if not len(first):
        return words
    begin, end = first >> 6, last >> 6
    begun = _ALL << (first & 63).astype(np.uint64)
    ended = _ALL >> (63 - (last & 63)).astype(np.uint64)
    within = begin == end
    indices = np.concatenate((begin, end[~within]))
    bits = np.concatenate((np.where(within, begun & ended, begun), ended[~within]))
    order = np.argsort(indices, kind="stable")
    indices, bits = indices[order], bits[order]
    starts = np.flatnonzero(np.r_[True, indices[1:] != indices[:-1]])
    words[indices[starts]] = np.bitwise_or.reduceat(bits, starts)
    if np.any(end - begin > 1):
        steps = np.zeros(len(words) + 1, np.int64)
        np.add.at(steps, begin[~within] + 1, 1)
        np.add.at(steps, end[~within], -1)
        words[np.cumsum(steps[:-1]) > 0] = _ALL
    return words


def _dense(bitmap: _Bitmap, mine: Positions, words: Words) -> PositionSet:
    """Return the set of the words of some containers, after checking their number of positions."""
    flat = words.ravel()
    actual = bit_counts(flat).reshape(-1, WORDS).sum(axis=1)
    for container in np.flatnonzero(actual != bitmap.counts[mine])[:1].tolist():
        raise CorruptFileError(
            f"a container of {bitmap.counts[mine][container]} positions has {actual[container]}"
        )
    places = (bitmap.chunks[mine] * WORDS)[:, None] + np.arange(WORDS)
    return PositionSet.from_words(places.ravel(), flat)


def _parts(bitmap: _Bitmap, mine: Positions, *, singly: bool = False) -> Iterator[memoryview]:
    """Yield the bytes of some containers; those of neighbours together unless `singly`."""
    gaps = np.flatnonzero(np.diff(mine) != 1) + 1
    bounds = range(len(mine) + 1) if singly else [0, *gaps.tolist(), len(mine)]
    begins, ends = bitmap.begins[mine].tolist(), bitmap.ends[mine].tolist()
    for start, stop in pairwise(bounds):
        yield bitmap.data[begins[start] : ends[stop - 1]]
