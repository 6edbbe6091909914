"""Shred variants: move fields of objects into typed columns (Parquet's "Variant Shredding").

Only fields of the top-level object, like Java. The first rows of a file decide which; a value of
another type than its column's remains encoded, next to the typed column.
"""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from iceberg_spark.arrow.arrays import struct_children, struct_of
from iceberg_spark.arrow.variant.decode import fields_of, is_object, key_at, keys_of
from iceberg_spark.arrow.variant.encode import NULL, object_of
from iceberg_spark.arrow.variant_layout import METADATA, TYPED, VALUE
from iceberg_spark.errors import CorruptFileError

_LEAST_SHARE = 0.1
_MOST_FIELDS = 100
_UNFIT = object()
_LONG = pa.int64()
_WIDTHS = {3: 1, 4: 2, 5: 4, 6: 8}
_CODES = {7: "<d", 11: "<i", 12: "<q", 13: "<q", 14: "<f"}
"""How values of one width are unpacked, by the numbers of their types."""
_KINDS: Mapping[int, pa.DataType] = {
    1: pa.bool_(),
    6: _LONG,
    7: pa.float64(),
    11: pa.date32(),
    12: pa.timestamp("us", "UTC"),
    13: pa.timestamp("us"),
    14: pa.float32(),
    16: pa.string(),
}
_SHORT_TEXT = 1


@dataclass(frozen=True, slots=True)
class ShredPlan:
    """The keys that have a column of their own, and the number of its type among variants'."""

    types: Mapping[str, int]

    @property
    def kind(self) -> pa.DataType:
        """The type of the shredded column."""
        fields = [
            pa.field(key, _pair(_KINDS[number]), nullable=False)
            for key, number in self.types.items()
        ]
        return pa.struct(
            [
                pa.field(METADATA, pa.binary(), nullable=False),
                pa.field(VALUE, pa.binary()),
                pa.field(TYPED, pa.struct(fields)),
            ]
        )


def _pair(kind: pa.DataType) -> pa.StructType:
    return pa.struct([pa.field(VALUE, pa.binary()), pa.field(TYPED, kind)])


def shred_plan(rows: pa.StructArray) -> ShredPlan | None:
    """Return the fields of one type that at least a tenth of the rows have, or None."""
    seen: defaultdict[str, Counter[int]] = defaultdict(Counter)
    dictionaries = _Keys({})
    objects = 0
    for row in rows.drop_null().to_pylist():
        if is_object(row[VALUE]):
            objects += 1
            keys = dictionaries.of(row[METADATA])
            for key_index, value in fields_of(row[VALUE]):
                if value != NULL:
                    seen[key_at(keys, key_index)][_type_number(value)] += 1
    chosen = {
        key: next(iter(counts))
        for key, counts in seen.items()
        if len(counts) == 1
        and next(iter(counts)) in _KINDS
        and sum(counts.values()) >= _LEAST_SHARE * objects
    }
    return ShredPlan(dict(sorted(chosen.items())[:_MOST_FIELDS])) if chosen else None


@dataclass(frozen=True, slots=True)
class _Keys:
    """Keys of metadata, each decoded once."""

    by_metadata: dict[bytes, list[str]]

    def of(self, metadata: bytes) -> list[str]:
        names = self.by_metadata.get(metadata)
        if names is None:
            names = self.by_metadata[metadata] = keys_of(metadata)
        return names


def shred_column(array: pa.StructArray, plan: ShredPlan) -> pa.StructArray:
    """Return a column of `VARIANT` with the plan's type; the values are the same."""
    parts = _Parts(plan, _Keys({}))
    for row in array.to_pylist():
        parts.add(row)
    metadata = struct_children(array)[0]
    kind = plan.kind
    typed_kind = kind.field(TYPED).type
    columns = [
        _column(_KINDS[number], parts.rest[key], parts.typed[key])
        for key, number in plan.types.items()
    ]
    mask = pa.array([True if present else None for present in parts.objects], pa.bool_())
    typed = struct_of(len(array), columns, typed_kind, mask)
    value = pa.array(parts.values, pa.binary())
    return struct_of(len(array), [metadata, value, typed], kind, array)


def _column(kind: pa.DataType, rest: list[Any], typed: list[Any]) -> pa.StructArray:
    gathered = _LONG if pa.types.is_timestamp(kind) else pa.int32() if kind == pa.date32() else kind
    typed_values = (
        pa.array(typed, gathered).cast(kind) if gathered != kind else pa.array(typed, kind)
    )
    return struct_of(len(typed_values), [pa.array(rest, pa.binary()), typed_values], _pair(kind))


class _Parts:
    """The shredded parts of rows, added row by row."""

    __slots__ = ("_dictionaries", "_plan", "objects", "rest", "typed", "values")

    def __init__(self, plan: ShredPlan, dictionaries: _Keys) -> None:
        self._plan = plan
        self._dictionaries = dictionaries
        self.values: list[bytes | None] = []
        self.objects: list[bool] = []
        self.rest: dict[str, list[Any]] = {key: [] for key in plan.types}
        self.typed: dict[str, list[Any]] = {key: [] for key in plan.types}

    def add(self, row: Mapping[str, bytes] | None) -> None:
        """Shred a row."""
        if row is None or not is_object(row[VALUE]):
            self.values.append(None if row is None else row[VALUE])
            self.objects.append(False)
            self._fill({}, {})
            return
        keys = self._dictionaries.of(row[METADATA])
        others: list[tuple[int, bytes]] = []
        rest: dict[str, bytes] = {}
        typed: dict[str, Any] = {}
        for key_index, value in fields_of(row[VALUE]):
            key = key_at(keys, key_index)
            number = self._plan.types.get(key)
            if number is None:
                others.append((key_index, value))
                continue
            decoded = _decoded(value, number)
            (rest if decoded is _UNFIT else typed)[key] = value if decoded is _UNFIT else decoded
        self.objects.append(True)
        ids = [key_index for key_index, _ in others]
        self.values.append(object_of(ids, [value for _, value in others]) if others else None)
        self._fill(rest, typed)

    def _fill(self, rest: Mapping[str, bytes], typed: Mapping[str, Any]) -> None:
        for key in self._plan.types:
            self.rest[key].append(rest.get(key))
            self.typed[key].append(typed.get(key))


def _type_number(value: bytes) -> int:
    """Return the type of a value: whole numbers of any width are one, and so are texts."""
    if not value:
        raise CorruptFileError("A variant's field has no value")
    basic, more = value[0] & 3, value[0] >> 2
    if basic == _SHORT_TEXT:
        return 16
    if basic:
        return -basic
    if more in _WIDTHS:
        return 6
    return 1 if more == 2 else more


def _decoded(value: bytes, number: int) -> Any:
    """Return a value of the type in the form that Arrow accepts, `_UNFIT` for another type.

    `_UNFIT` also stands for a value with more or fewer bytes than its header declares: it must not
    become another value.
    """
    if _type_number(value) != number or len(value) != _length(value, number):
        return _UNFIT
    return _DECODERS[number](value)


def _length(value: bytes, number: int) -> int:
    """Return how many bytes a value takes that begins like this."""
    more = value[0] >> 2
    match number:
        case 1:
            return 1
        case 6:
            return 1 + _WIDTHS[more]
        case 16 if value[0] & 3 == _SHORT_TEXT:
            return 1 + more
        case 16:
            return 5 + int.from_bytes(value[1:5], "little")
        case _:
            return 1 + struct.calcsize(_CODES[number])


def _text(value: bytes) -> Any:
    data = value[1:] if value[0] & 3 else value[5:]
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _UNFIT


def _unpacked(code: str) -> Callable[[bytes], Any]:
    packed = struct.Struct(code)
    return lambda value: packed.unpack_from(value, 1)[0]


_DECODERS: Mapping[int, Callable[[bytes], Any]] = {
    1: lambda value: value[0] >> 2 == 1,
    6: lambda value: int.from_bytes(value[1:], "little", signed=True),
    16: _text,
    **{number: _unpacked(code) for number, code in _CODES.items()},
}
