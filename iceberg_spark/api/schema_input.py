"""Schemas as users give them: StructType, pyarrow.Schema, DDL text or Iceberg Schema."""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa
from pyspark.sql.types import StructType

from iceberg_spark.api.ddl import schema_from_ddl
from iceberg_spark.arrow.from_arrow import from_arrow
from iceberg_spark.errors import InvalidTypeError
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spec.schema import Schema

SchemaInput: TypeAlias = StructType | pa.Schema | str | Schema


def as_schema(given: SchemaInput) -> Schema:
    """Return the Iceberg schema of what the user gave.

    Ids are provisional: creating a table assigns fresh ones. Raises InvalidSchemaError,
    UnsupportedError (a type that Iceberg lacks) or InvalidTypeError.
    """
    match given:
        case Schema():
            return given
        case StructType():
            return from_spark(given)
        case pa.Schema():
            return from_arrow(given)
        case str():
            return schema_from_ddl(given)
        case _:
            raise InvalidTypeError(
                "schema must be a StructType, a pyarrow.Schema, DDL text like "
                f"'id bigint, ts timestamp', or an iceberg_spark Schema, not {type(given).__name__}"
            )
