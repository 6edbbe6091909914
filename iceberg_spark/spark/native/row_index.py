"""The place of a row in its data file, as Spark's own Parquet reader gives it."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql.types import LongType, StructField

_COLUMN = "_tmp_metadata_row_index"
"""Under this name in a read schema Spark's reader gives the place as a column of its own. Through
`_metadata` Spark makes a struct for every row, which takes longer than to read a number."""
_NONE = "This Spark gives no row_index of Parquet files: read with the Arrow engine"


def index_fields(names: Collection[str]) -> list[StructField]:
    """Return what the read schema of a relation with other columns of these names needs."""
    taken = {name.lower() for name in names}
    return [] if _COLUMN in taken else [StructField(_COLUMN, LongType(), True)]


def index_text(fields: Collection[StructField]) -> str:
    """Return an SQL expression for the place, of a relation with what `index_fields` returned."""
    return _COLUMN if fields else "_metadata.row_index"


def or_raise(text: str, position: str, kind: str) -> str:
    """Return an SQL expression of type `kind` that raises where it and the place are NULL.

    A Spark that knows no such column would read NULL, and no delete would be applied.
    """
    return f"coalesce({text}, if({position} is null, cast(raise_error('{_NONE}') as {kind}), null))"
