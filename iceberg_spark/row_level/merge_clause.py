"""The clauses of a MERGE as written by the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from iceberg_spark.errors import InvalidInputError


class Kind(StrEnum):
    """The rows that a clause applies to."""

    MATCHED = "when matched"
    NOT_MATCHED = "when not matched"
    BY_SOURCE = "when not matched by source"


class Does(StrEnum):
    """What a clause does with its rows."""

    UPDATE = "update"
    DELETE = "delete"
    INSERT = "insert"


@dataclass(frozen=True, slots=True)
class MergeClause:
    """A clause of a MERGE; without `values`, all columns come from the source by name."""

    kind: Kind
    does: Does
    condition: str | None = None
    values: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        """The clause's name in messages."""
        return f"{self.kind} {self.does}"


def check_order(clauses: Sequence[MergeClause]) -> None:
    """Raise InvalidInputError for clauses that no row can reach, as SQL does."""
    for kind in Kind:
        mine = [clause for clause in clauses if clause.kind is kind]
        for clause in mine[:-1]:
            if clause.condition is None:
                raise InvalidInputError(
                    f"'{clause.name}' has no condition, so no clause of '{kind}' after it can "
                    "ever apply; give it one or put it last"
                )
