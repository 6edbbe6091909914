"""What a worker was about to do, what it was told, and what it recorded in its snapshots.

A change's number and parameters are in the properties of its snapshot, so that the table's history
alone says what was done. The log says what the worker knows: a line is in the file as soon as it
is written, and stays there when the process is killed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import iceberg_spark as ice
from iceberg_spark.errors import (
    CommitFailedException,
    CommitStateUnknownException,
    ValidationException,
)
from iceberg_spark.spec.snapshot import Snapshot

PROPERTY = "stress"
BEGAN, DONE, NOTHING, CONFLICT, GIVEN_UP, UNKNOWN, BROKEN = (
    "began",
    "done",
    "nothing",
    "conflict",
    "given-up",
    "unknown",
    "broken",
)


@dataclass(frozen=True, slots=True)
class Change:
    """One change with a number of its own: a verb and its parameters."""

    op: str
    verb: str
    values: Mapping[str, Any]

    @property
    def properties(self) -> dict[str, str]:
        """What the change's snapshot records."""
        return {PROPERTY: json.dumps({"op": self.op, "verb": self.verb, **self.values})}


def recorded(snapshot: Snapshot) -> Change | None:
    """Return the change that made a snapshot, None for one that maintenance made."""
    text = snapshot.summary.get(PROPERTY)
    if text is None:
        return None
    values = json.loads(text)
    return Change(values.pop("op"), values.pop("verb"), values)


class Log:
    """The lines of one worker; several threads may write."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def write(self, op: str, told: str, more: object = "") -> None:
        line = json.dumps([op, told, str(more)])
        os.write(self._file, f"{line}\n".encode())

    def run(self, table: ice.Table, change: Change, work: Callable[[], object]) -> None:
        """Do a change and note how it ended."""
        self.write(change.op, BEGAN)
        try:
            work()
        except ValidationException as error:
            self.write(change.op, CONFLICT, error)
        except CommitFailedException as error:
            self.write(change.op, GIVEN_UP, error)
        except CommitStateUnknownException as error:
            self.write(change.op, UNKNOWN, error)
        except Exception as error:  # noqa: BLE001 - whatever else comes is a finding
            self.write(change.op, BROKEN, f"{change.verb}: {type(error).__name__}: {error}")
        else:
            head = table.current_snapshot()
            made = recorded(head) if head is not None else None
            ours = head is not None and made is not None and made.op == change.op
            self.write(change.op, DONE if ours else NOTHING, head.snapshot_id if ours else "")


@dataclass(slots=True)
class Told:
    """What all workers were told, by the number of the change."""

    ends: dict[str, tuple[str, str]] = field(default_factory=dict)

    def count(self, told: str) -> int:
        return sum(end == told for end, _ in self.ends.values())


def read_logs(paths: Iterable[Path]) -> Told:
    """Read the logs of all workers; a change that was cut off stays `began`."""
    found = Told()
    for path in paths:
        for line in path.read_text().splitlines():
            op, told, more = json.loads(line)
            found.ends[op] = (told, more)
    return found
