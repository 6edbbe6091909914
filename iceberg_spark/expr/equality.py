"""An equality between two tables, part of a condition over both."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Equality:
    """A conjunct `column = other`: a column of one table, and SQL over the other table only."""

    column: str
    other: str
    null_safe: bool
