"""The rows that the clauses of a merge make of the rows that met them.

All columns are flat, told apart by their places: with a struct for each clause Spark took five
times as long for 300 columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructField, StructType

from iceberg_spark.row_level.merge_clause import Does, Kind
from iceberg_spark.spark.adapt.default_text import write_default_text
from iceberg_spark.spark.adapt.many_columns import by_position, named, plain
from iceberg_spark.spark.row_level.inner_fields import check_inner_names
from iceberg_spark.spark.row_level.merge_clauses import Clause, Clauses
from iceberg_spark.spark.row_level.own_names import CLAUSE
from iceberg_spark.spark.row_level.target_rows import row_type
from iceberg_spark.spec.quoted_name import quoted


def made_rows(
    clauses: Clauses,
    met: DataFrame,
    kinds: Iterable[Kind],
    kept: Sequence[str] = (),
    *,
    old: bool = False,
) -> DataFrame:
    """Return the columns `kept` and the rows that clauses make of rows with `CLAUSE`.

    Each clause's values are worked out for its own rows only, and stored as ANSI says. With
    `old` a row that met no clause stays as it is.
    """
    makers = [c for c in clauses.of(*kinds) if c.does is not Does.DELETE]
    carried = [*kept, CLAUSE]
    if not makers and not old:
        return met.select(*carried)
    every = row_type(clauses.schema)
    keeps = old or any(clause.keeps_columns for clause in makers)
    given = _given(met, carried, makers, clauses, keeps=keeps)
    defaults = {
        field.name: write_default_text(field)
        for field in clauses.schema.fields
        if field.write_default is not None
    }
    typed = given.typed(makers, every, defaults)
    numbers = [*(clause.number for clause in makers), *([0] if old else [])]
    texts = [plain(place) for place in range(len(carried))]
    for field in every.fields:
        places = [typed.place(number, field.name) for number in numbers]
        texts.append(_chosen(numbers, places, plain(len(kept))))
    return named(by_position(typed.rows), texts, [*carried, *every.names])


@dataclass(frozen=True, slots=True)
class _Given:
    """All that rows are made of, by place: what is carried, then each clause's values.

    `values` are places by the number of a clause and a column; `source` and `target` those of the
    source's and the target's columns, by the names that the table has for them.
    """

    rows: DataFrame
    carried: Sequence[str]
    values: Mapping[tuple[int, str], int]
    source: Mapping[str, int]
    target: Mapping[str, int]

    def typed(
        self, makers: Sequence[Clause], every: StructType, defaults: Mapping[str, str]
    ) -> _Typed:
        """Return what each clause gives, of the table's types; inserts give their defaults too.

        A column's name says to whom it belongs, for Spark's errors about its type.
        """
        shown = self.rows.schema.fields[: len(self.carried)]
        fields = [StructField(each.name, each.dataType) for each in shown]
        texts = [plain(place) for place in range(len(fields))]
        names = list(self.carried)
        given = list(fields)
        places: dict[tuple[int, str], int] = {}
        met = plain(len(self.carried) - 1)
        for number, field, text in self._parts(makers, every, defaults, met):
            name = f"{field.name} of clause {number}" if number else f"{field.name} as it was"
            places[number, field.name] = len(fields)
            fields.append(StructField(name, field.dataType))
            if text is not None:
                texts.append(text)
                names.append(name)
                given.append(fields[-1])
        rows = named(by_position(self.rows), texts, names)
        check_inner_names(rows, given)
        return _Typed(rows.to(StructType(fields)), places)

    def _parts(
        self,
        makers: Sequence[Clause],
        every: StructType,
        defaults: Mapping[str, str],
        met: str,
    ) -> Iterable[tuple[int, StructField, str | None]]:
        """Yield a clause's number, a column and its value; None where an insert has none for it."""
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
    """Rows with each clause's columns, and where these are."""

    rows: DataFrame
    places: Mapping[tuple[int, str], int]

    def place(self, number: int, name: str) -> int:
        """Return where a clause's column is; the old one where it assigns no other."""
        found = self.places.get((number, name))
        return self.places[0, name] if found is None else found


def _given(
    met: DataFrame,
    carried: Sequence[str],
    makers: Sequence[Clause],
    clauses: Clauses,
    *,
    keeps: bool,
) -> _Given:
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
    own, given = (f"{quoted(str(name))}.*" for name in (clauses.names.target, clauses.names.source))
    stars = [*([own] if keeps else []), *([given] if takes_all else [])]
    rows = met.select(*carried, *values, *stars)
    first = len(carried)
    at = {(clause.number, name): first + place for place, (clause, name) in enumerate(assigned)}
    first += len(assigned)
    target = met.select(own).columns if keeps else []
    old = {name: first + place for place, name in enumerate(target)}
    first += len(target)
    found = {name: first + place for place, name in enumerate(rows.columns[first:])}
    source = {name: found[given] for name, given in clauses.sources.items()} if takes_all else {}
    return _Given(rows, carried, at, source, old)


def _chosen(numbers: Sequence[int], places: Sequence[int], met: str) -> str:
    """Return a column of the row that the clause made; the last one is for all other rows."""
    last = places[-1]
    cases = [
        f"when {met} = {number} then {plain(place)}"
        for number, place in zip(numbers, places, strict=True)
        if place != last
    ]
    return f"case {' '.join(cases)} else {plain(last)} end" if cases else plain(last)
