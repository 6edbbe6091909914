"""ORC data and delete files (specification, Appendix A: "ORC").

Iceberg's ids and types are attributes of ORC's types; Arrow's writer makes attributes of field
metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as po

from iceberg_spark.arrow.arrays import map_list, map_struct
from iceberg_spark.arrow.schema import child_fields, field_id, to_arrow
from iceberg_spark.arrow.stored import stored_schema, to_stored
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.formats.file_writer import WriterProperties, WrittenFile
from iceberg_spark.formats.limits import WRITING
from iceberg_spark.formats.metrics import MetricsCollector
from iceberg_spark.formats.metrics_modes import MetricsMode
from iceberg_spark.formats.orc_tail import stripes
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    LongType,
    NestedField,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UUIDType,
    VariantType,
)

_CODECS = {
    "none": "uncompressed",
    "uncompressed": "uncompressed",
    "zlib": "zlib",
    "snappy": "snappy",
    "lz4": "lz4",
    "zstd": "zstd",
}
_SECOND = {"us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True, slots=True)
class OrcLayout:
    """The part of a file's layout that all files of one writer share."""

    schema: Schema
    stored: Schema
    target: pa.Schema
    codec: str
    stripe_bytes: int
    modes: Mapping[int, MetricsMode]


def orc_layout(
    schema: Schema, properties: WriterProperties, modes: Mapping[int, MetricsMode]
) -> OrcLayout:
    """Return the layout of files of a schema, by `write.orc.*`. Raises InvalidOptionError."""
    stored = stored_schema(schema)
    return OrcLayout(
        schema,
        stored,
        pa.schema([_field(field, stored) for field in to_arrow(stored)]),
        properties.codec("orc", "zlib", _CODECS),
        properties.positive_int("orc.stripe-size-bytes", WRITING.stripe_bytes),
        modes,
    )


class _Shielded:
    """A sink that records its first error instead of raising it, and then accepts everything.

    Arrow's ORC writer ends the process if its sink fails on close (tried with Arrow 26: an
    exception leaves a C++ destructor).
    """

    __slots__ = ("_error", "_sink", "closed", "mode")

    def __init__(self, sink: BinaryIO) -> None:
        self._sink = sink
        self._error: BaseException | None = None
        self.closed = False
        self.mode = "wb"

    def write(self, data: Any) -> int:
        """Write bytes, or note why that failed."""
        if self._error is None:
            try:
                self._sink.write(data)
            except BaseException as error:  # noqa: BLE001 (raised by `check`)
                self._error = error
        return len(data)

    def flush(self) -> None:
        """Nothing: the file is flushed when it is closed."""

    def check(self) -> None:
        """Raise the recorded error, if there is one."""
        if self._error is not None:
            raise self._error


class OrcFileWriter:
    """Writes one ORC file to an open sink; stripes end at their size, not with a table."""

    __slots__ = ("_layout", "_metrics", "_reopen", "_shield", "_sink", "_writer")

    def __init__(self, sink: BinaryIO, layout: OrcLayout, reopen: Callable[[], BinaryIO]) -> None:
        self._sink = sink
        self._layout = layout
        self._reopen = reopen
        self._metrics = MetricsCollector(layout.schema, layout.modes, FileFormat.ORC)
        self._shield = _Shielded(sink)
        self._writer: Any = po.ORCWriter(
            self._shield,
            compression=layout.codec,
            compression_block_size=WRITING.orc_block_bytes,
            stripe_size=layout.stripe_bytes,
            dictionary_key_size_threshold=WRITING.orc_dictionary_share,
        )

    @property
    def bytes_written(self) -> int:
        """Bytes of finished stripes."""
        return self._sink.tell()

    def write(self, table: pa.Table) -> None:
        """Encode a table. Raises UnsupportedError for values that Arrow would write wrong."""
        for name, column in zip(table.column_names, table.columns, strict=True):
            for chunk in column.chunks:
                _check_times(chunk, name)
        self._metrics.add(table)
        table = to_stored(table, self._layout.schema, self._layout.stored)
        # Arrow's ORC writer forgets where a slice of a nested column starts and writes other rows
        # (tried with Arrow 26): the rows are copied to arrays that start at 0.
        table = table.take(pa.array(np.arange(table.num_rows))).combine_chunks()
        target = self._layout.target
        columns = [
            pa.chunked_array([_stored(chunk, field.type) for chunk in column.chunks], field.type)
            for column, field in zip(table.columns, target, strict=True)
        ]
        self._writer.write(pa.Table.from_arrays(columns, schema=target))
        self._shield.check()

    def close(self) -> WrittenFile:
        """Finish the file, close the sink, and look up where the stripes are."""
        self._writer.close()
        self._shield.check()
        size = self._sink.tell()
        self._sink.close()
        with self._reopen() as source:
            tail = po.ORCFile(source).reader.serialized_file_tail()
        offsets = tuple(stripe.offset for stripe in stripes(tail))
        return WrittenFile(size, self._metrics.finish(), offsets)

    def abort(self) -> None:
        """Abandon the file; written data stays until it is deleted."""
        self._writer.close()


def _field(field: pa.Field, schema: Schema) -> pa.Field:
    """Return a field of the file: type, attributes, and the same for its children."""
    kind, number = _type(field.type, schema), field_id(field)
    if number is None:  # a part of a variant
        return pa.field(field.name, kind, field.nullable)
    iceberg = schema.find_field(number)
    metadata = {key.encode(): value.encode() for key, value in _attributes(iceberg).items()}
    return pa.field(field.name, kind, field.nullable, metadata)


def _type(kind: pa.DataType, schema: Schema) -> pa.DataType:
    children = [_field(child, schema) for child in child_fields(kind)]
    if pa.types.is_struct(kind):
        return pa.struct(children)
    if pa.types.is_map(kind):
        return pa.map_(*children)
    if pa.types.is_list(kind):
        return pa.list_(children[0])
    if pa.types.is_time(kind):
        return pa.int64()
    if pa.types.is_null(kind):
        return pa.bool_()  # ORC has no type of nulls
    return pa.binary() if pa.types.is_fixed_size_binary(kind) else kind


def _attributes(field: NestedField) -> dict[str, str]:
    """Return the attributes of a field's ORC type (Java: ORCSchemaUtil)."""
    own = {"iceberg.id": str(field.field_id), "iceberg.required": str(field.required).lower()}
    return own | _type_attributes(field.field_type)


_NAMED: Mapping[type, dict[str, str]] = {
    VariantType: {"iceberg.struct-type": "VARIANT"},
    GeometryType: {"iceberg.binary-type": "GEOMETRY"},
    GeographyType: {"iceberg.binary-type": "GEOGRAPHY"},
}


def _type_attributes(kind: IcebergType) -> dict[str, str]:
    match kind:
        case TimeType():
            return {"iceberg.long-type": "TIME"}
        case LongType():
            return {"iceberg.long-type": "LONG"}
        case UUIDType():
            return {"iceberg.binary-type": "UUID"}
        case FixedType(length=length):
            return {"iceberg.binary-type": "FIXED", "iceberg.length": str(length)}
        case BinaryType():
            return {"iceberg.binary-type": "BINARY"}
        case TimestampType() | TimestamptzType():
            return {"iceberg.timestamp-unit": "MICROS"}
        case TimestampNanoType() | TimestamptzNanoType():
            return {"iceberg.timestamp-unit": "NANOS"}
        case _:
            return _NAMED.get(type(kind), {})


def _stored(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return an array as ORC stores it: times as longs, fixed bytes as binary.

    Structs are rebuilt at any depth, with their nulls in their children too, and slices are
    copied: Arrow writes the wrong children of slices with nulls, and of nullable structs inside
    another struct, a list or a map (tried with Arrow 26).
    """
    if pa.types.is_struct(target):
        pairs = zip(array.flatten(), target, strict=True)
        return map_struct(array, [_stored(child, field.type) for child, field in pairs], target)
    if pa.types.is_map(target):
        entry = pa.struct([target.key_field, target.item_field])
        return map_list(array, lambda values: _stored(values, entry), target)
    if pa.types.is_list(target):
        return map_list(array, lambda values: _stored(values, target.value_type), target)
    copied = pa.concat_arrays([array]) if array.offset else array
    return copied if array.type == target else copied.cast(target)


def _check_times(array: pa.Array, column: str) -> None:
    """Refuse fractions of seconds before 1970.

    Arrow writes them with negative nanoseconds, which ORC does not have: Arrow reads them back,
    Java reads them a second off (tried with Arrow 26 and Java's Iceberg 1.12).
    """
    kind = array.type
    if pa.types.is_timestamp(kind):
        ticks = array.cast(pa.int64())
        if (pc.min(ticks).as_py() or 0) >= 0:
            return
        early = ticks.filter(pc.less(ticks, 0)).to_numpy(zero_copy_only=False)
        if (early % _SECOND[kind.unit]).any():
            raise UnsupportedError(
                f"Column '{column}' has a time before 1970 with a fraction of a second, which "
                "can't be written to ORC so that every engine reads it; use write-format parquet"
            )
    elif pa.types.is_map(kind):
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        _check_times(array.keys.slice(first, last - first), f"{column}.key")
        _check_times(array.items.slice(first, last - first), f"{column}.value")
    elif pa.types.is_list(kind):
        _check_times(array.flatten(), f"{column}.element")
    elif pa.types.is_struct(kind):
        for child, field in zip(array.flatten(), kind, strict=True):
            _check_times(child, f"{column}.{field.name}")
