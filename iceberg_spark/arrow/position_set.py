"""Positions of rows in a data file as a set: the content of position deletes and deletion vectors.

Words of 64 positions, without the words that are zero: 16 bytes per position at worst, two bits per
row of a range at best. Java: PositionDeleteIndex. Every operation is a pass over arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Positions: TypeAlias = npt.NDArray[np.int64]
Words: TypeAlias = npt.NDArray[np.uint64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_OBJECT_BYTES = 350  # of a set in addition to its words, about
_BITWISE_COUNT = getattr(np, "bitwise_count", None)  # from numpy 2 on
_SLICE = 1 << 16  # words whose bits are laid out at a time, 4 MiB
_FEW_BITS = 2  # of a word, on average: up to that many, bits are extracted one by one
_MANY = 8  # where more than one word in so many has the place of the one before, all are reduced


@dataclass(frozen=True, slots=True, eq=False)
class PositionSet:
    """Bit `p & 63` of the word whose place is `p >> 6` is set if position `p` is in the set.

    `places` ascend, and no word is zero: use the constructors. The arrays are immutable.
    """

    places: Positions
    words: Words

    @staticmethod
    def from_positions(positions: Positions) -> PositionSet:
        """Return a set of positions in any order, each as often as you like.

        Raises ValueError for a negative one.
        """
        if not len(positions):
            return NO_POSITIONS
        first, last = int(positions.min()), int(positions.max())
        if first < 0:
            raise ValueError(f"position {first} is negative")
        start, span = first >> 6, (last >> 6) - (first >> 6) + 1
        if span <= len(positions):
            bits = np.zeros(span << 6, np.bool_)
            bits[positions - (start << 6)] = True
            return _from_range(start, np.packbits(bits, bitorder="little").view("<u8"))
        is_sorted = np.all(positions[1:] >= positions[:-1])
        ordered = positions if is_sorted else np.sort(positions)
        bit = np.left_shift(np.uint64(1), (ordered & 63).astype(np.uint64))
        return _merged(ordered >> 6, bit)

    @staticmethod
    def from_parts(places: Positions, offsets: npt.NDArray[np.uint16]) -> PositionSet:
        """Return the set of ascending positions: `offsets` beyond the words at `places`."""
        if not len(places):
            return NO_POSITIONS
        start = int(places[0] + (offsets[0] >> 6))
        span = int(places[-1] + (offsets[-1] >> 6)) - start + 1
        if span <= len(places):
            bits = np.zeros(span << 6, np.bool_)
            bits[((places - start) << 6) + offsets] = True
            return _from_range(start, np.packbits(bits, bitorder="little").view("<u8"))
        bit = np.left_shift(np.uint64(1), (offsets & 63).astype(np.uint64))
        return _merged(places + (offsets >> 6), bit)

    @staticmethod
    def from_words(places: Positions, words: Words) -> PositionSet:
        """Return a set of words at ascending places; zero words are left out."""
        nonzero = words != 0
        return (
            PositionSet(places, words)
            if nonzero.all()
            else PositionSet(places[nonzero], words[nonzero])
        )

    @staticmethod
    def union(sets: Iterable[PositionSet]) -> PositionSet:
        """Return the positions of all sets."""
        parts = [part for part in sets if not part.is_empty]
        if len(parts) < 2:
            return parts[0] if parts else NO_POSITIONS
        start = min(int(part.places[0]) for part in parts)
        span = max(int(part.places[-1]) for part in parts) - start + 1
        if span <= 2 * sum(len(part.places) for part in parts):
            words = np.zeros(span, np.uint64)
            for part in parts:
                words[part.places - start] |= part.words
            return _from_range(start, words)
        places = np.concatenate([part.places for part in parts])
        order = np.argsort(places, kind="stable")
        return _merged(places[order], np.concatenate([part.words for part in parts])[order])

    def without(self, other: PositionSet) -> PositionSet:
        """Return the positions that are not in `other`."""
        if other.is_empty:
            return self
        indices = np.minimum(np.searchsorted(other.places, self.places), len(other.places) - 1)
        met = np.where(other.places[indices] == self.places, other.words[indices], np.uint64(0))
        return PositionSet.from_words(self.places, self.words & ~met)

    def below(self, end: int) -> PositionSet:
        """Return the positions less than `end`: a file has no rows beyond."""
        if self.is_empty or int(self.places[-1]) < end >> 6:
            return self
        stop = int(np.searchsorted(self.places, (end + 63) >> 6))
        words = self.words[:stop].copy()
        words[self.places[:stop] == end >> 6] &= np.uint64((1 << (end & 63)) - 1)
        return PositionSet.from_words(self.places[:stop], words)

    @property
    def is_empty(self) -> bool:
        """Whether there is no position."""
        return not len(self.places)

    @property
    def count(self) -> int:
        """The number of positions."""
        return int(bit_counts(self.words).sum())

    @property
    def size(self) -> int:
        """The bytes that it takes in memory, about."""
        return _OBJECT_BYTES + int(self.places.nbytes + self.words.nbytes)

    def positions(self) -> Positions:
        """Return the positions, ascending."""
        parts = [
            _positions(self.places[start : start + _SLICE], self.words[start : start + _SLICE])
            for start in range(0, len(self.places), _SLICE)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])

    def mask(self, start: int, length: int) -> Mask | None:
        """Return which of `length` positions from `start` on are in the set, None for none."""
        first, end = start >> 6, (start + length + 63) >> 6
        begin, stop = np.searchsorted(self.places, (first, end)).tolist()
        if begin == stop:
            return None
        words = np.zeros(end - first, "<u8")
        words[self.places[begin:stop] - first] = self.words[begin:stop]
        bits = np.unpackbits(words.view(np.uint8), bitorder="little").view(np.bool_)
        mask: Mask = bits[start & 63 : (start & 63) + length]
        return mask if mask.any() else None

    def range_words(self) -> npt.NDArray[np.int64]:
        """Return the words of all places up to the last one, signed as Spark has them."""
        words = np.zeros(0 if self.is_empty else int(self.places[-1]) + 1, np.uint64)
        words[self.places] = self.words
        return words.view(np.int64)


NO_POSITIONS = PositionSet(np.zeros(0, np.int64), np.zeros(0, np.uint64))


def bit_counts(words: Words) -> npt.NDArray[np.int64]:
    """Return the number of set bits of each word."""
    if _BITWISE_COUNT is not None:
        native: npt.NDArray[np.int64] = _BITWISE_COUNT(words).astype(np.int64)
        return native
    pairs = words - ((words >> 1) & 0x5555555555555555)
    fours = (pairs & 0x3333333333333333) + ((pairs >> 2) & 0x3333333333333333)
    eights = (fours + (fours >> 4)) & 0x0F0F0F0F0F0F0F0F
    counts: npt.NDArray[np.int64] = (eights * np.uint64(0x0101010101010101) >> 56).astype(np.int64)
    return counts


def _from_range(start: int, words: Words) -> PositionSet:
    """Return the set of the words of consecutive places from `start` on."""
    nonzero = np.flatnonzero(words)
    return PositionSet(nonzero + start, words[nonzero])


def _merged(places: Positions, words: Words) -> PositionSet:
    """Return the set of words whose places ascend and may be equal."""
    again = np.flatnonzero(places[1:] == places[:-1]) + 1
    if len(again) * _MANY > len(places):
        starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
        return PositionSet(places[starts], np.bitwise_or.reduceat(words, starts))
    if not len(again):
        return PositionSet(places, words)
    first = np.ones(len(places), np.bool_)
    first[again] = False
    joined = words[first]
    # The k-th word with a repeated place, from 0, follows k others that are left out as well.
    np.bitwise_or.at(joined, again - np.arange(1, len(again) + 1), words[again])
    return PositionSet(places[first], joined)


def _positions(places: Positions, words: Words) -> Positions:
    counts = bit_counts(words)
    total = int(counts.sum())
    if total <= _FEW_BITS * len(words):
        return _of_few_bits(places, words, np.cumsum(counts) - counts, total)
    bits = np.unpackbits(words.view(np.uint8), bitorder="little").view(np.bool_)
    set_bits = np.flatnonzero(bits)
    # The distance of a word from its index if no word were left out.
    shift = (places - np.arange(len(places))) << 6
    moved = shift[0] if shift[0] == shift[-1] else np.repeat(shift, counts)
    positions: Positions = set_bits + moved
    return positions


def _of_few_bits(places: Positions, words: Words, starts: Positions, total: int) -> Positions:
    """Return the positions of words with hardly more than a bit each, the lowest bits first.

    `starts` are the indices of each word's first position in the result.
    """
    positions = np.empty(total, np.int64)
    while len(words):
        lowest = words & (~words + np.uint64(1))
        # The number of bits below a bit is its index.
        positions[starts] = (places << 6) + bit_counts(lowest - np.uint64(1))
        rest = words ^ lowest
        more = np.flatnonzero(rest)
        places, words, starts = places[more], rest[more], starts[more] + 1
    return positions
