"""MERGE as a builder: `t.merge(source, "t.id = s.id").when_matched_update_all().execute()`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from iceberg_spark.engines.write_rows import RowSource
from iceberg_spark.errors import (
    CommitFailedException,
    InvalidInputError,
    InvalidTypeError,
    ValidationException,
)
from iceberg_spark.row_level.merge_clause import Does, Kind, MergeClause, check_order
from iceberg_spark.row_level.row_level_change import MERGE_NAMES, ChangedRows, Names
from iceberg_spark.spec.arguments import format_value
from iceberg_spark.spec.txn import Token


@dataclass(frozen=True, slots=True, eq=False)
class MergeRequest:
    """A merge as it was written."""

    source: RowSource
    on: str
    branch: str | None = None
    snapshot_properties: Mapping[str, str] | None = None
    case_sensitive: bool = True
    clauses: tuple[MergeClause, ...] = ()
    names: Names = MERGE_NAMES
    token: Token | None = None

    def __post_init__(self) -> None:
        condition: object = self.on
        if not isinstance(condition, str) or not condition.strip():
            raise InvalidTypeError(
                f"merge() takes its condition as text, as in 't.id = s.id' (t is the target, s the "
                f"source), not {format_value(self.on)}"
            )


@dataclass(frozen=True, slots=True, repr=False)
class MergeBuilder:
    """The clauses of a merge, in order: of one kind the first whose condition holds applies.

    In conditions and values the target is `t`, the source `s`. Each method returns the builder
    with one clause more; `execute` runs it. Only the last clause of a kind may have no condition.
    """

    request: MergeRequest
    run: Callable[[MergeRequest], ChangedRows]
    refresh: Callable[[], object]

    def __repr__(self) -> str:
        request = self.request
        source = type(request.source).__name__
        lines = [_clause_text(clause) for clause in request.clauses] or ["  no clause yet"]
        return "\n".join([f"Merge of a {source} on {request.on}, not executed:", *lines])

    def when_matched_update(
        self, values: Mapping[str, str], condition: str | None = None
    ) -> MergeBuilder:
        """Set columns of matched rows.

        Args:
            values: SQL expressions by column of the target.
            condition: A SQL predicate that must hold, too.

        Examples:
            >>> merge = t.merge(rows, "t.id = s.id")
            >>> merge.when_matched_update({"amount": "s.amount + t.amount"}).execute()
        """
        return self._with(Kind.MATCHED, Does.UPDATE, condition, values)

    def when_matched_update_all(self, condition: str | None = None) -> MergeBuilder:
        """Set all columns of matched rows to the source's columns of the same names.

        Args:
            condition: A SQL predicate that must hold, too.

        Examples:
            >>> t.merge(rows, "t.id = s.id").when_matched_update_all("s.amount > 0").execute()
        """
        return self._with(Kind.MATCHED, Does.UPDATE, condition)

    def when_matched_delete(self, condition: str | None = None) -> MergeBuilder:
        """Delete matched rows.

        Args:
            condition: A SQL predicate that must hold, too.

        Examples:
            >>> t.merge(rows, "t.id = s.id").when_matched_delete("s.amount < 0").execute()
        """
        return self._with(Kind.MATCHED, Does.DELETE, condition)

    def when_not_matched_insert(
        self, values: Mapping[str, str], condition: str | None = None
    ) -> MergeBuilder:
        """Insert source rows that match no target row; columns without a value become NULL.

        Args:
            values: SQL expressions by column of the target.
            condition: A SQL predicate that must hold, too.

        Examples:
            >>> merge = t.merge(rows, "t.id = s.id")
            >>> merge.when_not_matched_insert({"id": "s.id", "region": "'eu'"}).execute()
        """
        return self._with(Kind.NOT_MATCHED, Does.INSERT, condition, values)

    def when_not_matched_insert_all(self, condition: str | None = None) -> MergeBuilder:
        """Insert source rows that match no target row, column by name.

        Args:
            condition: A SQL predicate that must hold, too.

        Examples:
            >>> t.merge(rows, "t.id = s.id").when_not_matched_insert_all().execute()
        """
        return self._with(Kind.NOT_MATCHED, Does.INSERT, condition)

    def when_not_matched_by_source_update(
        self, values: Mapping[str, str], condition: str | None = None
    ) -> MergeBuilder:
        """Set columns of target rows that no source row matches.

        Args:
            values: SQL expressions by column of the target.
            condition: A SQL predicate that must hold, too.

        Examples:
            >>> merge = t.merge(rows, "t.id = s.id")
            >>> merge.when_not_matched_by_source_update({"amount": "0"}, "t.id > 100").execute()
        """
        return self._with(Kind.BY_SOURCE, Does.UPDATE, condition, values)

    def when_not_matched_by_source_delete(self, condition: str | None = None) -> MergeBuilder:
        """Delete target rows that no source row matches.

        Args:
            condition: A SQL predicate that must hold, too.

        Examples:
            >>> merge = t.merge(rows, "t.id = s.id")
            >>> merge.when_not_matched_by_source_delete("t.region = 'eu'").execute()
        """
        return self._with(Kind.BY_SOURCE, Does.DELETE, condition)

    def execute(self, max_attempts: int = 1) -> ChangedRows:
        """Run the merge, commit it, and return the counts of inserted, updated and deleted rows.

        Args:
            max_attempts: How often it may run in all. After a conflict with another commit it runs
                again on the newest version, and reads the source again.

        Raises:
            ValidationException: It conflicts with another commit.
            InvalidInputError: Several source rows match a target row.

        Examples:
            >>> merge = t.merge(rows, "t.id = s.id").when_matched_update_all()
            >>> merge.execute(max_attempts=3).updated
        """
        if max_attempts < 1:
            raise InvalidInputError(f"max_attempts must be at least 1, not {max_attempts!r}")
        for _ in range(max_attempts - 1):
            try:
                return self.run(self.request)
            except (ValidationException, CommitFailedException):
                self.refresh()
        return self.run(self.request)

    def _with(
        self,
        kind: Kind,
        does: Does,
        condition: str | None,
        values: Mapping[str, str] | None = None,
    ) -> MergeBuilder:
        if condition is not None and not isinstance(condition, str):
            raise InvalidTypeError(f"The condition must be SQL text, not {condition!r}")
        if values is not None and not isinstance(values, Mapping):
            raise InvalidTypeError(f"Values must be a dict of SQL texts, not {values!r}")
        clause = MergeClause(kind, does, condition, None if values is None else dict(values))
        clauses = (*self.request.clauses, clause)
        check_order(clauses)
        return replace(self, request=replace(self.request, clauses=clauses))


def _clause_text(clause: MergeClause) -> str:
    when = f" if {clause.condition}" if clause.condition else ""
    values = clause.values or {}
    assignments = ", ".join(f"{name} = {value}" for name, value in values.items())
    return f"  {clause.name}{when}{': ' + assignments if assignments else ''}"
