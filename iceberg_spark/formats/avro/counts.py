"""Check the numbers that an Avro block claims before a decoder relies on them.

Decoders allocate memory for as many records as a block claims. Most records take a byte per
column, so the block's size limits their number; values that take no bytes are counted here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.avro.container import AvroContainer, Blocks, decompress_blocks, read_long
from iceberg_spark.formats.avro.types import AvroField, AvroType, least_bytes
from iceberg_spark.io.limits import MAX_EMPTY_RECORDS, too_many_bytes

JAVA_KEY = "iceberg.schema"
"""A key that Java's writer gives each of its Avro files."""
_SIZES = {"float": 4, "double": 8, "boolean": 1}


def check_counts(
    fields: Iterable[AvroField], rows: int, blocks: Blocks, container: AvroContainer
) -> None:
    """Raise CorruptFileError, naming the file, if decompressed blocks can't contain the rows."""
    types = [field.type for field in fields]
    size = sum(map(len, blocks))
    least = check_bytes(types, rows, size, container.location)
    if not least and rows > container.limits.empty_records:
        raise _too_many(container)
    fixed = sum(map(_fixed_bytes, types))
    allowed = container.limits.bytes_for(size)
    if rows * fixed > allowed:
        raise too_many_bytes(container.location, allowed)
    if any(map(_has_empty_items, types)):
        _Walk(blocks, container).rows(types, rows)


def check_bytes(types: Iterable[AvroType], rows: int, size: int, location: str) -> int:
    """Return the minimum size of a record in bytes.

    Raises CorruptFileError, naming the file, if that many rows exceed the size.
    """
    least = sum(map(least_bytes, types))
    if rows * least > size:
        raise CorruptFileError(
            f"{location} is damaged: it claims {rows:,} records of at least {least} bytes in "
            f"{size:,} bytes"
        )
    return least


def _too_many(container: AvroContainer) -> CorruptFileError:
    return CorruptFileError(
        f"{container.location} claims more than {container.limits.empty_records:,} records or "
        f"list elements that take no bytes; if that is as it should be, set the storage property "
        f"{MAX_EMPTY_RECORDS} to more"
    )


def _fixed_bytes(kind: AvroType) -> int:
    """Return the size of a value's fixed parts in Arrow, in bytes, null or not."""
    if kind.kind == "fixed":
        return kind.size
    return sum(_fixed_bytes(child.type) for child in kind.fields) if kind.kind == "record" else 0


def _has_empty_items(kind: AvroType) -> bool:
    """Return whether the type contains a list whose elements take no bytes."""
    if kind.kind == "array" and not least_bytes(kind.fields[0].type):
        return True
    return any(_has_empty_items(child.type) for child in kind.fields)


def fixed_with_lengths(
    fields: tuple[AvroField, ...], container: AvroContainer
) -> tuple[AvroField, ...]:
    """Return the fields as encoded in Java's manifests.

    Java Iceberg up to 1.12 writes partition values of type `fixed` with a length before the bytes,
    although its Avro schema has `fixed` without one. Such a file has Java's key `iceberg.schema`,
    and its first block can be read with lengths to its last byte.
    """
    if JAVA_KEY not in container.metadata or not any(map(_is_fixed, fields)):
        return fields
    prefixed = tuple(
        replace(field, type=replace(field.type, kind="bytes")) if _is_fixed(field) else field
        for field in fields
    )
    rows, records = next(decompress_blocks(container), (0, b""))
    walk = _Walk([records], container)
    try:
        walk.rows([field.type for field in prefixed], rows)
    except CorruptFileError:
        return fields
    return prefixed if walk.is_at_end else fields


def _is_fixed(field: AvroField) -> bool:
    return field.type.kind == "fixed" and field.type.logical is None


class _Walk:
    """Walks through records without creating values, counting elements that take no bytes."""

    def __init__(self, blocks: Blocks, container: AvroContainer) -> None:
        self._data = b"".join(blocks)
        self._container = container
        self._left = container.limits.empty_records
        self._offset = 0

    @property
    def is_at_end(self) -> bool:
        """Whether the records took all bytes."""
        return self._offset == len(self._data)

    def rows(self, types: list[AvroType], rows: int) -> None:
        """Walk over records with these fields."""
        try:
            for _ in range(rows):
                for kind in types:
                    self._value(kind)
        except (IndexError, ValueError) as broken:
            raise CorruptFileError(
                f"{self._container.location} has malformed Avro records: {broken}"
            ) from broken

    def _value(self, kind: AvroType) -> None:
        if kind.optional and self._long() == (1 if kind.null_last else 0):
            return
        match kind.kind:
            case "null":
                return
            case "record":
                for child in kind.fields:
                    self._value(child.type)
            case "array" | "map":
                self._items(kind)
            case "string" | "bytes":
                length = self._long()
                if kind.size not in (0, length):
                    raise ValueError(f"a value has {length} bytes instead of {kind.size}")
                self._skip(length)
            case "fixed":
                self._skip(kind.size)
            case name if name in _SIZES:
                self._skip(_SIZES[name])
            case _:
                self._long()

    def _items(self, kind: AvroType) -> None:
        empty = kind.kind == "array" and not least_bytes(kind.fields[0].type)
        while count := self._long():
            if count < 0:
                count = -count
                self._long()
            if empty:
                self._left -= count
                if self._left < 0:
                    raise _too_many(self._container)
                continue
            for _ in range(count):
                for child in kind.fields:
                    self._value(child.type)

    def _long(self) -> int:
        number, self._offset = read_long(self._data, self._offset)
        return number

    def _skip(self, size: int) -> None:
        if not 0 <= size <= len(self._data) - self._offset:
            raise ValueError(f"a value of {size} bytes at byte {self._offset} does not fit")
        self._offset += size
