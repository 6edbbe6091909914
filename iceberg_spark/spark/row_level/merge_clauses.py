"""The clauses of a MERGE: which one a row meets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf

from iceberg_spark.errors import InvalidInputError, InvalidSchemaError, MissingFieldsError
from iceberg_spark.row_level.conditions import is_of_one_row
from iceberg_spark.row_level.merge_clause import Does, Kind, MergeClause, check_order
from iceberg_spark.row_level.row_level_change import MERGE_NAMES, Names
from iceberg_spark.spark.row_level.assignments import Assignments, assignments
from iceberg_spark.spark.row_level.position_deletes import DELETE, KEEP, UPDATE
from iceberg_spark.spark.row_level.target_rows import ACTION, CLAUSE
from iceberg_spark.spark.session.error_conditions import (
    INVALID_ASSIGNMENTS,
    UNRESOLVED_COLUMN,
    with_condition,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause matched to the table's columns; `number` is its position, from 1."""

    number: int
    kind: Kind
    does: Does
    condition: str | None
    values: Assignments | None

    @property
    def texts(self) -> tuple[str, ...]:
        """The SQL texts of the clause."""
        own = () if self.condition is None else (self.condition,)
        return own if self.values is None else (*own, *self.values.texts)

    @property
    def keeps_columns(self) -> bool:
        """Whether its rows keep columns of the old row."""
        return self.does is Does.UPDATE and self.values is not None


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of a MERGE into a table; `sources` are the names of the source's columns.

    `names` are the names of target and source in their texts.
    """

    schema: Schema
    every: tuple[Clause, ...]
    sources: Mapping[str, str]
    names: Names = MERGE_NAMES

    def of(self, *kinds: Kind) -> tuple[Clause, ...]:
        """Return the clauses of some kinds in order."""
        return tuple(clause for clause in self.every if clause.kind in kinds)

    @property
    def is_upsert(self) -> bool:
        """Whether the clauses are exactly UPDATE * and INSERT *, without conditions."""
        plain = [(c.kind, c.does) for c in self.every if not c.texts and c.values is None]
        upsert = {(Kind.MATCHED, Does.UPDATE), (Kind.NOT_MATCHED, Does.INSERT)}
        return len(plain) == len(self.every) == 2 and set(plain) == upsert

    @property
    def checks_cardinality(self) -> bool:
        """Whether a target row must match one source row: not if all matched rows go or stay."""
        match self.of(Kind.MATCHED):
            case ():
                return False
            case (Clause(does=Does.DELETE, condition=None),):
                return False
            case _:
                return True

    def ignores_unmet_rows(self, on: str) -> bool:
        """Whether the target could lack the rows that no clause changes, without a difference.

        That does not hold if a source row that matches one of them would be inserted without it.
        """
        inserts = bool(self.of(Kind.NOT_MATCHED))
        every_match = any(c.condition is None for c in self.of(Kind.MATCHED))
        texts = (on, *(text for clause in self.every for text in clause.texts))
        return (every_match or not inserts) and is_of_one_row(texts)

    @property
    def assigned(self) -> frozenset[str]:
        """The columns that update clauses assign."""
        every = frozenset(field.name for field in self.schema.fields)
        updates = [clause.values for clause in self.every if clause.does is Does.UPDATE]
        return frozenset().union(*(every if v is None else v.columns for v in updates))

    def number(self, kind: Kind) -> Column:
        """Return the number of the first clause of a kind whose condition holds, 0 for none."""
        number = sf.lit(0)
        for clause in reversed(self.of(kind)):
            if clause.condition is None:
                number = sf.lit(clause.number)
            else:
                number = sf.when(expression(clause.condition), clause.number).otherwise(number)
        return number

    def numbers(self, does: Does) -> list[int]:
        """Return the numbers of the clauses with an action."""
        return [clause.number for clause in self.every if clause.does is does]

    def action(self) -> Column:
        """Return the action on a target row by the clause that it met."""
        met = sf.col(CLAUSE)
        return (
            sf.when(met.isin(self.numbers(Does.UPDATE)), UPDATE)
            .when(met.isin(self.numbers(Does.DELETE)), DELETE)
            .otherwise(KEEP)
            .alias(ACTION)
        )


def matched_clauses(
    schema: Schema,
    merge_clauses: Sequence[MergeClause],
    source_columns: Sequence[str],
    *,
    case_sensitive: bool,
    rewrite: Callable[[str], str],
    names: Names = MERGE_NAMES,
) -> Clauses:
    """Match clauses to the columns of table and source; `rewrite` is applied to their texts.

    Raises InvalidSchemaError naming a column that one of them lacks, InvalidInputError for a
    merge without clauses.
    """
    if not merge_clauses:
        raise InvalidInputError("The merge has no clause: add one, like when_matched_update_all()")
    check_order(merge_clauses)
    all_columns = {c.does for c in merge_clauses if c.values is None} - {Does.DELETE}
    sources = {}
    if all_columns:
        fills = Does.UPDATE not in all_columns
        sources = _by_name(schema, source_columns, case_sensitive, fills=fills)
    matched = []
    for number, clause in enumerate(merge_clauses, start=1):
        values = None
        if clause.values is not None:
            values = assignments(schema, clause.values, clause.name, case_sensitive=case_sensitive)
            if clause.does is Does.INSERT:
                _check_inserted(schema, values, clause.name)
            values = values.rewritten(rewrite)
        condition = None if clause.condition is None else rewrite(clause.condition)
        matched.append(Clause(number, clause.kind, clause.does, condition, values))
    return Clauses(schema, tuple(matched), sources, names)


def _check_inserted(schema: Schema, values: Assignments, clause_name: str) -> None:
    """Refuse an insert into nested fields, and one without a required column."""
    if values.nested:
        inner = min(values.nested)
        nested = InvalidSchemaError(
            f"{clause_name}: give column '{inner}' a whole value, like named_struct(...)"
        )
        raise with_condition(nested, INVALID_ASSIGNMENTS)
    for field in schema.fields:
        if field.required and field.write_default is None and field.name not in values.columns:
            missing = MissingFieldsError(
                f"{clause_name}: column '{field.name}' is required and gets no value"
            )
            raise with_condition(missing, INVALID_ASSIGNMENTS)


def _by_name(
    schema: Schema, source_columns: Sequence[str], case_sensitive: bool, *, fills: bool
) -> dict[str, str]:
    """Return the source column for each column of the table.

    With `fills`, if rows are only inserted, columns with a write default may be missing.
    """

    def spelled(name: str) -> str:
        return name if case_sensitive else name.lower()

    names_by_key: dict[str, list[str]] = {}
    for name in source_columns:
        names_by_key.setdefault(spelled(name), []).append(name)
    source_of = {}
    for field in schema.fields:
        same = names_by_key.get(spelled(field.name), [])
        if not same and fills and field.write_default is not None:
            continue
        if len(same) != 1:
            columns = ", ".join(source_columns)
            lacks = "lacks" if not same else "has more than one"
            error = InvalidSchemaError(
                f"The source {lacks} column '{field.name}', which all-columns clauses take by "
                f"name; it has: {columns}"
            )
            raise error if same else with_condition(error, UNRESOLVED_COLUMN)
        source_of[field.name] = same[0]
    return source_of
