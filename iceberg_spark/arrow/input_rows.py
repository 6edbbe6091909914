"""Rows as users hand them over in one process, as Arrow: pyarrow's, pandas', polars', DuckDB's."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from iceberg_spark.errors import InvalidInputError, InvalidSchemaError, InvalidTypeError


def input_batches(rows: Any, what: str = "Rows") -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    """Return the schema and the batches of rows.

    Accepts pyarrow's tables, batches and readers, and anything that exports an Arrow stream. In a
    pandas frame NaN becomes null like in Spark, a named index becomes columns, another index is
    dropped, and times are microseconds. Raises InvalidTypeError, and InvalidInputError for a pandas
    column with values of several types.
    """
    if isinstance(rows, pa.Table):
        return rows.schema, rows.to_batches()
    if isinstance(rows, pa.RecordBatch):
        return rows.schema, [rows]
    if isinstance(rows, pa.RecordBatchReader):
        return rows.schema, rows
    if is_pandas(rows):
        table = _from_pandas(rows)
        return table.schema, table.to_batches()
    if hasattr(rows, "__arrow_c_stream__"):
        reader = _from_stream(rows)
        return reader.schema, reader
    raise InvalidTypeError(
        f"{what} must be a Spark DataFrame, a pyarrow.Table, RecordBatch or RecordBatchReader, or "
        f"a pandas DataFrame, not {type(rows).__name__}{_way_out(rows)}"
    )


def _from_stream(rows: Any) -> pa.RecordBatchReader:
    for column in _polars_columns(rows):
        if column.dtype == sys.modules["polars"].Object:  # its Arrow form is the addresses
            raise _no_arrow_type(column)
    try:
        return pa.RecordBatchReader.from_stream(rows)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as cause:
        for column in _polars_columns(rows):
            try:
                pa.chunked_array(column.clear())
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise _no_arrow_type(column) from cause
        raise InvalidInputError(f"The rows can't be read as Arrow: {cause}") from cause


def _polars_columns(rows: Any) -> list[Any]:
    """Return the columns of a polars DataFrame, without importing polars; none of other rows."""
    polars = sys.modules.get("polars")
    is_polars = polars is not None and isinstance(rows, polars.DataFrame)
    return list(rows.get_columns()) if is_polars else []


def _no_arrow_type(column: Any) -> InvalidSchemaError:
    return InvalidSchemaError(
        f"Column '{column.name}' has polars' type {column.dtype}, which pyarrow has no type for; "
        "cast it"
    )


def is_pandas(rows: object) -> bool:
    """Return whether rows are a pandas DataFrame, without importing pandas."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(rows, pandas.DataFrame)


def _from_pandas(frame: Any) -> pa.Table:
    try:
        if any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
        table = pa.Table.from_pandas(frame, preserve_index=False)
        table = table.replace_schema_metadata()
        return table.cast(pa.schema([_in_microseconds(field) for field in table.schema]))
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = " ".join(str(argument) for argument in error.args)
        raise InvalidInputError(
            f"The pandas DataFrame can't be read as columns of one type each: {reason}. Give each "
            "column a type, with astype(...)"
        ) from error


def _in_microseconds(field: pa.Field) -> pa.Field:
    """Pandas' times are ns, Iceberg's µs; finer values are refused."""
    if pa.types.is_timestamp(field.type):
        return field.with_type(pa.timestamp("us", field.type.tz))
    return field


def _way_out(rows: object) -> str:
    if isinstance(rows, list | tuple):
        return ": make a table of dicts by pyarrow.Table.from_pylist(rows)"
    if isinstance(rows, dict):
        return ": make a table of columns by pyarrow.table(rows)"
    if isinstance(rows, str):
        return ": read files first, as spark.read or pyarrow.parquet.read_table do"
    if hasattr(rows, "to_spark"):
        return ": pass frame.to_spark()"
    return ""
