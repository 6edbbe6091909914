"""The rows that the clauses of a MERGE return.

All columns are flat and addressed by position. With a struct for each clause Spark takes five times
as long for 300 columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType

from iceberg_spark.row_level.merge_clause import Does, Kind
from iceberg_spark.spark.adapt.many_columns import by_position, plain, select_as
from iceberg_spark.spark.adapt.types import write_default_text
from iceberg_spark.spark.row_level.inner_fields import check_inner_names
from iceberg_spark.spark.row_level.merge_clauses import Clause, Clauses
from iceberg_spark.spark.row_level.target_rows import CLAUSE, row_type
from iceberg_spark.spec.quoted_name import quote


def merge_output(
    clauses: Clauses,
    met: DataFrame,
    kinds: Iterable[Kind],
    passed_columns: Sequence[str] = (),
    *,
    old: bool = False,
) -> DataFrame:
    """Return some columns, and the rows that clauses return for rows with `CLAUSE`.

    The values of a clause are computed for its own rows only, and stored with ANSI casts.

    Args:
        clauses: the clauses of the merge.
        met: rows with the number of the clause that they met.
        kinds: the kinds of clauses to apply.
        passed_columns: columns of `met` to return.
        old: also return rows that met no clause, unchanged.
    """
    makers = [c for c in clauses.of(*kinds) if c.does is not Does.DELETE]
    carried = [*passed_columns, CLAUSE]
    if not makers and not old:
        return met.select(*carried)
    every = row_type(clauses.schema)
    keeps = old or any(clause.keeps_columns for clause in makers)
    assigned = _clause_input(met, carried, makers, clauses, keeps=keeps)
    defaults = {
        field.name: write_default_text(field)
        for field in clauses.schema.fields
        if field.write_default is not None
    }
    typed = assigned.typed(makers, every, defaults)
    numbers = [*(clause.number for clause in makers), *([0] if old else [])]
    texts = [plain(index) for index in range(len(carried))]
    for field in every.fields:
        places = [typed.index(number, field.name) for number in numbers]
        texts.append(_chosen(numbers, places, plain(len(passed_columns))))
    return select_as(by_position(typed.rows), texts, [*carried, *every.names])


@dataclass(frozen=True, slots=True)
class _ClauseInput:
    """The inputs of the rows by position: the passed columns, then the values of each clause.

    `values` are indices by clause and column; `source` and `target` are indices of the columns of
    both sides, by the table's names.
    """

    rows: DataFrame
    carried: Sequence[str]
    values: Mapping[tuple[int, str], int]
    source: Mapping[str, int]
    target: Mapping[str, int]

    def typed(
        self, makers: Sequence[Clause], every: StructType, defaults: Mapping[str, str]
    ) -> _Typed:
        """Return the columns of each clause in the table's types; inserts have defaults as well.

        The name of a column shows its clause, for Spark's errors about its type.
        """
        shown = self.rows.schema.fields[: len(self.carried)]
        fields = [StructField(field.name, field.dataType) for field in shown]
        texts = [plain(index) for index in range(len(fields))]
        names = list(self.carried)
        row_fields = list(fields)
        places: dict[tuple[int, str], int] = {}
        met = plain(len(self.carried) - 1)
        for number, field, text in self._parts(makers, every, defaults, met):
            name = f"{field.name} of clause {number}" if number else f"{field.name} as it was"
            places[number, field.name] = len(fields)
            fields.append(StructField(name, field.dataType))
            if text is not None:
                texts.append(text)
                names.append(name)
                row_fields.append(fields[-1])
        rows = select_as(by_position(self.rows), texts, names)
        check_inner_names(rows, row_fields)
        return _Typed(rows.to(StructType(fields)), places)

    def _parts(
        self,
        makers: Sequence[Clause],
        every: StructType,
        defaults: Mapping[str, str],
        met: str,
    ) -> Iterable[tuple[int, StructField, str | None]]:
        """Yield the number of a clause, a column and its value, None for a missing one."""
        for clause in makers:
            number, values = clause.number, clause.values
            for field in every.fields:
                if values is None and field.name not in self.source:
                    yield number, field, defaults.get(field.name)
                elif values is None:
                    source = plain(self.source[field.name])
                    yield number, field, f"case when {met} = {number} then {source} end"
                elif field.name in values.columns:
                    yield number, field, plain(self.values[number, field.name])
                elif clause.does is Does.INSERT:
                    yield number, field, defaults.get(field.name)
        for field in every.fields if self.target else ():
            yield 0, field, plain(self.target[field.name])


@dataclass(frozen=True, slots=True)
class _Typed:
    """Rows with the columns of each clause, and their indices."""

    rows: DataFrame
    places: Mapping[tuple[int, str], int]

    def index(self, number: int, name: str) -> int:
        """Return the index of a clause's column, or of the old one if it assigns none."""
        position = self.places.get((number, name))
        return self.places[0, name] if position is None else position


def _clause_input(
    met: DataFrame,
    carried: Sequence[str],
    makers: Sequence[Clause],
    clauses: Clauses,
    *,
    keeps: bool,
) -> _ClauseInput:
    assigned = [
        (clause, name)
        for clause in makers
        if clause.values is not None
        for name in sorted(clause.values.columns)
    ]
    values = [
        sf.when(sf.col(CLAUSE) == clause.number, clause.values.value(name, clauses.names.target))
        for clause, name in assigned
        if clause.values is not None
    ]
    takes_all = any(clause.values is None for clause in makers)
    own, source_star = (
        f"{quote(str(name))}.*" for name in (clauses.names.target, clauses.names.source)
    )
    stars = [*([own] if keeps else []), *([source_star] if takes_all else [])]
    rows = met.select(*carried, *values, *stars)
    first = len(carried)
    assigned_at = {
        (clause.number, name): first + index for index, (clause, name) in enumerate(assigned)
    }
    first += len(assigned)
    target = met.select(own).columns if keeps else []
    old = {name: first + index for index, name in enumerate(target)}
    first += len(target)
    source_at = {name: first + index for index, name in enumerate(rows.columns[first:])}
    source = (
        {name: source_at[source_star] for name, source_star in clauses.sources.items()}
        if takes_all
        else {}
    )
    return _ClauseInput(rows, carried, assigned_at, source, old)


def _chosen(numbers: Sequence[int], indices: Sequence[int], met: str) -> str:
    """Return the column of the clause that a row met; the last one applies to all other rows."""
    last = indices[-1]
    cases = [
        f"when {met} = {number} then {plain(index)}"
        for number, index in zip(numbers, indices, strict=True)
        if index != last
    ]
    return f"case {' '.join(cases)} else {plain(last)} end" if cases else plain(last)
