"""Columns of rows matched to a table's by name, with the errors of Spark's writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from iceberg_spark.errors import (
    ColumnAlreadyExistsError,
    InvalidSchemaError,
    NoSuchColumnError,
    TooManyColumnsError,
)
from iceberg_spark.spark.session.error_conditions import (
    AMBIGUOUS_COLUMN_NAME,
    COLUMN_ALREADY_EXISTS,
    EXTRA_COLUMNS,
    with_condition,
)
from iceberg_spark.spec.nearest import did_you_mean, listed


def check_columns_by_name(
    names: Sequence[str], table_names: Sequence[str], fold: Callable[[str], str]
) -> None:
    """Refuse rows with columns that the table does not have, or with one of a name twice.

    `fold` returns the form of a name in which the session compares names. Raises
    TooManyColumnsError, NoSuchColumnError, InvalidSchemaError, in the order of Spark's checks.
    """
    folded_names = {fold(name) for name in table_names}
    unknown = [name for name in names if fold(name) not in folded_names]
    there = f"it has: {listed(table_names)}"
    if len(names) > len(table_names):
        shown = f"the table has no column {listed(unknown)}; " if unknown else ""
        raise TooManyColumnsError(
            f"The rows have {len(names)} columns and the table has {len(table_names)}: "
            f"{shown}{there}"
        )
    twice = _repeated(names, fold)
    if twice is not None:
        ambiguous = InvalidSchemaError(f"The rows have more than one column '{twice}'; rename one")
        raise with_condition(ambiguous, AMBIGUOUS_COLUMN_NAME)
    if unknown:
        close = did_you_mean(unknown[0], table_names)
        extra = NoSuchColumnError(f"The table has no column '{unknown[0]}'{close}; {there}")
        raise with_condition(extra, EXTRA_COLUMNS)


def check_listed_once(names: Sequence[str], fold: Callable[[str], str]) -> None:
    """Refuse a list of columns with one of a name twice. Raises ColumnAlreadyExistsError."""
    twice = _repeated(names, fold)
    if twice is not None:
        error = ColumnAlreadyExistsError(f"INSERT lists column '{twice}' twice")
        raise with_condition(error, COLUMN_ALREADY_EXISTS)


def _repeated(names: Sequence[str], fold: Callable[[str], str]) -> str | None:
    counts = Counter(map(fold, names))
    return next((name for name in names if counts[fold(name)] > 1), None)
