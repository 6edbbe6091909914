"""The names of columns that changes add to the rows of tables and sources."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from iceberg_spark.errors import InvalidSchemaError

_PREFIX = "__iceberg_"
CLAUSE = f"{_PREFIX}clause"
"""The number of the clause of a merge that a row met, from 1; 0 for none."""
ACTION = f"{_PREFIX}action"
SOURCE_ROW, MATCHED_ROW = f"{_PREFIX}source_row", f"{_PREFIX}matched_row"
"""The number of a row of a merge's source, and of one that met a row of the target."""
RUN = f"{_PREFIX}run"
"""A number of the run: a frame that is kept shares nothing with another of the same plan."""
MATCHES = f"{_PREFIX}matches"
"""Whether a row meets the condition of an update."""
SEQUENCE = f"{_PREFIX}upsert_sequence"
"""The column of a numbered frame that says which row came before which."""


def check_names(whose: str, names: Iterable[str], others: Collection[str] = ()) -> None:
    """Refuse columns that are named as ours or as one of `others`, whatever their case.

    Raises InvalidSchemaError naming the column; `whose` is "The table", for example.
    """
    for name in names:
        if name.lower().startswith(_PREFIX) or name.lower() in others:
            raise InvalidSchemaError(
                f"{whose} has column '{name}', a name that is needed for the change itself; "
                "rename the column"
            )
