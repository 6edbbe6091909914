"""Java's SyncSparkMicroBatchPlanner, file by file, over commits given as plain lists."""

from collections.abc import Sequence
from dataclasses import dataclass

from iceberg_spark.streams.offset import StreamOffset

ADDED, EXISTING = 1, 0
UNLIMITED = 2**31 - 1


@dataclass(frozen=True)
class Entry:
    """A data file in a manifest."""

    path: str
    rows: int
    status: int = ADDED


@dataclass(frozen=True)
class Commit:
    """A snapshot and the manifests that it wrote; its id is its place, from 1 on."""

    operation: str
    manifests: tuple[tuple[Entry, ...], ...]


Commits = Sequence[Commit]


def added_files(commit: Commit) -> list[tuple[int, Entry]]:
    """(position, file) of what a commit added."""
    found, first = [], 0
    for manifest in commit.manifests:
        added = [entry for entry in manifest if entry.status == ADDED]
        found += [(first + at, entry) for at, entry in enumerate(added)]
        first += len(manifest)
    return found


def end_of(commit: Commit) -> int:
    """Where the planner's count is after the last manifest."""
    before = sum(len(manifest) for manifest in commit.manifests[:-1])
    last = commit.manifests[-1] if commit.manifests else ()
    return before + sum(entry.status == ADDED for entry in last)


def latest(
    commits: Commits, start: StreamOffset, files: int = UNLIMITED, rows: int = UNLIMITED
) -> StreamOffset:
    """The end of the next batch; deletes and overwrites are skipped."""
    current, begin, taken, counted = start.snapshot_id, start.position, 0, 0
    while True:
        position = 0
        for position, entry in added_files(commits[current - 1]):
            if position < begin:
                continue
            if taken + 1 > files:
                return StreamOffset(current, position)
            taken += 1
            counted += entry.rows
            if counted >= rows:
                return StreamOffset(current, position + 1)
        position = end_of(commits[current - 1])
        following = [
            number
            for number, commit in enumerate(commits, start=1)
            if number > current and commit.operation == "append"
        ]
        if not following:
            return StreamOffset(current, position)
        current, begin = following[0], -1


def appended(commits: Commits, after: StreamOffset) -> list[str]:
    """The files that a stream from an offset on has to read, in order."""
    return [
        entry.path
        for number, commit in enumerate(commits, start=1)
        if commit.operation == "append" and number >= after.snapshot_id
        for position, entry in added_files(commit)
        if number > after.snapshot_id or position >= after.position
    ]
