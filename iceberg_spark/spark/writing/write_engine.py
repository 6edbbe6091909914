"""Which engine writes a frame, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.formats.file_writer import WriterProperties
from iceberg_spark.formats.parquet_writer import parquet_options
from iceberg_spark.io import location
from iceberg_spark.spark.session.engine import Engine
from iceberg_spark.spec.data_file import FileFormat
from iceberg_spark.spec.properties import OBJECT_STORE_ENABLED, bool_property
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    TimestampNanoType,
    TimestamptzNanoType,
    TimeType,
    UnknownType,
    UUIDType,
    VariantType,
)
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.locations import data_folder

_SAFE_STORES = (location.LOCAL, "hdfs")  # a rename is one step there, as Spark's committer needs
_OTHER_TYPES = (
    UUIDType, FixedType, TimeType, UnknownType, TimestampNanoType, TimestamptzNanoType,
    VariantType, GeometryType, GeographyType,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WriteEngine:
    """The engine of a write and the reason for it, in words."""

    engine: Engine
    reason: str


def write_engine(context: WriteContext, requested: Engine | None = None) -> WriteEngine:
    """Choose the engine that writes frames to a table.

    Raises UnsupportedError where `native` is asked for and Spark's writer would not do, naming
    why, and InvalidOptionError for another engine.
    """
    if requested not in (None, "native", "arrow"):
        raise InvalidOptionError(f"engine: '{requested}' is unknown; use 'native' or 'arrow'")
    if requested == "arrow":
        return WriteEngine("arrow", "it was asked for")
    problem = obstacle(context)
    if problem is None:
        return WriteEngine("native", "Spark's Parquet writer can write everything here")
    if requested == "native":
        raise UnsupportedError(f"The native engine can't write this: {problem}; use engine='arrow'")
    return WriteEngine("arrow", problem)


def obstacle(context: WriteContext) -> str | None:
    """Return what Spark's Parquet writer can't honour, None where nothing is in the way."""
    if context.file_format is not FileFormat.PARQUET:
        return f"files are {context.file_format.lower()}, not parquet"
    return _location(context) or _encoding(context) or _columns(context.schema)


def _location(context: WriteContext) -> str | None:
    if bool_property(context.properties, OBJECT_STORE_ENABLED):
        return f"{OBJECT_STORE_ENABLED} asks for hashed file locations"
    folder = data_folder(context.table_location, context.properties)
    store = location.store_of(folder)
    if store not in _SAFE_STORES:
        return f"Spark's committer is not safe on {store}"
    return None


def _encoding(context: WriteContext) -> str | None:
    options = parquet_options(WriterProperties(context.properties))
    if options.codec == "brotli":
        return "Spark has no brotli codec"
    if options.codec == "gzip" and options.level is not None:
        return "Spark's gzip codec has no level to choose"
    return None


def _columns(schema: Schema) -> str | None:
    if not schema.fields:
        return "the table has no columns"
    for field_id in schema.field_ids:
        name = schema.find_column_name(field_id)
        problem = _column(
            schema.find_field(field_id), nested=schema.parent_id(field_id) is not None
        )
        if problem:
            return f"column '{name}' {problem}"
    return _same_names(schema.fields)


def _column(field: NestedField, *, nested: bool) -> str | None:
    match field.field_type:
        case ListType() | MapType():
            return "is a list or map, whose parts get no field ids from Spark"
        case kind if isinstance(kind, _OTHER_TYPES):
            return f"has type {kind}, which Spark would write as another"
        case StructType(fields=()):
            return "is a struct without fields"
        case kind if field.write_default is not None and (nested or isinstance(kind, StructType)):
            return "has a write default in or as a struct"
        case kind if field.required and (nested or isinstance(kind, StructType)):
            return "is required in or as a struct, which a footer can't prove"
        case _:
            return None


def _same_names(fields: Iterable[NestedField]) -> str | None:
    counted = Counter(field.name.lower() for field in fields)
    for name, count in counted.items():
        if count > 1:
            return f"columns '{name}' differ only by case"
    for field in fields:
        if isinstance(field.field_type, StructType) and (
            problem := _same_names(_children(field.field_type))
        ):
            return problem
    return None


def _children(kind: IcebergType) -> tuple[NestedField, ...]:
    return kind.fields if isinstance(kind, StructType) else ()
