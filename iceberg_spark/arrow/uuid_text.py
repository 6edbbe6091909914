"""UUIDs as 16 bytes and as text, whole columns at a time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.errors import InvalidInputError

_HEX = np.frombuffer(b"".join(b"%02x" % value for value in range(256)), dtype="S2")
_GROUP_ENDS = (4, 6, 8, 10, 16)  # bytes of a UUID before each dash, and its end
_NIBBLE = np.full(256, 255, dtype=np.uint8)
for _value, _digit in enumerate(b"0123456789abcdef"):
    _NIBBLE[_digit] = _value
for _value, _digit in enumerate(b"ABCDEF", start=10):
    _NIBBLE[_digit] = _value


def uuid_text(column: pa.Array) -> pa.Array:
    """Return the canonical text of 16-byte UUIDs, e.g. f79c3e09-677c-4bbd-a479-3f349cb785e7."""
    rows = len(column)
    filled = pc.fill_null(column, pa.scalar(bytes(16), pa.binary(16)))
    start = filled.offset * 16
    data = np.frombuffer(filled.buffers()[1], np.uint8)[start : start + rows * 16]
    data = data.reshape(rows, 16)
    parts, begin = [], 0
    for end in _GROUP_ENDS:
        parts.append(_HEX[data[:, begin:end]].view("S1").reshape(rows, 2 * (end - begin)))
        parts.append(np.full((rows, 1), b"-", dtype="S1"))
        begin = end
    text = np.ascontiguousarray(np.hstack(parts[:-1]))
    offsets = np.arange(0, 36 * rows + 1, 36, dtype=np.int32)
    shown = pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(text.tobytes()))
    return pc.if_else(column.is_valid(), shown, None) if column.null_count else shown


def uuid_bytes(column: pa.Array) -> pa.Array:
    """Return the 16 bytes of UUID text, with or without dashes.

    Raises InvalidInputError showing a value that is not a UUID.
    """
    digits = pc.replace_substring(column.cast(pa.string()), "-", "")
    filled = pc.fill_null(digits, "0" * 32)
    lengths = pc.binary_length(filled)
    bad = pc.not_equal(lengths, 32)
    if not pc.any(bad, min_count=0).as_py():
        start = _first_offset(filled)
        text = np.frombuffer(filled.buffers()[2] or b"", np.uint8)
        nibbles = _NIBBLE[text[start : start + 32 * len(filled)]].reshape(-1, 2)
        if not (nibbles == 255).any():
            packed = ((nibbles[:, 0] << 4) | nibbles[:, 1]).astype(np.uint8)
            buffers = [None, pa.py_buffer(packed.tobytes())]
            uuids = pa.Array.from_buffers(pa.binary(16), len(filled), buffers)
            return pc.if_else(column.is_valid(), uuids, None) if column.null_count else uuids
        bad = pa.array((nibbles.reshape(len(filled), 32) == 255).any(axis=1))
    value = column.filter(bad)[0].as_py()
    raise InvalidInputError(f"{value!r} is not a UUID; write it as 8-4-4-4-12 hexadecimal digits")


def _first_offset(column: pa.Array) -> int:
    return int(np.frombuffer(column.buffers()[1], np.int32)[column.offset]) if len(column) else 0
