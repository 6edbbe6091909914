"""Sets of positions as bytes: 64-bit roaring bitmaps, as deletion vectors hold them.

Source: RoaringFormatSpec, "Extension for 64-bit Implementations"; specification, "Deletion
Vectors". A bitmap for each upper half of 64 bits, in it a container for each 65,536 positions:
numbers, words, or runs. What a container takes stays words on both ways.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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

_PLAIN, _WITH_RUNS = 12346, 12347
_WORDS = 1024  # of a container
_MOST_NUMBERS = 4096  # of a container of numbers
_OFFSETS_FROM = 4  # containers of a bitmap that has runs
_MOST_KEY = (1 << 31) - 1  # so that positions are positive


def to_roaring(positions: PositionSet) -> bytes:
    """Return the bytes of a set, each container in the form that takes least."""
    places = positions.places
    keys = places >> 26  # 2**26 words have the same upper half
    starts = np.flatnonzero(np.r_[keys[:1] == keys[:1], keys[1:] != keys[:-1]]).tolist()
    parts = [len(starts).to_bytes(8, "little")]
    for start, end in zip(starts, [*starts[1:], len(places)], strict=False):
        parts.append(int(keys[start]).to_bytes(4, "little"))
        parts.append(_bitmap(places[start:end] & (1 << 26) - 1, positions.words[start:end]))
    return b"".join(parts)


def _bitmap(places: Positions, words: Words) -> bytes:
    chunks = places >> 10
    starts = np.flatnonzero(np.r_[True, chunks[1:] != chunks[:-1]])
    counts = np.add.reduceat(bit_counts(words), starts)
    runs = np.add.reduceat(bit_counts(_run_starts(places, words)), starts)
    plain = np.minimum(2 * counts, 8 * _WORDS)
    as_runs = 2 + 4 * runs < plain
    ends = [*starts[1:].tolist(), len(places)]
    made = []
    for start, end, count, is_run in zip(
        starts.tolist(), ends, counts.tolist(), as_runs.tolist(), strict=True
    ):
        dense = np.zeros(_WORDS, "<u8")
        dense[places[start:end] & _WORDS - 1] = words[start:end]
        made.append(_container(dense, count, is_run=is_run))
    return _header(chunks[starts], counts, as_runs, made) + b"".join(made)


def _run_starts(places: Positions, words: Words) -> Words:
    """Return bits where the position before is not in the set or in another container."""
    before = np.zeros_like(words)
    before[1:] = words[:-1] >> 63
    follows = np.zeros(len(words), np.bool_)
    follows[1:] = (places[1:] == places[:-1] + 1) & (places[1:] & _WORDS - 1 != 0)
    carried: Words = np.where(follows, before, np.uint64(0)).astype(np.uint64)
    started: Words = words & ~(np.left_shift(words, np.uint64(1)) | carried)
    return started


def _container(words: Words, count: int, *, is_run: bool) -> bytes:
    if not is_run and count > _MOST_NUMBERS:
        return words.tobytes()
    numbers = np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))
    if not is_run:
        return numbers.astype("<u2").tobytes()
    begins = np.flatnonzero(np.r_[True, numbers[1:] != numbers[:-1] + 1])
    ends = np.r_[begins[1:], len(numbers)]
    pairs = np.column_stack((numbers[begins], ends - begins - 1)).astype("<u2")
    return len(pairs).to_bytes(2, "little") + pairs.tobytes()


def _header(chunks: Positions, counts: Positions, as_runs: Any, made: list[bytes]) -> bytes:
    described = np.column_stack((chunks, counts - 1)).astype("<u2").tobytes()
    if as_runs.any():
        cookie = (_WITH_RUNS | len(made) - 1 << 16).to_bytes(4, "little")
        head = cookie + np.packbits(as_runs, bitorder="little").tobytes() + described
        if len(made) < _OFFSETS_FROM:
            return head
    else:
        head = _PLAIN.to_bytes(4, "little") + len(made).to_bytes(4, "little") + described
    sizes = np.array([0, *map(len, made[:-1])])
    offsets = len(head) + 4 * len(made) + np.cumsum(sizes)
    return head + offsets.astype("<u4").tobytes()


def from_roaring(data: bytes) -> PositionSet:
    """Return the set that bytes hold. Raises CorruptFileError where they are not what they say."""
    reader = _Reader(memoryview(data))
    found: list[tuple[Positions, Words]] = []
    last = -1
    for _ in range(reader.number(8)):
        key = reader.number(4)
        if not last < key <= _MOST_KEY:
            raise CorruptFileError(f"roaring bitmap {key} follows bitmap {last}")
        found += [((key << 26) + places, words) for places, words in _containers(reader)]
        last = key
    if reader.at != len(data):
        raise CorruptFileError("bytes follow a roaring bitmap")
    if not found:
        return NO_POSITIONS
    places, words = (np.concatenate(part) for part in zip(*found, strict=True))
    return PositionSet.from_words(places, words)


@dataclass(slots=True)
class _Reader:
    data: memoryview
    at: int = 0

    def take(self, size: int) -> memoryview:
        part = self.data[self.at : self.at + size]
        if len(part) != size:
            raise CorruptFileError("a roaring bitmap is cut off")
        self.at += size
        return part

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def shorts(self, count: int) -> Positions:
        return np.frombuffer(self.take(2 * count), "<u2").astype(np.int64)


def _containers(reader: _Reader) -> Iterator[tuple[Positions, Words]]:
    """Yield the places and words of the containers of a bitmap."""
    cookie = reader.number(4)
    if cookie & 0xFFFF == _WITH_RUNS:
        size = (cookie >> 16) + 1
        flags = np.frombuffer(reader.take((size + 7) // 8), np.uint8)
        as_runs = np.unpackbits(flags, bitorder="little")[:size].tolist()
        has_offsets = size >= _OFFSETS_FROM
    elif cookie == _PLAIN:
        size = reader.number(4)
        as_runs, has_offsets = [0] * min(size, 1 << 16), True
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
    for chunk, count, is_run in zip(chunks.tolist(), counts.tolist(), as_runs, strict=True):
        yield _words(reader, chunk * _WORDS, count, is_run=bool(is_run))


def _words(reader: _Reader, first: int, count: int, *, is_run: bool) -> tuple[Positions, Words]:
    if is_run:
        found = PositionSet.from_positions(_run_numbers(reader))
    elif count > _MOST_NUMBERS:
        words = np.frombuffer(reader.take(8 * _WORDS), "<u8")
        found = PositionSet(np.arange(_WORDS), words)
    else:
        found = PositionSet.from_positions(reader.shorts(count))
    if found.count != count:
        raise CorruptFileError(f"a container of {count} positions has {found.count}")
    return found.places + first, found.words


def _run_numbers(reader: _Reader) -> Positions:
    pairs = reader.shorts(2 * reader.number(2)).reshape(-1, 2)
    begins, lengths = pairs[:, 0], pairs[:, 1] + 1
    ends = begins + lengths
    if np.any(ends > 1 << 16) or np.any(begins[1:] <= ends[:-1] - 1):
        raise CorruptFileError("runs of a roaring bitmap overlap")
    shift = begins - np.r_[0, np.cumsum(lengths)[:-1]]
    numbers: Positions = np.arange(int(lengths.sum())) + np.repeat(shift, lengths)
    return numbers
