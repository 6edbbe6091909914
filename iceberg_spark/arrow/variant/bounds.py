"""Bounds of a variant column: an object of values by the paths of fields, and its encoding.

Source: specification, "Bounds for Variant"; Java's ParquetMetrics and PathUtil.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, auto
from itertools import accumulate
from typing import Any, TypeAlias

from iceberg_spark.arrow.variant.decode import field_at, keys_of, length_of_metadata
from iceberg_spark.arrow.variant.encode import object_of
from iceberg_spark.spec.values import is_nan

Keys: TypeAlias = tuple[str, ...]
"""How a field is reached from a variant's root: the keys of objects within objects."""


class ValueKind(Enum):
    """The kind of a field's values: variant types that are compared with each other."""

    FLAG = auto()
    INTEGER = auto()
    DECIMAL = auto()
    FLOAT = auto()
    DOUBLE = auto()
    DATE = auto()
    INSTANT = auto()
    WALL_CLOCK = auto()
    TEXT = auto()


@dataclass(frozen=True, slots=True)
class FieldBound:
    """A bound of a field: canonical, days of dates and microseconds of timestamps."""

    kind: ValueKind
    value: Any


_SHORT_TEXT, _TEXT, _TRUE, _FALSE = 1, 16, 1, 2
_UNPACKED: Mapping[int, tuple[ValueKind, struct.Struct]] = {
    3: (ValueKind.INTEGER, struct.Struct("<b")),
    4: (ValueKind.INTEGER, struct.Struct("<h")),
    5: (ValueKind.INTEGER, struct.Struct("<i")),
    6: (ValueKind.INTEGER, struct.Struct("<q")),
    7: (ValueKind.DOUBLE, struct.Struct("<d")),
    11: (ValueKind.DATE, struct.Struct("<i")),
    12: (ValueKind.INSTANT, struct.Struct("<q")),
    13: (ValueKind.WALL_CLOCK, struct.Struct("<q")),
    14: (ValueKind.FLOAT, struct.Struct("<f")),
}
"""Values of one width, by the numbers of their types."""
_DECIMAL_BYTES = {8: 4, 9: 8, 10: 16}
_MOST_SCALE = 38
_STEP = re.compile(r"\['((?:[^'\\]|\\.)*)'\]", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))", re.DOTALL)
_MEANING = {"b": "\b", "t": "\t", "f": "\f", "n": "\n", "r": "\r", "'": "'", "\\": "\\"}
_SPELLED = {meaning: f"\\{sign}" for sign, meaning in _MEANING.items()}
_ESCAPED = re.compile(r"[\x00-\x1f'\\]")
_SORTED_VERSION_1 = 0x11


@dataclass(slots=True)
class BoundsReader:
    """Reads bounds of many files, which mostly name the same fields: by the same metadata."""

    _last: bytes = b""
    _indices_by_metadata: dict[bytes, Mapping[Keys, int]] = field(default_factory=dict)

    def bound(self, data: bytes, keys: Keys) -> FieldBound | None:
        """Return a field's bound, None if there is no readable one.

        Raises CorruptFileError for bytes that are not metadata followed by an object.
        """
        if not self._last or not data.startswith(self._last):
            self._last = data[: length_of_metadata(data)]
        key_indices = self._indices_by_metadata.get(self._last)
        if key_indices is None:
            key_indices = self._indices_by_metadata[self._last] = _key_indices(keys_of(self._last))
        key_index = key_indices.get(keys)
        value = None if key_index is None else field_at(data[len(self._last) :], key_index)
        return None if value is None else _read(value)


def _key_indices(paths: Sequence[str]) -> Mapping[Keys, int]:
    """Return the indices of fields by their keys, without ambiguous keys."""
    read = [keys_of_path(path) for path in paths]
    counts = Counter(read)
    return {
        keys: index for index, keys in enumerate(read) if keys is not None and counts[keys] == 1
    }


def keys_of_path(path: str) -> Keys | None:
    """Return the keys of a normalized JSON path, such as `$['a']['b']`; None for other paths.

    A path with an array index returns None.
    """
    if not path.startswith("$"):
        return None
    keys, offset = [], 1
    while offset < len(path):
        step = _STEP.match(path, offset)
        if step is None:
            return None
        key = _ESCAPE.sub(_unescaped, step.group(1))
        keys.append(key)
        offset = step.end()
    return tuple(keys)


def _unescaped(match: re.Match[str]) -> str:
    digits, sign = match.groups()
    return chr(int(digits, 16)) if digits else _MEANING.get(sign, match.group())


def path_of_keys(keys: Sequence[str]) -> str:
    """Return the normalized JSON path of a field (RFC 9535, section 2.7)."""
    return "$" + "".join(f"['{_ESCAPED.sub(_escaped, key)}']" for key in keys)


def _escaped(match: re.Match[str]) -> str:
    sign = match.group()
    return _SPELLED.get(sign) or f"\\u{ord(sign):04x}"


def _read(value: bytes) -> FieldBound | None:
    """Return an encoded value; None for types without bounds that are used, and broken ones."""
    if not value:
        return None
    basic, more = value[0] & 3, value[0] >> 2
    if basic == _SHORT_TEXT:
        return _text(value[1:], more)
    if basic:
        return None
    if more in (_TRUE, _FALSE):
        return FieldBound(ValueKind.FLAG, more == _TRUE) if len(value) == 1 else None
    if more == _TEXT and len(value) >= 5:
        return _text(value[5:], int.from_bytes(value[1:5], "little"))
    if more in _DECIMAL_BYTES:
        return _decimal(value, _DECIMAL_BYTES[more])
    if more not in _UNPACKED:
        return None
    kind, form = _UNPACKED[more]
    if len(value) != 1 + form.size:
        return None
    (number,) = form.unpack_from(value, 1)
    return None if is_nan(number) else FieldBound(kind, number)  # which bounds nothing


def _text(data: bytes, length: int) -> FieldBound | None:
    if len(data) != length:
        return None
    try:
        return FieldBound(ValueKind.TEXT, data.decode())
    except UnicodeDecodeError:
        return None


def _decimal(value: bytes, width: int) -> FieldBound | None:
    if len(value) != 2 + width or value[1] > _MOST_SCALE:
        return None
    unscaled = int.from_bytes(value[2:], "little", signed=True)
    return FieldBound(ValueKind.DECIMAL, Decimal(f"{unscaled}E-{value[1]}"))


def encoded_bounds(
    lower: Mapping[Keys, bytes], upper: Mapping[Keys, bytes]
) -> tuple[bytes, bytes] | None:
    """Return encoded values by field as the two bounds of a column; None if there are none.

    Both bounds name all fields, like Java's.
    """
    paths = sorted({path_of_keys(keys) for keys in (*lower, *upper)}, key=_utf16)
    if not paths:
        return None
    metadata = _metadata([path.encode() for path in paths])
    places = {path: index for index, path in enumerate(paths)}

    def encoded(values: Mapping[Keys, bytes]) -> bytes:
        entries = sorted((places[path_of_keys(keys)], value) for keys, value in values.items())
        return metadata + object_of(
            [index for index, _ in entries], [value for _, value in entries]
        )

    return encoded(lower), encoded(upper)


def _utf16(text: str) -> bytes:
    """Return the sort key of Java's order of texts."""
    return text.encode("utf-16-be")


def _metadata(keys: Sequence[bytes]) -> bytes:
    ends = list(accumulate(map(len, keys), initial=0))
    width = next(w for w in (1, 2, 3, 4) if max(ends[-1], len(keys)) < 1 << 8 * w)
    head = _SORTED_VERSION_1 | (width - 1) << 6
    numbers = b"".join(number.to_bytes(width, "little") for number in (len(keys), *ends))
    return bytes((head,)) + numbers + b"".join(keys)
