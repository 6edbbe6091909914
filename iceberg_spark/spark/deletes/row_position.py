"""The place of a row in its data file, as Spark's own Parquet reader gives it."""

from __future__ import annotations

from pyspark.sql.types import LongType, StructField

ROW_INDEX = "_tmp_metadata_row_index"
"""Under this name in a read schema Spark's reader gives the place as a column of its own. Through
`_metadata` Spark makes a struct for every row, which takes longer than to read a number."""
ROW_INDEX_FIELD = StructField(ROW_INDEX, LongType(), True)
_NONE = "This Spark gives no row_index of Parquet files: read with the Arrow engine"


def or_raise(text: str, kind: str) -> str:
    """Return an SQL expression of type `kind` that raises where it and the place are NULL.

    A Spark that knows no such column would read NULL, and no delete would be applied.
    """
    return f"coalesce({text}, if({ROW_INDEX} is null, {no_place(kind)}, null))"


def no_place(kind: str) -> str:
    """Return an SQL expression of type `kind` that raises, for a row whose place is NULL."""
    return f"cast(raise_error('{_NONE}') as {kind})"
