"""Numbers by which a writing task bounds its memory, its open files and its waiting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenFileLimits:
    """Limits of a task's open files and their buffers."""

    files: int = 64
    """Files that are open at once, at most."""
    buffered_bytes: int = 256 * 1024 * 1024
    """Bytes of rows that wait in all open files."""
    least_flush_bytes: int = 64 * 1024
    """Bytes of rows that are written to a file at once, at least."""
    closers: int = 4
    """Threads: closing waits for the disk or the store (measured: half the time of small files)."""
    closing: int = 64
    """Files that are being closed, at most."""
    first_ratio: float = 1.0
    """Encoded bytes for each byte in memory, until a file shows its own."""
    held_rows: int = 8
    """An open file's buffers and extremes, in rows of its (measured with 10 MB a row)."""


@dataclass(frozen=True, slots=True)
class RowLimits:
    """How many rows are held, cut and written together."""

    chunk_bytes: int = 32 * 1024 * 1024
    """Bytes of batches that become one chunk."""
    chunks_waiting: int = 3
    """Chunks that wait for the thread that works on them."""
    run_bytes: int = 256 * 1024 * 1024
    """Bytes of rows that are sorted in memory; more sorted runs are spilled to disk."""
    data_row_group_bytes: int = 128 * 1024 * 1024
    """Bytes of a data file's row group."""
    equality_row_group_bytes: int = 128 * 1024 * 1024
    """Bytes of an equality delete file's row group."""
    position_row_group_bytes: int = 32 * 1024 * 1024
    """Bytes of a position delete file's row group."""
    positions_at_once: int = 131_072
    """Positions that become rows of a delete file at once."""
    described_numbers: int = 131_072
    """Rows of numbers that are read back at once to describe a file, ..."""
    described_texts: int = 2_048
    """... and rows of texts: those that lack bounds are over 4 KiB each."""


@dataclass(frozen=True, slots=True)
class UpsertLimits:
    """Limits of the keys that a task of an upsert holds."""

    map_bytes: int = 512 * 1024 * 1024
    """Bytes of the inserted-row map of one task in memory; more is spilled to disk."""
    bucket_rows: int = 1 << 20
    """Approximate rows of a bucket in which the last row of each key is computed."""
    most_buckets: int = 256
    """Buckets in memory, a power of two."""
    spill_buckets: int = 64
    """Buckets on disk, a power of two."""
    hashes_in_message: int = 4096
    """Hashes of keys that travel with a task's message: 32 KB."""
    hashes_at_once: int = 1 << 20
    """Hashes of all tasks that are compared at once, about: 8 MB."""


@dataclass(frozen=True, slots=True)
class Looks:
    """How often a failed write's folder is scanned for files that tasks wrote after the failure.

    Spark gives up while other tasks still run. It checks every two seconds whether a task should
    end, and leaves its Python worker two more (PythonRunner.MonitorThread,
    spark.python.task.killTimeout): files of those four seconds, and one for a busy machine, are
    found by scanning again.
    """

    pauses_s: tuple[float, ...] = (0.0, 0.5, 1.0, 1.5, 2.0)
    """Seconds before each look."""
    more: int = 15
    """More scans, as long as each finds files: on a busy machine a worker may go on."""


OPEN_FILES = OpenFileLimits()
ROWS = RowLimits()
UPSERTS = UpsertLimits()
LOOKS = Looks()


@dataclass(frozen=True, slots=True)
class MessageLimits:
    """Limits of inferring the columns of change feeds."""

    sample: int = 1_000
    """Messages of a frame from which columns are inferred if no schema is passed."""


MESSAGES = MessageLimits()
