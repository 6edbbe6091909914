"""Entries of existing files, so that a table can add them unchanged.

Source: Java's TableMigrationUtil and add_files; PyIceberg's Table.add_files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from iceberg_spark.arrow.evolve import evolution, needed_leaves
from iceberg_spark.arrow.file_fields import FileField, Path, file_fields, ids_of
from iceberg_spark.arrow.promote import leaf_step, storage_type
from iceberg_spark.arrow.schema import is_list
from iceberg_spark.arrow.texts import wrong_text
from iceberg_spark.arrow.variant_layout import is_stored_variant
from iceberg_spark.errors import CorruptFileError, InvalidInputError, InvalidSchemaError
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.formats.data_file import WHOLE_FILE, ReadRequest
from iceberg_spark.formats.footer_metrics import chunks_of, extremes, known_id, null_count
from iceberg_spark.formats.metrics_modes import metrics_modes
from iceberg_spark.formats.open_file import open_data_file
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec import types as t
from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.name_mapping import from_schema, parse
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.properties import DEFAULT_NAME_MAPPING
from iceberg_spark.spec.reserved import LINEAGE_NAMES
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.spec.types import (
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    VariantType,
)
from iceberg_spark.write.align_columns import align
from iceberg_spark.write.hive_paths import HIVE_NULL, partition_value, unescape
from iceberg_spark.write.imported_file import ImportedFile, imported_file
from iceberg_spark.write.open_file import file_entry

_WALL_CLOCKS = (TimestampType, TimestampNanoType)
_INSTANTS = (TimestamptzType, TimestamptzNanoType)


def imported_data_file(
    io: FileIO,
    path: str,
    metadata: TableMetadata,
    spec: PartitionSpec,
    partition: tuple[Any, ...] | None = None,
) -> DataFile:
    """Return the entry of a Parquet, ORC or Avro file, with the metrics in the file.

    Columns are matched by field id, or in files without ids by the table's name mapping (default:
    the schema's names). `partition` has canonical values; None reads them from the statistics,
    which Avro files lack. Raises InvalidSchemaError naming file and column if the file doesn't fit
    the table, InvalidInputError for a value that readers can't convert to the table's type, or if
    its rows are of several or unknown partitions, CorruptFileError, NoSuchFileError.
    """
    ids = _mapped_ids(metadata)
    file = imported_file(io, path, ids)
    schema = metadata.schema
    ids_in_path = {part.source_id for part in spec.fields} if partition is not None else set()
    _check_fits(path, file.fields, schema, ids_in_path)
    if file.file_format is FileFormat.ORC:
        _check_orc_times(path, file.fields, schema)
    check_values(io, path, file, schema, ids)
    modes = metrics_modes(schema, metadata.properties)
    with decoding(path):
        values = _partition(path, file, schema, spec, partition)
        metrics = file.metrics(schema, modes)
    return file_entry(
        metrics,
        spec,
        content=DataFileContent.DATA,
        file_format=file.file_format,
        file_path=path,
        file_size_in_bytes=file.size,
        split_offsets=file.split_offsets,
        partition=values,
        partition_spec_id=spec.spec_id,
        sort_order_id=0,
    )


def _mapped_ids(metadata: TableMetadata) -> dict[tuple[str, ...], int]:
    text = metadata.properties.get(DEFAULT_NAME_MAPPING)
    return ids_of(parse(text) if text else from_schema(metadata.schema))


def _check_fits(
    path: str, fields: tuple[FileField, ...], schema: Schema, constant: set[int]
) -> None:
    """Refuse columns that the table lacks, that it needs, or that it has another type for."""
    _check_struct(path, fields, schema.fields, "")
    present = {known_id(field) for field in fields}
    for field in schema.fields:
        if field.required and field.field_id not in present | constant:
            raise InvalidSchemaError(f"{path} lacks column '{field.name}', which is required")


def _check_struct(
    path: str, fields: tuple[FileField, ...], columns: tuple[NestedField, ...], prefix: str
) -> None:
    by_id = {field.field_id: field for field in columns}
    names: dict[int, str] = {}
    for field in fields:
        column = by_id.get(known_id(field) or 0)
        if column is None and not prefix and field.name in LINEAGE_NAMES:
            raise InvalidSchemaError(
                f"{path} has a column '{field.name}', the row ids of another table or the numbers "
                "of its commits, which would be mistaken for this table's: add the rows by "
                "t.append(), or write the file without the column"
            )
        if column is None:
            raise InvalidSchemaError(
                f"{path} has a column '{prefix}{field.name}' that the table does not have; add it "
                "to the table or to its name mapping first"
            )
        if column.field_id in names:
            raise InvalidSchemaError(
                f"{path} has two columns for '{prefix}{column.name}' of the table, "
                f"'{names[column.field_id]}' and '{field.name}': leave one of them out of the file "
                "or of the table's name mapping"
            )
        names[column.field_id] = field.name
        _check_type(path, field, column.field_type, f"{prefix}{field.name}")


def _check_type(path: str, field: FileField, kind: IcebergType, column: str) -> None:
    match kind:
        case StructType(fields=fields) if pa.types.is_struct(field.kind):
            _check_struct(path, field.children, fields, f"{column}.")
        case ListType() if is_list(field.kind) and not pa.types.is_map(field.kind):
            _check_type(path, field.children[0], kind.element_type, f"{column}.element")
        case MapType() if pa.types.is_map(field.kind):
            _check_type(path, field.children[0], kind.key_type, f"{column}.key")
            _check_type(path, field.children[1], kind.value_type, f"{column}.value")
        case VariantType() if is_stored_variant(field.kind):
            pass
        case StructType() | ListType() | MapType():
            raise InvalidSchemaError(
                f"Column '{column}' is {kind} in the table and {field.kind} in {path}"
            )
        case _:
            try:
                leaf_step(field.kind, kind, column, path)
            except CorruptFileError as cause:
                raise InvalidSchemaError(str(cause)) from cause


def _check_orc_times(path: str, fields: tuple[FileField, ...], schema: Schema) -> None:
    """Refuse timestamps of another kind than the table's, as Java's reader does.

    Hive's and Spark's `timestamp` is a wall clock in its writer's zone, and Spark's without zone
    a number. Source: ORCSchemaUtil.buildOrcProjection.
    """
    for field in fields:
        _check_orc_times(path, field.children, schema)
        column = schema.get(known_id(field) or 0)
        kind = None if column is None else column.field_type
        if not isinstance(kind, _WALL_CLOCKS + _INSTANTS):
            continue
        is_time = pa.types.is_timestamp(field.kind)
        if not is_time or (field.kind.tz is None) != isinstance(kind, _WALL_CLOCKS):
            raise InvalidSchemaError(
                f"Column '{field.name}' is {kind} in the table, and {path} has an ORC "
                f"{'number' if not is_time else 'timestamp ' + _zone(field)} instead, which "
                "Iceberg's readers refuse: read the files with Spark, and append their rows"
            )


def _zone(field: FileField) -> str:
    return "without time zone" if field.kind.tz is None else "with time zone"


def _partition(
    path: str,
    file: ImportedFile,
    schema: Schema,
    spec: PartitionSpec,
    stated: tuple[Any, ...] | None,
) -> tuple[Any, ...]:
    """Return the partition of a file: the stated one, if not contradicted, or from statistics."""
    types = [child.field_type for child in partition_type(spec, schema).fields]
    values = []
    for index, (part, kind) in enumerate(zip(spec.fields, types, strict=True)):
        source = schema.find_field(part.source_id)
        stored = file.partition_values(part, source.field_type, kind)
        if stated is None:
            values.append(_single(path, stored, part))
            continue
        wrong = isinstance(part.transform, IdentityTransform) and stored is not None
        if wrong and any(value != stated[index] for value in stored or ()):
            raise InvalidInputError(
                f"{path} is for {part.name}={stated[index]!r}, but its column '{source.name}' "
                f"has other values: {stored}"
            )
        values.append(stated[index])
    return tuple(values)


def _single(path: str, values: list[Any] | None, part: PartitionField) -> Any:
    if values is not None and len(values) == 1:
        return values[0]
    why = "its statistics don't determine it" if values is None else f"it has {values}"
    raise InvalidInputError(
        f"{path} can't be added: all its rows must have one value of partition field "
        f"'{part.name}', but {why}"
    )


def partition_values_from_path(
    path: str, root: str, spec: PartitionSpec, schema: Schema, zone: str = "UTC"
) -> tuple[Any, ...] | None:
    """Return the partition in the folder names below `root`; None if they have none.

    Timestamps with time zone but without offset are wall clocks of the zone.

    Raises InvalidInputError naming the folder for a field that is missing, unknown, or not an
    identity of a column, and for text that is not a value of the column's type.
    """
    from_path = dict(_folders(path, root))
    if not from_path:
        return None
    types = partition_type(spec, schema).fields
    names = [part.name for part in spec.fields]
    unknown = [name for name in from_path if name not in names]
    missing = [name for name in names if name not in from_path]
    if unknown or missing:
        raise InvalidInputError(
            f"{path}: its folders name {', '.join(from_path)}, the table is partitioned by "
            f"{', '.join(names) or 'nothing'}"
        )
    values = []
    for part, child in zip(spec.fields, types, strict=True):
        if not isinstance(part.transform, IdentityTransform):
            raise InvalidInputError(
                f"{path}: partition field '{part.name}' is {part.transform}; only identity "
                "partitions are read from folder names"
            )
        values.append(_value(path, part.name, child.field_type, from_path[part.name], zone))
    return tuple(values)


def _folders(path: str, root: str) -> Iterator[tuple[str, str]]:
    below = path.removeprefix(root.rstrip("/")).strip("/")
    for folder in below.split("/")[:-1]:
        name, equals, text = folder.partition("=")
        if equals:
            yield unescape(name), text


def _value(path: str, name: str, kind: IcebergType, text: str, zone: str) -> Any:
    if text == HIVE_NULL:
        return None
    try:
        return partition_value(kind, unescape(text), zone)
    except (ValueError, InvalidInputError) as cause:
        raise InvalidInputError(f"{path}: {name}={text} is not a value of type {kind}") from cause


# Check that every value of an imported file can be read as the table's type.
#
# A reader may refuse values of a suitable type: nanoseconds in a column of microseconds, bytes
# that are not UTF-8 in a text column. Nulls of a required column can be read, but no filter
# matches them and no rewrite accepts them. Statistics prove most columns. The others are read
# once.

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
