"""`writeTo` and `mergeInto` of an enabled session's DataFrames, for Iceberg tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame

from iceberg_spark.api.merge import MergeBuilder
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.pyspark_hooks.frame_writer import FrameWriter
from iceberg_spark.pyspark_hooks.spark_errors import translated_methods
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.catalyst.classic_frame import alias_of
from iceberg_spark.spark.catalyst.column_texts import MergeNames, check_column, column_text
from iceberg_spark.spark.session.error_conditions import NO_MERGE_ACTION, with_condition
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.evolving_columns import Assigned, evolving_columns, star_values
from iceberg_spark.spark.sql.named_relation import folding
from iceberg_spark.spark.sql.qualifiers import paths
from iceberg_spark.spark.sql.struct_coercion import StructCoercion, coerces_structs
from iceberg_spark.spark.sql.table_names import table_parts
from iceberg_spark.spec.quoted_name import quoted_parts
from iceberg_spark.spec.schema import Schema
from iceberg_spark.statements.target import Name, names_table
from iceberg_spark.statements.write_target import WriteTarget, resolve_write_target

_SOURCE = "source"
_OF_SOURCE = ("matched", "not_matched")


class FrameMerge:
    """The clauses of a merge, in order; `merge` runs it.

    The target is called as its name ends (`t` of "cat.db.t") or as more of it does, the source as
    `df.alias` calls it, or `source`. A column of the source frame itself (`df.id`) is the source's.
    """

    __slots__ = ("_clauses", "_condition", "_evolves", "_frame", "_name")

    def __init__(self, frame: DataFrame, name: Name, condition: Column) -> None:
        check_column("The condition of mergeInto", condition)
        self._frame = frame
        self._name = name
        self._condition = condition
        self._clauses: list[_ColumnClause] = []
        self._evolves = False

    def whenMatched(self, condition: Column | None = None) -> _Clause:  # noqa: N802 - PySpark's
        """Begin a clause for rows that are in both."""
        return _Clause(self, "matched", condition)

    def whenNotMatched(self, condition: Column | None = None) -> _Clause:  # noqa: N802 - PySpark's
        """Begin a clause for rows of the source only."""
        return _Clause(self, "not_matched", condition)

    def whenNotMatchedBySource(self, condition: Column | None = None) -> _Clause:  # noqa: N802
        """Begin a clause for rows of the target only."""
        return _Clause(self, "not_matched_by_source", condition)

    def withSchemaEvolution(self) -> FrameMerge:  # noqa: N802 - PySpark's name
        """Give the table the source's new columns, in the same commit."""
        self._evolves = True
        return self

    def merge(self) -> None:
        """Run the merge; one commit.

        Raises InvalidInputError without a clause, UnsupportedError for a column without SQL text.
        """
        if not self._clauses:
            error = InvalidInputError("mergeInto needs a clause: whenMatched().updateAll(), ...")
            raise with_condition(error, NO_MERGE_ACTION)
        destination = resolve_write_target(self._frame.sparkSession, self._name)
        names = self._names(destination)
        text = partial(column_text, self._frame.sparkSession, names=names)
        clauses = [clause.to_texts(text) for clause in self._clauses]
        if self._evolves:
            columns = from_spark(self._frame.schema)
            destination = destination.with_columns(
                self._evolving(destination, columns, clauses, names)
            )
            names = replace(names, columns=_columns(destination))
        values = self._values_of_stars(destination, names)
        clauses = [clause.with_stars(values.get(clause.does)) for clause in clauses]
        with destination.verbs() as verbs:
            builder = verbs.merge(
                self._frame,
                text(self._condition),
                branch=destination.branch,
                snapshot_properties=destination.properties,
                case_sensitive=destination.case_sensitive,
                aliases=(names.target[-1], names.alias),
            )
            for clause in clauses:
                builder = clause.on(builder, names)
            builder.execute()

    def _values_of_stars(
        self, destination: WriteTarget, names: MergeNames
    ) -> dict[str, Mapping[str, str] | None]:
        """Return what updateAll and insertAll set, by `update` and `insert`; None for all."""
        coerces = coerces_structs(self._frame.sparkSession)
        if not (self._evolves or coerces):
            return {}
        columns, case = from_spark(self._frame.schema), destination.case_sensitive
        stars = None
        if self._evolves:
            stars = star_values(columns, destination.schema, names.alias, case_sensitive=case)
        if not coerces:
            return {"update": stars, "insert": stars}
        structs = StructCoercion(
            columns, destination.schema, names.alias, names.target[-1], case, self._evolves
        )
        return {"update": structs.updates() or stars, "insert": structs.inserts() or stars}

    def _names(self, destination: WriteTarget) -> MergeNames:
        """Return the qualifiers of columns; the source is `source` if no column uses its alias."""
        target = self._name[:-1] if destination.is_named else self._name
        fold = folding(destination.case_sensitive)
        alias = alias_of(self._frame)
        names = MergeNames(self._frame, _SOURCE, alias, target, _columns(destination), fold)
        if alias is None or not self._calls(alias, replace(names, target=())):
            return names
        return replace(names, alias=alias)

    def _calls(self, alias: str, names: MergeNames) -> bool:
        """Return whether a column is qualified by an alias, except the source frame's own."""
        spark, fold = self._frame.sparkSession, names.fold
        dialect = session_dialect(spark)
        columns = [
            self._condition,
            *(column for clause in self._clauses for column in clause.columns),
        ]
        texts = [column_text(spark, column, names) for column in columns]
        qualifiers = (path.parts[0] for text in texts for path in paths(text, dialect))
        return any(fold(qualifier) == fold(alias) for qualifier in qualifiers)

    def _evolving(
        self,
        destination: WriteTarget,
        columns: Schema,
        text_clauses: Sequence[_TextClause],
        names: MergeNames,
    ) -> Schema:
        """Return the columns of the frame that the table is to have."""
        clauses = [
            clause
            for clause in text_clauses
            if clause.kind in _OF_SOURCE and clause.does != "delete"
        ]
        assigned = Assigned(
            any(clause.values is None for clause in clauses),
            [
                (quoted_parts(column) or tuple(column.split(".")), text)
                for clause in clauses
                for column, text in (clause.values or {}).items()
            ],
            target=[names.target[start:] for start in range(len(names.target))],
            source=((names.alias,),),
        )
        dialect = session_dialect(self._frame.sparkSession)
        case = destination.case_sensitive
        return evolving_columns(columns, assigned, dialect, case_sensitive=case)

    def _with(
        self, kind: str, does: str, condition: Column | None, values: Mapping[str, Any] | None
    ) -> FrameMerge:
        if condition is not None:
            check_column("The condition of a clause", condition)
        for column, value in (values or {}).items():
            check_column(f"The value of '{column}'", value)
        assignments = None if values is None else dict(values)
        self._clauses.append(_ColumnClause(kind, does, condition, assignments))
        return self


def _columns(destination: WriteTarget) -> frozenset[str]:
    fold = folding(destination.case_sensitive)
    return frozenset(fold(field.name) for field in destination.schema.fields)


@dataclass(frozen=True, slots=True, eq=False)
class _ColumnClause:
    """A clause with PySpark's columns, as the caller passed it."""

    kind: str
    does: str
    condition: Column | None
    values: Mapping[str, Column] | None

    @property
    def columns(self) -> list[Column]:
        """All columns in it."""
        own = [] if self.condition is None else [self.condition]
        return [*own, *(self.values or {}).values()]

    def to_texts(self, text: Callable[[Column], str]) -> _TextClause:
        """Return the clause with SQL texts."""
        condition = None if self.condition is None else text(self.condition)
        if self.values is None:
            return _TextClause(self.kind, self.does, condition, None)
        values = {column: text(value) for column, value in self.values.items()}
        return _TextClause(self.kind, self.does, condition, values)


@dataclass(frozen=True, slots=True)
class _TextClause:
    kind: str
    does: str
    condition: str | None
    values: dict[str, str] | None

    def with_stars(self, stars: Mapping[str, str] | None) -> _TextClause:
        """Return a clause that sets all columns with the values of these, if there are any."""
        sets_all = self.values is None and self.kind in _OF_SOURCE and self.does != "delete"
        return replace(self, values=dict(stars)) if stars and sets_all else self

    def on(self, builder: MergeBuilder, names: MergeNames) -> MergeBuilder:
        """Return the builder with this clause."""
        assignments = None if self.values is None else names.assigned(self.values)
        match self.kind, self.does, assignments:
            case "matched", "delete", _:
                return builder.when_matched_delete(self.condition)
            case "matched", _, None:
                return builder.when_matched_update_all(self.condition)
            case "matched", _, values:
                return builder.when_matched_update(values or {}, self.condition)
            case "not_matched", _, None:
                return builder.when_not_matched_insert_all(self.condition)
            case "not_matched", _, values:
                return builder.when_not_matched_insert(values or {}, self.condition)
            case _, "delete", _:
                return builder.when_not_matched_by_source_delete(self.condition)
            case _, _, None:
                raise InvalidInputError("Rows of the target only have no source for updateAll()")
            case _, _, values:
                return builder.when_not_matched_by_source_update(values or {}, self.condition)


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause whose action is to come; each kind has some of these."""

    merge: FrameMerge
    kind: str
    condition: Column | None

    def updateAll(self) -> FrameMerge:  # noqa: N802 - PySpark's name
        """Set all columns to the source's."""
        return self._does("update", None, "matched", "not_matched_by_source")

    def update(self, assignments: Mapping[str, Column]) -> FrameMerge:
        """Set columns."""
        return self._does("update", assignments, "matched", "not_matched_by_source")

    def delete(self) -> FrameMerge:
        """Delete the rows."""
        return self._does("delete", None, "matched", "not_matched_by_source")

    def insertAll(self) -> FrameMerge:  # noqa: N802 - PySpark's name
        """Insert the source's rows."""
        return self._does("insert", None, "not_matched")

    def insert(self, assignments: Mapping[str, Column]) -> FrameMerge:
        """Insert rows of these values."""
        return self._does("insert", assignments, "not_matched")

    def _does(self, does: str, values: Mapping[str, Any] | None, *kinds: str) -> FrameMerge:
        if self.kind not in kinds:
            raise InvalidInputError(f"A clause of rows {self.kind.replace('_', ' ')} can't {does}")
        return self.merge._with(self.kind, does, self.condition, values)


Method: TypeAlias = Callable[..., Any]

_Writer = type("FrameWriter", (FrameWriter,), translated_methods(FrameWriter))
_Merge = type("FrameMerge", (FrameMerge,), translated_methods(FrameMerge))


def hooked_frames() -> Mapping[str, Callable[[Method], Method]]:
    """Return the hooks of methods of PySpark's `DataFrame`, by the methods' names."""
    return {"writeTo": _write_to, "mergeInto": _merge_into}


def _write_to(own: Method) -> Method:
    def write_to(self: DataFrame, table: str) -> Any:
        name = table_parts(self.sparkSession, table, new=True)
        is_iceberg = names_table(self.sparkSession, name)
        return _Writer(self, name) if is_iceberg else own(self, table)

    return write_to


def _merge_into(own: Method) -> Method:
    def merge_into(self: DataFrame, table: str, condition: Column) -> Any:
        name = table_parts(self.sparkSession, table)
        is_iceberg = names_table(self.sparkSession, name)
        return _Merge(self, name, condition) if is_iceberg else own(self, table, condition)

    return merge_into
