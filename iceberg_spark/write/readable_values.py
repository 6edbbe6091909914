"""Check that every value of an imported file can be read as the table's type.

A reader may refuse values of a suitable type: nanoseconds in a column of microseconds, bytes that
are not UTF-8 in a text column. Nulls of a required column can be read, but no filter matches them
and no rewrite accepts them. Statistics prove most columns. The others are read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from iceberg_spark.arrow.evolve import evolution, needed_leaves
from iceberg_spark.arrow.file_fields import FileField, Path, file_fields
from iceberg_spark.arrow.promote import storage_type
from iceberg_spark.arrow.texts import wrong_text
from iceberg_spark.errors import CorruptFileError, InvalidInputError
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.formats.data_file import WHOLE_FILE, ReadRequest
from iceberg_spark.formats.footer_metrics import chunks_of, extremes, known_id, null_count
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec import types as t
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.align_columns import align
from iceberg_spark.write.imported_file import ImportedFile

_MICROS = (t.TimestampType, t.TimestamptzType, t.TimeType)
_TIMESTAMPS = (
    t.TimestampType,
    t.TimestamptzType,
    t.TimestampNanoType,
    t.TimestamptzNanoType,
)
_OF_ONE_LENGTH = (t.FixedType, t.UUIDType)


def check_values(
    io: FileIO, path: str, file: ImportedFile, schema: Schema, ids: Mapping[Path, int]
) -> None:
    """Read the columns of a file whose values may not fit the table's types.

    The types themselves fit. `ids` are those of a name mapping. Raises InvalidInputError naming
    the file and the column of a value that no reader could read afterwards, or of a null in a
    required column.
    """
    if not file.rows:
        return
    columns = [
        column
        for field in file.fields
        if (column := schema.get(known_id(field) or 0)) is not None
        and any(_is_doubtful(file, leaf) for leaf in _leaves(field, column, may_lack=False))
    ]
    if columns:
        _read(io, path, file.file_format, columns, ids)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A primitive column of a file with the type that the table has for it.

    `may_lack`: the table requires a field on its path, for which the file allows nulls.
    """

    field: FileField
    kind: t.IcebergType
    may_lack: bool


def _leaves(field: FileField, column: t.NestedField, *, may_lack: bool) -> Iterator[_Leaf]:
    may_lack = may_lack or (column.required and field.nullable)
    match column.field_type:
        case t.StructType(fields=fields):
            by_id = {child.field_id: child for child in fields}
            pairs = [(child, by_id[known_id(child) or 0]) for child in field.children]
        case t.ListType() | t.MapType() as kind:
            pairs = list(zip(field.children, t.child_fields(kind), strict=True))
        case t.VariantType():
            return
        case kind:
            yield _Leaf(field, kind, may_lack)
            return
    for child, part in pairs:
        yield from _leaves(child, part, may_lack=may_lack)


def _is_doubtful(file: ImportedFile, leaf: _Leaf) -> bool:
    """Return whether a value of the column may not be read, by all that the file's end states."""
    chunks = [] if file.footer is None else chunks_of(file.footer, leaf.field)
    if leaf.may_lack and _may_have_nulls(file, leaf.field, chunks):
        return True
    return _may_not_fit(file, leaf.field, leaf.kind, chunks)


def _may_have_nulls(file: ImportedFile, leaf: FileField, chunks: Sequence[Any]) -> bool:
    if file.footer is not None:
        return null_count(chunks) != 0
    column = file.columns.get(known_id(leaf) or 0)
    return column is None or column.values != file.rows


def _may_not_fit(
    file: ImportedFile, leaf: FileField, kind: t.IcebergType, chunks: Sequence[Any]
) -> bool:
    stored = storage_type(leaf.kind)
    if any(chunk.physical_type == "INT96" for chunk in chunks):
        return False  # read as microseconds, without a check
    if isinstance(kind, _OF_ONE_LENGTH):
        return not pt.is_fixed_size_binary(stored)
    if isinstance(kind, t.StringType):
        return not _is_text(stored) or _has_other_bytes(file, leaf, chunks)
    is_time = pt.is_time(stored) or pt.is_timestamp(stored)
    if isinstance(kind, _MICROS) and is_time and stored.unit == "ns":
        return True  # no statistics state whether all values are whole microseconds
    if isinstance(kind, _TIMESTAMPS) and _may_overflow(stored, kind):
        return extremes(chunks, leaf, kind) is None and not _are_nulls(chunks)
    return False


def _may_overflow(stored: pa.DataType, kind: t.IcebergType) -> bool:
    """Return whether a column has days, or a coarser unit than the table's."""
    if pt.is_date(stored):
        return True
    is_nano = isinstance(kind, t.TimestampNanoType | t.TimestamptzNanoType)
    finest = ("ns",) if is_nano else ("us", "ns")
    return bool(pt.is_timestamp(stored) and stored.unit not in finest)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def _has_other_bytes(file: ImportedFile, leaf: FileField, chunks: Sequence[Any]) -> bool:
    """Return whether the least or the greatest text of a column is not UTF-8.

    A column that its writer marks as text is believed unless its statistics contradict it: to read
    all texts of all files would take as long as to copy them.
    """
    column = file.columns.get(known_id(leaf) or 0)
    return not all(map(_has_text_bounds, chunks)) or (column is not None and not column.is_utf8)


def _has_text_bounds(chunk: Any) -> bool:
    statistics = chunk.statistics
    if statistics is None or not statistics.has_min_max:
        return True
    try:
        for bound in (statistics.min_raw, statistics.max_raw):
            bytes(bound).decode()
    except UnicodeDecodeError:
        return False
    return True


def _are_nulls(chunks: Sequence[Any]) -> bool:
    statistics_of_chunks = [(chunk.statistics, chunk.num_values) for chunk in chunks]
    return bool(statistics_of_chunks) and all(
        statistics is not None and statistics.null_count == values
        for statistics, values in statistics_of_chunks
    )


def _read(
    io: FileIO,
    path: str,
    file_format: FileFormat,
    columns: Sequence[t.NestedField],
    ids: Mapping[Path, int],
) -> None:
    with open_data_file(io, path, file_format) as reader:
        fields = file_fields(reader.schema, ids)
        leaves = needed_leaves(fields, columns, {})
        request = ReadRequest(fields, leaves, 0, WHOLE_FILE, ALWAYS_TRUE, checks_texts=False)
        step = evolution(reader.output_fields(request), columns, {}, path)
        nulls = align(Schema(*columns), step.schema)
        for batch in reader.batches(request):
            try:
                rows = step.apply(batch.rows)
            except CorruptFileError as cause:
                raise InvalidInputError(
                    f"{cause}. The rows could not be read afterwards: write the file with values "
                    "of the table's type"
                ) from cause
            try:
                nulls.apply(rows)
            except InvalidInputError as cause:
                raise InvalidInputError(f"{path} can't be added: {cause}") from cause
            for column, array in zip(columns, rows.columns, strict=True):
                text = wrong_text(array, column.name)
                if text is not None:
                    raise InvalidInputError(
                        f"Column '{text}' of {path} holds a text that is not UTF-8, which could "
                        "not be read afterwards: write it as UTF-8, or as binary"
                    )
