"""Numbers by which frames become files of the wanted size, and files are described and removed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DescribeLimits:
    """Who describes the files that Spark wrote, and how long a failed write is looked after."""

    files_here: int = 16
    """Files that the driver describes, at most; more are described by tasks."""
    bytes_here: int = 16 * 1024 * 1024
    """Bytes of files that the driver reads back: more are read faster by tasks, job and all."""
    readers: int = 4
    """Threads of the driver."""
    task_files: int = 64
    """Files that a task describes, ..."""
    most_tasks: int = 200
    """... if that takes no more tasks than this."""
    looks_after_failure_s: tuple[float, ...] = (0.0, 0.5, 1.0)
    """Seconds before each look at the folder of a failed write: tasks that Spark has given up may
    still be writing."""


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """How sizes of rows and files are estimated."""

    sample_rows: int = 20_000
    """Rows that are encoded to learn how large one is."""
    surely_less: int = 2
    """Times: Spark's estimate of a frame may be too low, but hardly by more than this."""
    task_file_bytes: int = 128 * 1024 * 1024
    """Bytes that a task's file should have where nobody says it, as Java's runtime has it."""
    least_partitions: int = 200
    """Partitions, Spark's own default. Rows are shuffled by partition value, often by few values:
    into few tasks several would fall into one while others have none. Adaptive execution puts small
    tasks together."""


DESCRIBE = DescribeLimits()
SIZES = SizeLimits()
