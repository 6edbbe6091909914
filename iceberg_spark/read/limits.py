"""Numbers by which some of a query's tables are read here to read less of the others."""

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
    kept_bytes: int = 16 * 1024 * 1024
    """Bytes of plans that joins have made smaller, and of those that they are told apart by."""
    kept_plan_bytes: int = 256 * 1024
    """Bytes that one counts for at least, so that they are 64 at most: each has a table's
    metadata."""


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """When the keys of some rows are read to leave out rows of the tables they are joined with."""

    least_rows: int = 1_000_000
    """Rows that some relation of the query has: less is read in the time that keys take."""
    rows: int = 1_000_000
    """Rows of which keys are read: as many keys are held, ..."""
    bytes: int = 32 * 1024 * 1024
    """... bytes of their files, of which some columns are read, ..."""
    files: int = 64
    """... and files."""
    share: float = 0.5
    """Rows that keys leave of a relation, of all, about: a filter that leaves more costs more."""
    readers: int = 8
    """Files at once."""
    cost: float = 1.5
    """To read a row's key costs so many rows that Spark would have to shuffle, ..."""
    scan_cost: float = 0.8
    """... to have Spark read it so many, ..."""
    job_cost: int = 500_000
    """... and a job of Spark's for it so many."""
    spark_share: float = 0.2
    """Rows that other keys leave of a relation whose own keys Spark reads, of all, about."""
    listed: int = 10
    """Keys that are compared one by one, as Spark does with lists; more go to a Bloom filter."""
    bits: int = 8
    """Bits of a Bloom filter for each key: of a hundred rows without a match two pass."""


JOINS = JoinLimits()
KEYS = KeyLimits()
