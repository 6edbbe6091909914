"""Numbers by which queries are planned."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """When a small table's keys are read to prune a large one."""

    read_bytes: int = 8 * 1024 * 1024
    """Bytes of the small table's files: its key and what its condition asks for are read here."""
    rows: int = 1_000_000
    """Rows of the small table: as many keys are held."""
    pruned_bytes: int = 16 * 1024 * 1024
    """Bytes of the large table's files: Spark reads fewer in the time that reading keys takes."""
    files: int = 4
    """Files of the large table, at least."""
    values: int = 200
    """Keys that are compared one by one (Java: IN_PREDICATE_LIMIT); more are ranges."""
    ranges: int = 64
    """Ranges of keys, at most."""


@dataclass(frozen=True, slots=True)
class ParsingLimits:
    """How much of what queries said is kept for when they are asked again."""

    kept: int = 16
    """Queries whose trees are kept."""
    longest_kept: int = 20_000
    """Characters, which make a tree of 4 MB; those of longer texts are not kept."""
    constants: int = 64
    """Lists of constant parts whose values are kept."""


JOINS = JoinLimits()
PARSING = ParsingLimits()
