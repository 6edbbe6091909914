"""Numbers by which queries are planned."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ParsingLimits:
    """How much of what queries said is kept for when they are asked again."""

    kept: int = 16
    """Queries whose trees are kept."""
    longest_kept: int = 20_000
    """Characters, which make a tree of 4 MB; those of longer texts are not kept."""
    kept_answers: int = 128
    """What was asked of a tree about its tables and their columns, and is kept with it."""
    constants: int = 64
    """Lists of constant parts whose values are kept."""


PARSING = ParsingLimits()

MOST_VIEWS = 1_000
"""Views that one statement reads, repeated ones counted each time. Each takes 10 ms to plan, and a
view that reads the one below it twice doubles their number: 20 such levels would take hours."""
