"""Shredded variants put together again (Parquet's "Variant Shredding").

Columns of values are encoded as columns; objects and arrays are put together row by row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import plain, struct_children, struct_of
from iceberg_spark.arrow.schema import is_list
from iceberg_spark.arrow.variant.decode import fields_of, is_object, key_at, keys_of
from iceberg_spark.arrow.variant.encode import NULL, array_of, encode, object_of
from iceberg_spark.arrow.variant_layout import METADATA, TYPED, VALUE, VARIANT
from iceberg_spark.errors import CorruptFileError

Values = list[bytes | None]
"""Encoded values of rows; None for a missing one."""


def reassemble(array: pa.StructArray) -> pa.StructArray:
    """Return a shredded column as metadata and value, null where it is null.

    Raises CorruptFileError for columns that are not a result of shredding.
    """
    parts = _parts(array)
    metadata = plain(parts[METADATA]).cast(pa.binary())
    rows = _Rows.of(metadata)
    values = rows.values(parts)
    encoded_values = [NULL if value is None else value for value in values]
    joined = pa.array(encoded_values, pa.binary())
    filled = pc.fill_null(metadata, b"") if metadata.null_count else metadata
    return struct_of(len(array), [filled, joined], VARIANT, array)


def _parts(array: pa.StructArray) -> dict[str, pa.Array]:
    names = [field.name for field in array.type]
    # flatten would copy: nulls of the struct itself don't matter, its slots are masked later
    return dict(zip(names, struct_children(array), strict=True))


@dataclass(frozen=True, slots=True)
class _Dictionary:
    """The places of keys in one variant's metadata."""

    keys: Sequence[str]
    places: Mapping[str, int]

    @staticmethod
    def of(metadata: bytes) -> _Dictionary:
        keys = keys_of(metadata)
        return _Dictionary(keys, {key: index for index, key in enumerate(keys)})

    def key_index(self, key: str) -> int:
        index = self.places.get(key)
        if index is None:
            raise CorruptFileError(f"A shredded variant has a field '{key}' its metadata lacks")
        return index


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which metadata each row has; few are different."""

    kinds: Sequence[int | None]
    texts: Sequence[bytes]
    dictionaries: dict[int, _Dictionary] = field(default_factory=dict)

    @staticmethod
    def of(metadata: pa.Array) -> _Rows:
        coded = metadata.dictionary_encode()
        return _Rows(coded.indices.to_pylist(), coded.dictionary.to_pylist())

    def dictionary(self, row: int) -> _Dictionary:
        kind = self.kinds[row]
        if kind is None:
            raise CorruptFileError("A shredded variant has no metadata")
        if kind not in self.dictionaries:
            self.dictionaries[kind] = _Dictionary.of(self.texts[kind])
        return self.dictionaries[kind]

    def taken(self, rows: Sequence[int]) -> _Rows:
        return _Rows([self.kinds[row] for row in rows], self.texts, self.dictionaries)

    def values(self, parts: Mapping[str, pa.Array]) -> Values:
        """Return the values of a pair of columns: the typed one, else the untyped one."""
        rest = plain(parts[VALUE]).to_pylist() if VALUE in parts else None
        if TYPED not in parts:
            return rest or []
        typed = parts[TYPED]
        if pt.is_struct(typed.type):
            return self._objects(typed, rest)
        typed_values = self._arrays(typed) if is_list(typed.type) else encode(typed).to_pylist()
        if rest is None:
            return typed_values
        return [
            other if value is None else value
            for value, other in zip(typed_values, rest, strict=True)
        ]

    def _objects(self, typed: pa.StructArray, rest: Values | None) -> Values:
        names = [field.name for field in typed.type]
        if not all(pt.is_struct(field.type) for field in typed.type):
            raise CorruptFileError(f"A shredded variant has fields of {typed.type}")
        columns = [self.values(_parts(child)) for child in struct_children(typed)]
        there = typed.is_valid().to_pylist()
        objects: Values = []
        for row, is_there in enumerate(there):
            own = None if rest is None else rest[row]
            if not is_there:
                objects.append(own)
                continue
            pairs = [
                (name, column[row])
                for name, column in zip(names, columns, strict=True)
                if column[row] is not None
            ]
            objects.append(self._object(row, pairs, own))
        return objects

    def _object(self, row: int, pairs: list[tuple[str, bytes | None]], own: bytes | None) -> bytes:
        dictionary = self.dictionary(row)
        members = {name: value for name, value in pairs if value is not None}
        if own is not None and own != NULL:
            if not is_object(own):
                raise CorruptFileError("A shredded variant is an object and something else at once")
            for key_index, value in fields_of(own):
                members.setdefault(key_at(dictionary.keys, key_index), value)
        names = sorted(members, key=str.encode)
        return object_of(
            [dictionary.key_index(name) for name in names], [members[name] for name in names]
        )

    def _arrays(self, typed: pa.Array) -> Values:
        kind = typed.type
        if not pt.is_struct(kind.value_type):
            raise CorruptFileError(f"A shredded variant has items of {kind.value_type}")
        parents = pc.list_parent_indices(typed).to_pylist()
        items = self.taken(parents).values(_parts(typed.flatten()))
        there = typed.is_valid().to_pylist()
        lengths = pc.fill_null(pc.list_value_length(typed), 0).to_pylist()
        arrays: Values = []
        offset = 0
        for is_there, length in zip(there, lengths, strict=True):
            part = items[offset : offset + length]
            offset += length
            arrays.append(
                array_of([NULL if item is None else item for item in part]) if is_there else None
            )
        return arrays
