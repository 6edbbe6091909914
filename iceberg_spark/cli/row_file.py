"""Rows of a scan as a local Parquet, CSV or Arrow file, a batch at a time."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.ipc as paipc
import pyarrow.parquet as pq
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import entry_lists
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.calendar_text import date_text, time_text, timestamp_text

_WRITERS: dict[str, Callable[[str, pa.Schema], Any]] = {
    ".parquet": pq.ParquetWriter,
    ".csv": pacsv.CSVWriter,
    ".arrow": paipc.new_file,
}


def check_kind(file: Path) -> None:
    """Check that a file's name ends in a kind that can be written.

    Raises:
        InvalidInputError: It does not.
    """
    if file.suffix not in _WRITERS:
        raise InvalidInputError(f"Cannot write {file}: its name must end in {', '.join(_WRITERS)}")


def write_rows(reader: pa.RecordBatchReader, file: Path) -> int:
    """Write all batches to a file, and return the number of rows.

    The file appears under its name when it is complete. CSV has no nested and no binary values:
    nested ones are written as JSON, binary ones as hexadecimal text.

    Raises:
        InvalidInputError: The folder does not exist or cannot be written.
    """
    is_csv = file.suffix == ".csv"
    schema = _text_schema(reader.schema) if is_csv else reader.schema
    rows = 0
    with _new_file(file) as path, _WRITERS[file.suffix](path, schema) as writer:
        for batch in reader:
            writer.write_batch(_text_batch(batch, schema) if is_csv else batch)
            rows += batch.num_rows
    return rows


@contextmanager
def _new_file(file: Path) -> Iterator[str]:
    """Yield the path of a temporary file, which gets its name if the block succeeds."""
    try:
        with NamedTemporaryFile(dir=file.parent, suffix=file.suffix, delete=False) as temporary:
            path = Path(temporary.name)
    except OSError as error:
        raise InvalidInputError(f"Cannot write {file}: {error.strerror}") from error
    try:
        yield str(path)
        path.replace(file)
    finally:
        path.unlink(missing_ok=True)


def _text_schema(schema: pa.Schema) -> pa.Schema:
    return pa.schema(
        [
            pa.field(field.name, pa.string() if _has_no_csv(field.type) else field.type)
            for field in schema
        ]
    )


def _text_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [
        pa.array(map(_text, json_values(column)), pa.string())
        if _has_no_csv(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _has_no_csv(kind: pa.DataType) -> bool:
    is_bytes = pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind)
    return bool(is_bytes or pt.is_nested(kind) or isinstance(kind, pa.BaseExtensionType))


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


# Values of Arrow columns as JSON has them, for every type and every date of the format.
#
# Dates, times, decimals, UUIDs and binary values are texts, as in the specification's "JSON
# single-value serialization". JSON has no NaN and no infinity: they are the texts "NaN",
# "Infinity" and "-Infinity". A map is a list of objects with `key` and `value`: its keys can have
# any type.

_DIGITS = {"us": 6, "ns": 9}


def json_values(column: pa.Array) -> list[Any]:
    """Return the values of a column as `json.dumps` takes them; a null is None.

    Examples:
        >>> json_values(pa.array([1.5, float("nan"), None]))
        [1.5, 'NaN', None]
    """
    kind = column.type
    if column.null_count == len(column):
        return [None] * len(column)
    if isinstance(kind, pa.BaseExtensionType):
        is_uuid = isinstance(kind, pa.UuidType)
        return _mapped(column.storage, _uuid_text) if is_uuid else json_values(column.storage)
    if pt.is_struct(kind):
        return _structs(column)
    if pt.is_map(kind):
        return json_values(entry_lists(column))
    if pt.is_list(kind) or pt.is_large_list(kind):
        return _lists(column)
    converter = _converter(kind)
    if converter is None:
        return list(column.to_pylist())
    return _mapped(column.cast(_storage_type(kind)), converter)


def finite_or_text(value: float) -> float | str:
    """Return a number if it is finite, and otherwise a text: JSON has no such number."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _converter(kind: pa.DataType) -> Callable[[Any], Any] | None:
    """Return how a value of `_storage_type` becomes JSON, None if it stays unchanged."""
    if pt.is_timestamp(kind):
        digits, offset = _DIGITS[kind.unit], "" if kind.tz is None else "+00:00"
        return lambda value: timestamp_text(value, digits) + offset
    if pt.is_date(kind):
        return date_text
    if pt.is_time(kind):
        return lambda value: time_text(value, _DIGITS[kind.unit])
    if pt.is_floating(kind):
        return finite_or_text
    if pt.is_decimal(kind):
        return lambda value: format(value, "f")
    is_bytes = pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind)
    return bytes.hex if is_bytes else None


def _storage_type(kind: pa.DataType) -> pa.DataType:
    """Return the integers of dates and times: Python's `datetime` ends with the year 9999."""
    if pt.is_date32(kind):
        return pa.int32()
    return pa.int64() if pt.is_timestamp(kind) or pt.is_time64(kind) else kind


def _mapped(column: pa.Array, function: Callable[[Any], Any]) -> list[Any]:
    return [None if value is None else function(value) for value in column.to_pylist()]


def _uuid_text(value: bytes) -> str:
    return str(uuid.UUID(bytes=value))


def _structs(column: pa.Array) -> list[Any]:
    names = [field.name for field in column.type]
    fields = [json_values(child) for child in column.flatten()]
    rows = zip(*fields, strict=True) if fields else [()] * len(column)
    return [
        dict(zip(names, row, strict=True)) if is_valid else None
        for row, is_valid in zip(rows, column.is_valid().to_pylist(), strict=True)
    ]


def _lists(column: pa.Array) -> list[Any]:
    elements = iter(json_values(column.flatten()))
    return [
        None if length is None else list(islice(elements, length))
        for length in column.value_lengths().to_pylist()
    ]
