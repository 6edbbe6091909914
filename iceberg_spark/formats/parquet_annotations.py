"""Logical types that Arrow's Parquet writer has no words for, put into a finished footer.

Source: parquet.thrift, `SchemaElement` and `LogicalType` (VARIANT, GEOMETRY, GEOGRAPHY).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from iceberg_spark.formats.thrift_compact import struct_at, varint
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

Path = tuple[str, ...]
_MAGIC = b"PAR1"
_LIST_OF_STRUCTS = 0x19
_NAME, _CHILDREN, _LOGICAL_TYPE = 4, 5, 10
_STRUCT = 12
_ALGORITHMS = ("spherical", "vincenty", "thomas", "andoyer", "karney")
_VARIANT, _GEOMETRY, _GEOGRAPHY = 16, 17, 18
_STOP = b"\0"


def logical_types(schema: Schema) -> dict[Path, bytes]:
    """Return the logical types to add, by the paths of their columns in the file."""
    return dict(_of_struct(schema.as_struct(), ()))


def _of_struct(struct: t.StructType, above: Path) -> Iterator[tuple[Path, bytes]]:
    for field in struct.fields:
        yield from _of_type(field.field_type, (*above, field.name))


def _of_type(kind: t.IcebergType, path: Path) -> Iterator[tuple[Path, bytes]]:
    match kind:
        case t.StructType():
            yield from _of_struct(kind, path)
        case t.ListType():
            yield from _of_type(kind.element_type, (*path, "list", "element"))
        case t.MapType():
            yield from _of_type(kind.key_type, (*path, "key_value", "key"))
            yield from _of_type(kind.value_type, (*path, "key_value", "value"))
        case t.VariantType():
            yield path, _union(_VARIANT, b"\x13\x01")  # of version 1
        case t.GeometryType(crs=crs):
            yield path, _union(_GEOMETRY, _crs(crs))
        case t.GeographyType(crs=crs, algorithm=algorithm):
            head = b"\x15" if crs is not None else b"\x25"
            code = _ALGORITHMS.index(algorithm) if algorithm in _ALGORITHMS else None
            shown = b"" if code is None else head + bytes((code << 1,))
            yield path, _union(_GEOGRAPHY, _crs(crs) + shown)
        case _:
            pass


def _crs(crs: str | None) -> bytes:
    if crs is None:
        return b""
    text = crs.encode()
    return b"\x18" + _number(len(text)) + text


def _union(field_id: int, inner: bytes) -> bytes:
    """Return Thrift's bytes of a union whose one member is a struct."""
    return bytes((_STRUCT,)) + _number(field_id << 1) + inner + _STOP + _STOP


def _number(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def add_annotations(end: bytes, logical_types: Mapping[Path, bytes]) -> bytes:
    """Return the end of a Parquet file, including its footer, with the logical types added.

    Raises ValueError for bytes without a footer, or a footer without such columns.
    """
    length = int.from_bytes(end[-8:-4], "little")
    if end[-4:] != _MAGIC or length + 8 > len(end):
        raise ValueError("the end of a Parquet file has no footer")
    start = len(end) - 8 - length
    footer = _with_types(end[start:-8], logical_types)
    return end[:start] + footer + len(footer).to_bytes(4, "little") + _MAGIC


def _with_types(footer: bytes, logical_types: Mapping[Path, bytes]) -> bytes:
    # A footer starts with its version (field 1, a number), then the list of columns.
    _, offset = varint(footer, 1)
    if footer[offset] != _LIST_OF_STRUCTS:
        raise ValueError("a footer does not begin with its columns")
    count, offset = footer[offset + 1] >> 4, offset + 2
    if count == 15:
        count, offset = varint(footer, offset)
    parts, copied, left = [], 0, dict(logical_types)
    for path, element, end in _elements(footer, offset, count):
        logical = left.pop(path, None)
        if logical is not None and _LOGICAL_TYPE not in element:
            delta = _LOGICAL_TYPE - max(element)
            parts += [footer[copied : end - 1], bytes((delta << 4 | _STRUCT,)), logical]
            copied = end - 1
    if left:
        raise ValueError(f"a footer lacks columns {list(left)}")
    return b"".join((*parts, footer[copied:]))


def _elements(footer: bytes, offset: int, count: int) -> Iterator[tuple[Path, dict[int, Any], int]]:
    """Yield each column and group with its path and its end, depth first."""
    open_groups: list[tuple[str, int]] = []  # names, and the number of remaining children
    for number in range(count):
        element, offset = struct_at(footer, offset)
        name = element[_NAME].decode()
        children = element.get(_CHILDREN, 0)
        if number:
            while not open_groups[-1][1]:
                open_groups.pop()
            group, more = open_groups[-1]
            open_groups[-1] = (group, more - 1)
            yield (*(open_group for open_group, _ in open_groups[1:]), name), element, offset
        open_groups.append((name, children))


class FooterHold:
    """A sink that passes bytes on, but can hold back those of the file's end."""

    __slots__ = ("_held", "_sink", "closed", "mode")

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._held: list[bytes] | None = None
        self.closed = False
        self.mode = "wb"

    def write(self, data: Any) -> int:
        """Pass bytes on, or hold them."""
        if self._held is None:
            return self._sink.write(data)
        self._held.append(bytes(data))
        return len(data)

    def tell(self) -> int:
        """Return how many bytes were written, held ones too."""
        return self._sink.tell() + sum(map(len, self._held or ()))

    def flush(self) -> None:
        """Nothing: the file is flushed when it is closed."""

    def hold(self) -> None:
        """Hold back the bytes that are written from now on."""
        self._held = []

    def release(self, logical_types: Mapping[Path, bytes]) -> None:
        """Pass on the held bytes, with the logical types in their footer."""
        held, self._held = b"".join(self._held or ()), None
        self._sink.write(add_annotations(held, logical_types))
