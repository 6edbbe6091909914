"""Changes in the form of the caller, prepared to be applied: their order and their operation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from iceberg_spark.arrow.from_arrow import from_arrow
from iceberg_spark.arrow.input_rows import input_batches
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import is_frame, session_dialect, session_time_zone
from iceberg_spark.engines.write_rows import RowSource
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.build import Predicate, as_unbound
from iceberg_spark.expr.logic import field_ids
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.expr.row_filter import row_filter
from iceberg_spark.row_level.cdc_events import DELETE, OPERATION, SEQUENCE, TRUNCATE, UPSERT
from iceberg_spark.spec.schema import Schema

Condition: TypeAlias = Any
"""SQL text, a predicate, or a PySpark Column (which ships no types)."""

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
_WORDS = re.compile(r"\w+")
_COLUMN = re.compile(r"Column<'(.*)'>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class CdcInput:
    """Rows with `SEQUENCE` and `OPERATION`: an Arrow table, or a DataFrame if there are many.

    `schema` has the rows' own columns. `sequence` is the column that orders them (None: an
    expression). `controls` are the columns that conditions may use.
    """

    rows: pa.Table | on_spark.DataFrame
    schema: Schema
    sequence: str | None
    controls: frozenset[str]

    @contextmanager
    def held(self) -> Iterator[CdcInput]:
        """Persist a DataFrame's rows while the block runs, so that all passes see the same rows."""
        if isinstance(self.rows, pa.Table):
            yield self
        else:
            with on_spark.kept_rows(self.rows) as cached:
                yield replace(self, rows=cached)

    @property
    def names(self) -> tuple[str, ...]:
        """The rows' own columns."""
        return tuple(field.name for field in self.schema.fields if field.name not in _OURS)


_OURS = (SEQUENCE, OPERATION)


def column_names(columns: Sequence[Any] | None, what: str) -> tuple[str, ...] | None:
    """Return names of columns, which may be PySpark columns."""
    if columns is None:
        return None
    if isinstance(columns, str):
        raise InvalidInputError(f"{what} must be a list of columns, as in {what}=['{columns}']")
    return tuple(_plain_name(column) or str(column) for column in columns)


def _plain_name(column: object) -> str | None:
    """Return the name of a column, None for an expression."""
    if isinstance(column, str):
        return column
    match = _COLUMN.fullmatch(repr(column))
    return None if match is None else match.group(1)


def cdc_input(
    rows: RowSource,
    sequence_by: Condition,
    deletes: Condition | None,
    truncates: Condition | None,
) -> CdcInput:
    """Evaluate the rows once: their sequence, and which are deletes and truncations.

    A DataFrame that fits the driver is collected as Arrow. Raises InvalidInputError,
    InvalidExpressionError.
    """
    if is_frame(rows):
        return _of_frame(rows, sequence_by, deletes, truncates)
    schema, batches = input_batches(rows)
    table = pa.Table.from_batches(batches, schema)
    check_own_names(table.column_names)
    name = _plain_name(sequence_by)
    if name is None or name not in table.column_names:
        raise InvalidInputError(
            f"sequence_by must name a column of the rows, not {sequence_by!r}; they have: "
            f"{', '.join(table.column_names)}. Expressions need a Spark frame"
        )
    does = np.full(table.num_rows, UPSERT, np.int8)
    controls: set[str] = set()
    for what, number in ((deletes, DELETE), (truncates, TRUNCATE)):
        if what is not None:
            mask, named = _matches(table, what)
            does[mask] = number
            controls |= named
    own = from_arrow(table.schema)
    table = table.append_column(SEQUENCE, table.column(name))
    table = table.append_column(OPERATION, pa.array(does))
    return CdcInput(table, own, name, frozenset(controls))


def _of_frame(
    frame: on_spark.DataFrame,
    sequence_by: Condition,
    deletes: Condition | None,
    truncates: Condition | None,
) -> CdcInput:
    check_own_names(frame.columns)
    name = _plain_name(sequence_by)
    named = name if name in frame.columns else None
    changes = on_spark.cdc_rows(frame, sequence_by if named is None else named, deletes, truncates)
    conditions = [condition for condition in (deletes, truncates) if condition is not None]
    controls = frozenset(
        name for condition in conditions for name in _named(frame.columns, condition)
    )
    return CdcInput(changes, on_spark.from_spark(frame.schema), named, controls)


def _named(names: Sequence[str], condition: Condition) -> list[str]:
    """Return the columns whose names occur in SQL text, or in a PySpark column, outside of quotes.

    PySpark shows string literals without quotes, so words in them count too.
    """
    is_text = isinstance(condition, str)
    shown = _QUOTED.sub(" ", condition) if is_text else _plain_name(condition) or str(condition)
    plain = shown.lower()
    words = set(_WORDS.findall(plain))
    return [
        name
        for name in names
        if name.lower() in words or (_WORDS.fullmatch(name) is None and name.lower() in plain)
    ]


def check_own_names(names: Sequence[str]) -> None:
    """Raise InvalidInputError for columns with names that this library uses."""
    for name in names:
        if name.lower() in _OURS:
            raise InvalidInputError(f"Column '{name}' has a name that changes need; rename it")


def _matches(table: pa.Table, condition: Condition) -> tuple[Any, set[str]]:
    """Return the mask of the rows for which a condition is true, and the columns in it."""
    if not isinstance(condition, str | Predicate | Unbound):
        raise InvalidInputError(
            f"{condition!r} is not a condition on Arrow rows: use SQL text or a Spark DataFrame"
        )
    schema = from_arrow(table.schema)
    bound = bind(
        schema,
        as_unbound(condition, session_dialect()),
        time_zone=session_time_zone(),
    )
    paths = {
        number: tuple(schema.find_field(step_id).name for step_id in schema.path_ids(number))
        for number in schema.field_ids
    }
    used = {paths[number][0] for number in field_ids(bound)}
    if isinstance(condition, str):  # what it says of a column may be true of all its rows
        used.update(_named(table.column_names, condition))
    mask = row_filter(bound, paths)(table.combine_chunks()).to_numpy(zero_copy_only=False)
    return mask, used
