"""Schemas and types as users give them: PySpark's, Arrow's, DDL text or Iceberg's."""

from __future__ import annotations

from contextlib import suppress
from typing import TypeAlias, cast

import pyarrow as pa

from iceberg_spark.arrow.from_arrow import from_arrow
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import is_struct, is_type
from iceberg_spark.errors import IcebergError, InvalidTypeError
from iceberg_spark.lazy import LazyModule
from iceberg_spark.spec import types as t
from iceberg_spark.spec.compatibility import V3_TYPES
from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import parse_type

_ddl = LazyModule("iceberg_spark.expr.schema_ddl")  # sqlglot is for texts only

SchemaInput: TypeAlias = "on_spark.StructType | pa.Schema | str | Schema"
TypeInput: TypeAlias = "on_spark.DataType | pa.DataType | str | t.IcebergType"
_ICEBERG = (*t.PRIMITIVES, t.VariantType, t.StructType, t.ListType, t.MapType)
_NOT_IN_DDL = (t.FixedType, *V3_TYPES)


def as_schema(value: SchemaInput, *, format_version: int = 2) -> Schema:
    """Return the Iceberg schema of a user's value, for a table of that format version.

    Arrow's nanoseconds become microseconds if the version has none. Ids are provisional: creating
    a table assigns final ones. Raises InvalidSchemaError,
    UnsupportedError (a type that Iceberg lacks) or InvalidTypeError.
    """
    match value:
        case Schema():
            return value
        case theirs if is_struct(theirs):
            return on_spark.from_spark(theirs)
        case pa.Schema():
            return from_arrow(value, nano=rules_of(format_version).has_new_types)
        case str():
            schema: Schema = _ddl.schema_from_ddl(value)
            return schema
        case _:
            raise InvalidTypeError(
                "schema must be a StructType, a pyarrow.Schema, DDL text like "
                f"'id bigint, ts timestamp', or an iceberg_spark Schema, not {type(value).__name__}"
            )


def as_type(value: TypeInput, column: str, *, format_version: int = 2) -> t.IcebergType:
    """Return the Iceberg type of a user's value for a column; ids are provisional.

    Text is Spark's DDL ("bigint", "struct<a: int>"), or a name that only Iceberg has
    ("fixed[16]"). Raises as `as_schema`.
    """
    match value:
        case theirs if is_type(theirs):
            struct = on_spark.StructType([on_spark.StructField(column, theirs)])
            return on_spark.from_spark(struct).fields[0].field_type
        case pa.DataType():
            one_column = pa.schema([pa.field(column, value)])
            return as_schema(one_column, format_version=format_version).fields[0].field_type
        case str():
            return _type_of_text(value)
        case _ if isinstance(value, _ICEBERG):
            return cast("t.IcebergType", value)
        case _:
            raise InvalidTypeError(
                f"The type of column '{column}' must be DDL text like 'bigint', or a PySpark, "
                f"pyarrow or Iceberg type, not {type(value).__name__}"
            )


def _type_of_text(text: str) -> t.IcebergType:
    with suppress(IcebergError):
        kind = parse_type(text)
        if isinstance(kind, _NOT_IN_DDL) and not _is_sparks(kind):
            return kind
    in_ddl: t.IcebergType = _ddl.type_from_ddl(text)
    return in_ddl


def _is_sparks(kind: t.IcebergType) -> bool:
    """Return whether a geometry's CRS is written as Spark's DDL does, a number, or in quotes."""
    if not isinstance(kind, t.GeometryType | t.GeographyType) or not kind.crs:
        return False
    return kind.crs.isdigit() or kind.crs.lower() == "any" or kind.crs[0] in "'\""
