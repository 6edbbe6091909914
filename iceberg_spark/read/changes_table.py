"""A table's changes as a table, `T#changes`: each row that a file of a commit brought or took away.

Rows that a commit only wrote again, as copy-on-write does, are among them, once as DELETE and once
as INSERT (Java: SparkChangelogTable; `create_changelog_view` leaves them out).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from iceberg_spark.errors import InvalidInputError, InvalidOptionError, InvalidSchemaError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.changelog import CHANGE_COLUMNS, ChangeRequest
from iceberg_spark.scan.change_bounds import change_bounds
from iceberg_spark.scan.changelog import ChangeStep, change_steps
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.spec import reserved
from iceberg_spark.spec.metadata import TableMetadata

_ASKED_OTHERWISE = frozenset({"branch", "start_snapshot_id", "end_snapshot_id"})


@dataclass(frozen=True, slots=True)
class ChangesTable:
    """What came and went after a snapshot, None for all, up to another one; nothing is read yet."""

    request: ChangeRequest
    start: int | None
    end: int | None

    @classmethod
    def of(
        cls, context: ScanContext, metadata: TableMetadata, bounds: Mapping[str, int]
    ) -> ChangesTable:
        """Return the changes with the columns, the filter and the last snapshot of a scan.

        `bounds` are those of `change_bounds`. Raises what that raises, and InvalidSchemaError for a
        table that has a column of a name which changes add.
        """
        if reserved.DELETED.name in context.read_schema.column_names:
            raise InvalidOptionError(
                f"Changes have no column '{reserved.DELETED.name}': '_change_type' says DELETE"
            )
        added = {one.name for one in CHANGE_COLUMNS}
        taken = [one for one in context.table_schema.fields if one.name.lower() in added]
        if taken:
            raise InvalidSchemaError(
                f"{context.table_location} has a column '{taken[0].name}', as its changes have: "
                "rename it to read them"
            )
        request = ChangeRequest(context, context.read_schema, carried_over=True)
        return cls(request, *change_bounds(metadata, context.snapshot_id, bounds))

    def steps(self, metadata: TableMetadata, io: FileIO) -> Iterator[ChangeStep]:
        """Yield what each snapshot changed. Raises as `scan.changelog.change_steps` does."""
        return change_steps(metadata, io, self.request.context, self.start, self.end)

    def __str__(self) -> str:
        return f"changes after {self.start} up to {self.end}"


def changes_table(
    metadata: TableMetadata, io: FileIO, asked: ScanRequest, bounds: Mapping[str, int]
) -> ChangesTable:
    """Return a table's changes: of the branch that is asked for, between bounds (`change_bounds`).

    Raises InvalidOptionError for another choice of a snapshot, NoSuchSnapshotError,
    InvalidSchemaError, InvalidExpressionError.
    """
    refuse_pins(asked)
    whole = replace(asked, start_snapshot_id=None, end_snapshot_id=None)
    return ChangesTable.of(scan_context(metadata, whole, io), metadata, bounds)


def refuse_as_of(name: str) -> NoReturn:
    """Raise InvalidInputError for a query that reads a table's changes AS OF a version."""
    raise InvalidInputError(
        f"{name} are the changes of all snapshots, which can't be read AS OF one: compare "
        "_commit_snapshot_id"
    )


def refuse_pins(asked: ScanRequest) -> None:
    """Raise InvalidOptionError where one snapshot is asked for, by another name than its branch."""
    pins = sorted(name.replace("_", "-") for name in asked.given - _ASKED_OTHERWISE)
    if pins:
        raise InvalidOptionError(
            f"'{pins[0]}' is not for changes, which are those of several snapshots: say which by "
            "'start-snapshot-id' and 'end-snapshot-id', or by times"
        )
