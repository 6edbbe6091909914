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
from iceberg_spark.arrow.variant.encode import NULL, array_of, encoded, object_of
from iceberg_spark.arrow.variant_layout import METADATA, TYPED, VALUE, VARIANT
from iceberg_spark.errors import CorruptFileError

Values = list[bytes | None]
"""Encoded values of rows; None where there is none."""


def reassembled(array: pa.StructArray) -> pa.StructArray:
    """Return a shredded column as one of metadata and value, null where it is null.

    Raises CorruptFileError for columns that shredding can't have made.
    """
    parts = _parts(array)
    metadata = plain(parts[METADATA]).cast(pa.binary())
    rows = _Rows.of(metadata)
    values = rows.values(parts)
    made = [NULL if value is None else value for value in values]
    whole = pa.array(made, pa.binary())
    filled = pc.fill_null(metadata, b"") if metadata.null_count else metadata
    return struct_of(len(array), [filled, whole], VARIANT, array)


def _parts(array: pa.StructArray) -> dict[str, pa.Array]:
    names = [one.name for one in array.type]
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
        return _Dictionary(keys, {key: place for place, key in enumerate(keys)})

    def place(self, key: str) -> int:
        found = self.places.get(key)
        if found is None:
            raise CorruptFileError(f"A shredded variant has a field '{key}' its metadata lacks")
        return found


@dataclass(frozen=True, slots=True)
class _Rows:
    """Which metadata each row has; few are different."""

    kinds: Sequence[int | None]
    texts: Sequence[bytes]
    known: dict[int, _Dictionary] = field(default_factory=dict)

    @staticmethod
    def of(metadata: pa.Array) -> _Rows:
        coded = metadata.dictionary_encode()
        return _Rows(coded.indices.to_pylist(), coded.dictionary.to_pylist())

    def dictionary(self, row: int) -> _Dictionary:
        kind = self.kinds[row]
        if kind is None:
            raise CorruptFileError("A shredded variant has no metadata")
        if kind not in self.known:
            self.known[kind] = _Dictionary.of(self.texts[kind])
        return self.known[kind]

    def taken(self, rows: Sequence[int]) -> _Rows:
        return _Rows([self.kinds[row] for row in rows], self.texts, self.known)

    def values(self, parts: Mapping[str, pa.Array]) -> Values:
        """Return the values of a pair of columns: what is typed, else what is not."""
        rest = plain(parts[VALUE]).to_pylist() if VALUE in parts else None
        if TYPED not in parts:
            return rest or []
        typed = parts[TYPED]
        if pt.is_struct(typed.type):
            return self._objects(typed, rest)
        made = self._arrays(typed) if is_list(typed.type) else encoded(typed).to_pylist()
        if rest is None:
            return made
        return [one if value is None else value for value, one in zip(made, rest, strict=True)]

    def _objects(self, typed: pa.StructArray, rest: Values | None) -> Values:
        names = [one.name for one in typed.type]
        if not all(pt.is_struct(one.type) for one in typed.type):
            raise CorruptFileError(f"A shredded variant has fields of {typed.type}")
        columns = [self.values(_parts(child)) for child in struct_children(typed)]
        there = typed.is_valid().to_pylist()
        made: Values = []
        for row, is_there in enumerate(there):
            own = None if rest is None else rest[row]
            if not is_there:
                made.append(own)
                continue
            pairs = [
                (name, column[row])
                for name, column in zip(names, columns, strict=True)
                if column[row] is not None
            ]
            made.append(self._object(row, pairs, own))
        return made

    def _object(self, row: int, pairs: list[tuple[str, bytes | None]], own: bytes | None) -> bytes:
        known = self.dictionary(row)
        found = {name: value for name, value in pairs if value is not None}
        if own is not None and own != NULL:
            if not is_object(own):
                raise CorruptFileError("A shredded variant is an object and something else at once")
            for place, value in fields_of(own):
                found.setdefault(key_at(known.keys, place), value)
        names = sorted(found, key=str.encode)
        return object_of([known.place(name) for name in names], [found[name] for name in names])

    def _arrays(self, typed: pa.Array) -> Values:
        kind = typed.type
        if not pt.is_struct(kind.value_type):
            raise CorruptFileError(f"A shredded variant has items of {kind.value_type}")
        parents = pc.list_parent_indices(typed).to_pylist()
        items = self.taken(parents).values(_parts(typed.flatten()))
        there = typed.is_valid().to_pylist()
        lengths = pc.fill_null(pc.list_value_length(typed), 0).to_pylist()
        made: Values = []
        at = 0
        for is_there, length in zip(there, lengths, strict=True):
            part = items[at : at + length]
            at += length
            made.append(
                array_of([NULL if one is None else one for one in part]) if is_there else None
            )
        return made
