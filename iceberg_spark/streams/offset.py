"""How far a stream has read: the content of a checkpoint, Java's `StreamingOffset`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from iceberg_spark.errors import InvalidInputError

_VERSION = 1
_NO_SNAPSHOT = -1
_LARGEST = 2**31 - 1  # Java reads a position as an int


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """The next file of a snapshot: files before `position` have been read.

    `position` counts as in Java's planner (`snapshot_files`). `scan_all_files` selects all files of
    the snapshot, not only those that it added. In a stream of changes, `position` is the number of
    commits in all batches so far.
    """

    snapshot_id: int
    position: int
    scan_all_files: bool = False

    @property
    def names_snapshot(self) -> bool:
        """Whether it is a position in the table's history and not one of the marks below."""
        return self.snapshot_id != _NO_SNAPSHOT

    def as_json(self) -> dict[str, object]:
        """Return the members in Java's form and order."""
        return {
            "version": _VERSION,
            "snapshot_id": self.snapshot_id,
            "position": self.position,
            "scan_all_files": self.scan_all_files,
        }


NOTHING_READ = StreamOffset(_NO_SNAPSHOT, -1)
"""Before the first snapshot (Java: START_OFFSET)."""
FROM_LATEST = StreamOffset(_NO_SNAPSHOT, -2)
"""The start of a stream that skips existing rows; never the end of a batch."""
FROM_FULL = StreamOffset(_NO_SNAPSHOT, -1, scan_all_files=True)
"""The start of a stream that reads the whole table first; never the end of a batch."""


def after_snapshot(snapshot_id: int) -> StreamOffset:
    """Return the offset past all files of a snapshot."""
    return StreamOffset(snapshot_id, _LARGEST)


def is_past_everything(offset: StreamOffset) -> bool:
    """Return whether an offset is past all files of its snapshot, however many it has."""
    return offset.position == _LARGEST


def offset_from_json(node: object) -> StreamOffset:
    """Return the offset in a checkpoint. Raises InvalidInputError if it is not valid."""
    if not isinstance(node, Mapping):
        raise _no_offset(node)
    if node.get("version") != _VERSION:
        raise InvalidInputError(
            f"The checkpoint has an offset of version {node.get('version')!r}; this version reads "
            f"{_VERSION}: it was written by another source, or by a later version"
        )
    snapshot_id, position = node.get("snapshot_id"), node.get("position")
    everything = node.get("scan_all_files")
    if type(snapshot_id) is not int or type(position) is not int or type(everything) is not bool:
        raise _no_offset(node)
    return StreamOffset(snapshot_id, position, everything)


def _no_offset(node: object) -> InvalidInputError:
    return InvalidInputError(
        f"The checkpoint holds {node!r}, which is not an offset of an Iceberg stream: is it "
        "the checkpoint of another query?"
    )
