"""`df.mergeInto("cat.db.t", condition)` of an enabled session: PySpark's MergeIntoWriter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame

from iceberg_spark.api.merge import MergeBuilder
from iceberg_spark.api.statements.landing import landing
from iceberg_spark.api.statements.target import Name
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.classic_frame import alias_of
from iceberg_spark.spark.session.column_texts import column_text
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.evolving_columns import Assigned, evolving_columns, star_values
from iceberg_spark.spec.schema import Schema

_SOURCE = "source"
_OF_SOURCE = ("matched", "not_matched")


class FrameMerge:
    """The clauses of a merge, in order; `merge` runs it.

    The target is called as its name ends (`t` of "cat.db.t"), the source as `df.alias` calls it,
    or `source`.
    """

    __slots__ = ("_clauses", "_condition", "_evolves", "_frame", "_name")

    def __init__(self, frame: DataFrame, name: Name, condition: Column) -> None:
        self._frame = frame
        self._name = name
        self._condition = self._text(condition)
        self._clauses: list[_Said] = []
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
        """Run the merge; one commit. Raises InvalidInputError without a clause."""
        if not self._clauses:
            raise InvalidInputError("mergeInto needs a clause: whenMatched().updateAll(), ...")
        goes = landing(self._frame.sparkSession, self._name)
        if self._evolves:
            columns = from_spark(self._frame.schema)
            goes = goes.with_columns(self._evolving(columns))
            self._set_stars(star_values(columns, goes.schema, self._alias()))
        named = self._name[:-1] if goes.is_named else self._name
        with goes.verbs() as verbs:
            builder = verbs.merge(
                self._frame,
                self._condition,
                branch=goes.branch,
                snapshot_properties=goes.properties,
                case_sensitive=goes.case_sensitive,
                aliases=(named[-1], self._alias()),
            )
            for clause in self._clauses:
                builder = clause.on(builder)
            builder.execute()

    def _alias(self) -> str:
        return alias_of(self._frame) or _SOURCE

    def _set_stars(self, values: Mapping[str, str] | None) -> None:
        self._clauses = [
            replace(one, values=dict(values))
            if values and one.values is None and one.kind in _OF_SOURCE and one.does != "delete"
            else one
            for one in self._clauses
        ]

    def _evolving(self, columns: Schema) -> Schema:
        """Return the columns of the frame that the table is to have."""
        spark = self._frame.sparkSession
        clauses = [one for one in self._clauses if one.kind in _OF_SOURCE and one.does != "delete"]
        assigned = Assigned(
            any(one.values is None for one in clauses),
            [
                (tuple(column.split(".")), text)
                for one in clauses
                for column, text in (one.values or {}).items()
            ],
            target=(self._name[-1:],),
            source=((self._alias(),),),
        )
        case = is_case_sensitive(spark)
        return evolving_columns(columns, assigned, session_dialect(spark), case_sensitive=case)

    def _with(
        self, kind: str, does: str, condition: Column | None, values: Mapping[str, Any] | None
    ) -> FrameMerge:
        given = None
        if values is not None:
            given = {column: self._text(value) for column, value in values.items()}
        said = None if condition is None else self._text(condition)
        self._clauses.append(_Said(kind, does, said, given))
        return self

    def _text(self, column: Column) -> str:
        return column_text(self._frame.sparkSession, column)


@dataclass(frozen=True, slots=True)
class _Said:
    kind: str
    does: str
    condition: str | None
    values: dict[str, str] | None

    def on(self, builder: MergeBuilder) -> MergeBuilder:
        """Return the builder with this clause."""
        match self.kind, self.does, self.values:
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
