"""Unsigned integers of ORC streams: run length encodings version 1 and 2.

Source: ORC specification v1, "Run Length Encoding".
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from iceberg_spark.formats.orc_tail import tail_number

Longs: TypeAlias = npt.NDArray[np.int64]

_WIDTHS = (*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64)
"""Bits of a value by the code of a width."""
_SHORT_REPEAT, _DIRECT, _PATCHED_BASE = 0, 1, 2


def unsigned_integers(data: bytes, count: int, *, version: int) -> Longs:
    """Return the first integers of a decompressed stream. Raises ValueError if it is malformed."""
    decode = _run_v1 if version == 1 else _run_v2
    runs: list[Longs] = []
    position = decoded = 0
    try:
        while decoded < count:
            run, position = decode(data, position)
            runs.append(run)
            decoded += len(run)
    except IndexError:
        raise ValueError("an ORC stream ends inside a run of integers") from None
    return np.concatenate(runs)[:count] if runs else np.empty(0, np.int64)


def _run_v1(data: bytes, position: int) -> tuple[Longs, int]:
    control = data[position]
    if control < 128:  # values that differ by a constant
        delta = (data[position + 1] ^ 128) - 128
        base, position = _varint(data, position + 2)
        return base + delta * np.arange(control + 3, dtype=np.int64), position
    values = []
    position += 1
    for _ in range(256 - control):
        value, position = _varint(data, position)
        values.append(value)
    return np.array(values, np.int64), position


def _run_v2(data: bytes, position: int) -> tuple[Longs, int]:
    first = data[position]
    kind = first >> 6
    if kind == _SHORT_REPEAT:
        end = position + 2 + (first >> 3 & 7)
        value = int.from_bytes(_part(data, position + 1, end), "big")
        return np.full((first & 7) + 3, value, np.int64), end
    length = ((first & 1) << 8 | data[position + 1]) + 1
    width, position = first >> 1 & 31, position + 2
    if kind == _DIRECT:
        return _packed(data, position, length, _WIDTHS[width])
    if kind == _PATCHED_BASE:
        return _patched(data, position, length, _WIDTHS[width])
    return _deltas(data, position, length, _WIDTHS[width] if width else 0)


def _patched(data: bytes, position: int, length: int, width: int) -> tuple[Longs, int]:
    """Decode values above a base of which a few have more bits than `width`: these are patched."""
    third, fourth = data[position], data[position + 1]
    base_bytes, patch_width = (third >> 5) + 1, _WIDTHS[third & 31]
    gap_width, patch_count = (fourth >> 5) + 1, fourth & 31
    position += 2
    base = int.from_bytes(_part(data, position, position + base_bytes), "big")
    sign = 1 << (8 * base_bytes - 1)
    base = sign - base if base & sign else base
    values, position = _packed(data, position + base_bytes, length, width)
    entry_width = next(bits for bits in _WIDTHS if bits >= gap_width + patch_width)
    patches, position = _packed(data, position, patch_count, entry_width)
    row = 0
    for patch in patches.tolist():
        row += patch >> patch_width
        values[row] |= (patch & ((1 << patch_width) - 1)) << width
    return values + base, position


def _deltas(data: bytes, position: int, length: int, width: int) -> tuple[Longs, int]:
    """Decode a base, a signed difference, and the absolute values of those that follow."""
    base, position = _varint(data, position)
    first, position = tail_number(data, position)
    first = (first >> 1) ^ -(first & 1)
    if not width:
        return base + first * np.arange(length, dtype=np.int64), position
    others, position = _packed(data, position, length - 2, width)
    steps = np.concatenate(([base, first], others if first >= 0 else -others))
    return np.cumsum(steps.astype(np.int64)), position


def _packed(data: bytes, position: int, count: int, width: int) -> tuple[Longs, int]:
    """Decode big-endian numbers of `width` bits each, which end at a whole byte."""
    end = position + (count * width + 7) // 8
    bits = np.unpackbits(np.frombuffer(_part(data, position, end), np.uint8), count=count * width)
    weights = np.left_shift(np.int64(1), np.arange(width - 1, -1, -1, dtype=np.int64))
    return bits.reshape(count, width).astype(np.int64) @ weights, end


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """Return a number as 64 bits with a sign: Arrow writes negative nanoseconds before 1970."""
    value, position = tail_number(data, position)
    return ((value + 2**63) % 2**64) - 2**63, position


def _part(data: bytes, start: int, end: int) -> bytes:
    if end > len(data):
        raise IndexError
    return data[start:end]
