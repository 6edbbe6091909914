"""Theta sketches of distinct values, as in Apache DataSketches, on columns.

A sketch holds the least hashes of its values (at most 4,096); their spread estimates the number of
distinct values. Sketches of Java can be merged: the hash is MurmurHash3 (x64, 128 bits, seed
9001) of a value's bytes (specification: "Appendix D: Single-value serialization"; Puffin's
`apache-datasketches-theta-v1`). Source of the binary form: DataSketches' CompactSketch.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from iceberg_spark.arrow.arrays import distinct

Hashes: TypeAlias = npt.NDArray[np.uint64]
Bytes: TypeAlias = npt.NDArray[np.uint8]

NOMINAL = 4_096
"""How many hashes a sketch keeps: a standard error of 1.6 % (Java's default)."""

_SEED = 9001
_SEED_HASH = 0x93CC
_LARGEST = (1 << 63) - 1
_EMPTY, _SINGLE, _PLAIN = 0x1E, 0x3A, 0x1A  # flags: read only, compact, ordered, ...
_VERSION, _FAMILY = 3, 3
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)


@dataclass(frozen=True, slots=True, eq=False)
class ThetaSketch:
    """The least hashes seen, sorted, all below `theta`: 2^63 - 1 where none was left out."""

    hashes: Hashes
    theta: int = _LARGEST

    @property
    def estimate(self) -> float:
        """How many distinct values there were, about."""
        return float(len(self.hashes)) * (float(1 << 63) / self.theta)

    def with_hashes(self, hashes: Hashes) -> ThetaSketch:
        """Return the sketch after some more values."""
        some = hashes[hashes < np.uint64(self.theta)]
        if not len(some):
            return self
        return _least(distinct(np.concatenate((self.hashes, some))), self.theta)

    @classmethod
    def union(cls, sketches: Iterable[ThetaSketch]) -> ThetaSketch:
        """Return the sketch of the values of all sketches."""
        every = tuple(sketches)
        theta = min((sketch.theta for sketch in every), default=_LARGEST)
        held = [sketch.hashes for sketch in every]
        hashes = np.concatenate(held) if held else np.zeros(0, np.uint64)
        return _least(distinct(hashes[hashes < np.uint64(theta)]), theta)

    def to_bytes(self) -> bytes:
        """Return the compact, ordered form, byte for byte as Java writes it."""
        count = len(self.hashes)
        if not count and self.theta == _LARGEST:
            return bytes((1, _VERSION, _FAMILY, 0, 0, _EMPTY, 0, 0))
        body = self.hashes.astype("<u8").tobytes()
        if count == 1 and self.theta == _LARGEST:
            return struct.pack("<6BH", 1, _VERSION, _FAMILY, 0, 0, _SINGLE, _SEED_HASH) + body
        longs = 2 if self.theta == _LARGEST else 3
        head = struct.pack("<6BH", longs, _VERSION, _FAMILY, 0, 0, _PLAIN, _SEED_HASH)
        head += struct.pack("<If", count, 1.0)
        return head + (b"" if longs == 2 else struct.pack("<Q", self.theta)) + body


NOTHING = ThetaSketch(np.zeros(0, np.uint64))
"""The sketch of no value."""


def _least(hashes: Hashes, theta: int) -> ThetaSketch:
    """Return a sketch of the least of sorted hashes; theta is the first hash left out."""
    if len(hashes) <= NOMINAL:
        return ThetaSketch(hashes, theta)
    return ThetaSketch(hashes[:NOMINAL].copy(), int(hashes[NOMINAL]))


def hashes_of(values: Bytes) -> Hashes:
    """Return the hashes of values of equal length, one per row."""
    rows, length = values.shape
    blocks, rest = divmod(length, 16)
    words = np.ascontiguousarray(values[:, : blocks * 16]).view("<u8").astype(np.uint64, copy=False)
    h1 = np.full(rows, _SEED, np.uint64)
    h2 = h1.copy()
    with np.errstate(over="ignore"):
        for block in range(blocks):
            h1 ^= _mixed_first(words[:, 2 * block])
            h1 = _rotated(h1, 27) + h2
            h1 = h1 * np.uint64(5) + np.uint64(0x52DCE729)
            h2 ^= _mixed_second(words[:, 2 * block + 1])
            h2 = _rotated(h2, 31) + h1
            h2 = h2 * np.uint64(5) + np.uint64(0x38495AB5)
        if rest > 8:
            h2 ^= _mixed_second(_word(values[:, blocks * 16 + 8 :]))
        if rest:
            h1 ^= _mixed_first(_word(values[:, blocks * 16 : blocks * 16 + 8]))
        return _finished(h1, h2, length) >> np.uint64(1)


def _finished(h1: Hashes, h2: Hashes, length: int) -> Hashes:
    h1 = h1 ^ np.uint64(length)
    h2 = h2 ^ np.uint64(length)
    h1 = h1 + h2
    h2 = h2 + h1
    return _avalanche(h1) + _avalanche(h2)


def _word(values: Bytes) -> Hashes:
    """Return up to eight bytes as a little-endian number."""
    if values.shape[1] == 8:
        numbers: Hashes = np.ascontiguousarray(values).view("<u8")[:, 0]
        return numbers
    padded = np.zeros((len(values), 8), np.uint8)
    padded[:, : values.shape[1]] = values
    return padded.view("<u8")[:, 0]


def _mixed_first(word: Hashes) -> Hashes:
    return _rotated(word * _C1, 31) * _C2


def _mixed_second(word: Hashes) -> Hashes:
    return _rotated(word * _C2, 33) * _C1


def _rotated(word: Hashes, bits: int) -> Hashes:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


def _avalanche(word: Hashes) -> Hashes:
    word = word ^ (word >> np.uint64(33))
    word = word * np.uint64(0xFF51AFD7ED558CCD)
    word = word ^ (word >> np.uint64(33))
    word = word * np.uint64(0xC4CEB9FE1A85EC53)
    return word ^ (word >> np.uint64(33))
