"""The columns of a folder of files: those of its files, and those of its subfolders' names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from iceberg_spark.arrow.from_arrow import from_arrow
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.formats.avro.arrow_types import arrow_field
from iceberg_spark.formats.avro.head import avro_head
from iceberg_spark.formats.avro.types import AvroField
from iceberg_spark.formats.data_file import reading
from iceberg_spark.formats.open_file import format_of, open_data_file
from iceberg_spark.formats.parquet_footer import read_footer
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.write.hive_paths import HIVE_NULL, folder_parts
from iceberg_spark.write.import_folder import row_files

_DAY = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_INTEGER = re.compile(r"^-?\d{1,18}$")
_INT = 1 << 31
_SAMPLED = 10


@dataclass(frozen=True, slots=True)
class HiveFolder:
    """The columns of a folder's files and folders, the names of the latter, and the files' format.

    It is None where they have several. `file_schemas` are the columns of some files by path.
    """

    schema: pa.Schema
    partitions: tuple[str, ...]
    file_format: FileFormat | None
    file_schemas: Mapping[str, pa.Schema]

    def check_types(self) -> None:
        """Raise InvalidSchemaError naming file and column for a type that Iceberg lacks."""
        for path, schema in self.file_schemas.items():
            try:
                from_arrow(schema)
            except InvalidSchemaError as cause:
                raise InvalidSchemaError(f"{path} can't be added: {cause}") from cause


def hive_folder(io: FileIO, root: str) -> HiveFolder:
    """Inspect a folder of files: its names, and the columns of ten of its files.

    Columns of folder names are integers, dates or texts, whichever fits all values. Raises
    InvalidInputError if there is no data file or the folders differ, InvalidSchemaError if the
    files' columns differ in type, CorruptFileError.
    """
    paths = row_files(io, root)
    parts = [folder_parts(path, root) for path in paths]
    names = tuple(name for name, _ in parts[0])
    for path, folder in zip(paths, parts, strict=True):
        if tuple(name for name, _ in folder) != names:
            raise InvalidInputError(
                f"{path} is in other partition folders than {paths[0]} ({', '.join(names)})"
            )
    step = max(1, len(paths) // _SAMPLED)
    looked_at = [(path, format_of(io, path)) for path in paths[::step]]
    schemas = {path: _columns(io, path, kind) for path, kind in looked_at}
    try:
        schema = pa.unify_schemas(list(schemas.values()), promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidSchemaError(f"The files below {root} differ: {error}") from error
    for index, name in enumerate(names):
        if name not in schema.names:
            schema = schema.append(pa.field(name, _kind(folder[index][1] for folder in parts)))
    kinds = {kind for _, kind in looked_at}
    return HiveFolder(schema, names, kinds.pop() if len(kinds) == 1 else None, schemas)


def _columns(io: FileIO, path: str, file_format: FileFormat) -> pa.Schema:
    """Return the columns of a file, without ids."""
    match file_format:
        case FileFormat.ORC:
            with open_data_file(io, path, FileFormat.ORC) as orc:
                return pa.schema([pa.field(f.name, f.type, f.nullable) for f in orc.schema])
        case FileFormat.AVRO:
            fields = avro_head(io, path).fields
            return pa.schema([arrow_field(_with_instants(field)) for field in fields])
        case _:
            return _parquet_columns(io, path)


def _parquet_columns(io: FileIO, path: str) -> pa.Schema:
    """Return the columns of a Parquet file; Hive's and Spark's old timestamps are instants."""
    files, file_path = io.arrow(path)
    with reading(path), files.open_input_file(file_path) as source:
        footer = read_footer(source, path)
        schema = footer.schema.to_arrow_schema().remove_metadata()
        old = {
            column.path
            for column in (footer.schema.column(index) for index in range(len(footer.schema)))
            if column.physical_type == "INT96"
        }
    instant = pa.timestamp("us", "UTC")
    return pa.schema(
        [
            pa.field(field.name, instant if field.name in old else field.type, field.nullable)
            for field in schema
        ]
    )


def _with_instants(field: AvroField) -> AvroField:
    """Return an Avro field of another writer: its timestamps are instants, as in Avro.

    Iceberg's have ids, and are wall clocks unless `adjust-to-utc` is set.
    """
    kind = field.type
    inner = tuple(map(_with_instants, kind.fields))
    is_instant = field.field_id is None and (kind.logical or "").startswith("timestamp-")
    utc = kind.utc or is_instant
    return replace(field, type=replace(kind, utc=utc, fields=inner), field_id=None)


def _kind(values: Iterable[str]) -> pa.DataType:
    values_present = {value for value in values if value != HIVE_NULL}
    if values_present and all(_INTEGER.match(value) for value in values_present):
        return (
            pa.int32()
            if all(-_INT <= int(value) < _INT for value in values_present)
            else pa.int64()
        )
    if values_present and all(_DAY.match(value) for value in values_present):
        return pa.date32()
    return pa.string()
