"""Numbers by which deletes are read here or by tasks, and travel or are joined."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PositionLimits:
    """How deletes by position reach the rows."""

    deletes: int = 5_000_000
    """Deleted positions that the driver reads for one frame, about 0.5 s; beyond, tasks do."""
    vector_positions: int = 20
    """Positions of deletion vectors that count for one: a million take a few milliseconds."""
    bitmap_bytes: int = 64 * 1024 * 1024
    """Bytes of bitmaps, a bit for each row, that the driver makes and Spark broadcasts."""
    readers: int = 4
    """Threads that read delete files; decoding releases the GIL, stores take their time."""
    few_files: int = 16
    """Files of which a number, or words of deleted positions, is a value in an expression, at most;
    of words ..."""
    few_bytes: int = 4 * 1024 * 1024
    """... and bytes of these words, each file's as long as the longest's; others are joined."""


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """How deletes by key reach the rows."""

    local_keys: int = 1_000_000
    """Keys that the driver reads, at most, 0.2 s for 300,000; more of them are read by tasks."""
    local_files: int = 512
    """Delete files that the driver reads for them, at most, a millisecond each."""
    local_bytes: int = 16 * 1024 * 1024
    """Bytes of keys that the driver holds and sends with the plan, however few they are."""
    readers: int = 4
    """Delete files that the driver reads at once."""
    slots_a_key: float = 1.25
    """Slots of a table for each key, ..."""
    keys_a_bucket: float = 4
    """... and keys of a bucket, at most on average: so nearly all tables can be made."""
    hashed_value_bytes: int = 512
    """Bytes of a text, at most, that a key's hash is made of; else another column tells it."""
    bits_a_key: int = 16
    """Bits for each key, at least, where one tells by its hash whether a row is looked up."""
    bitmap_keys: int = 2_000_000
    """Integral keys that are read by the driver, at most, some 20 ms for 500,000 ..."""
    bitmap_bytes_per_key: int = 16
    """... and made into bits where these take no more bytes a key than a hash table would."""
    broadcast_bytes: int = 64 * 1024 * 1024
    """Bytes, estimated, of keys that are sent to every executor; more are shuffled and sorted
    with the rows, which spills to disk."""
    hashed_row_bytes: int = 40
    """Approximate bytes of a row in Spark's hash table, without its keys."""
    task_files_bytes: int = 16 * 1024 * 1024
    """Bytes of delete files that one Spark task reads, ..."""
    task_keys_bytes: int = 64 * 1024 * 1024
    """... and bytes of keys in memory, estimated: files may be compressed a hundred times."""
    batch_bytes: int = 8 * 1024 * 1024
    """Bytes that a task hands to the JVM at once, which holds them in memory."""


POSITIONS = PositionLimits()
KEYS = KeyLimits()
KEPT_LIST_BYTES = 64 * 1024 * 1024
"""Bytes of bits and tables of keys that the driver's JVM keeps, for frames that are made again."""
