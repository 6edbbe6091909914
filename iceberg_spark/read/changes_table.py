"""A table's changes as a table, `T#changes`: each row that a commit's files added or removed.

Rows that a commit rewrote without a change, as copy-on-write does, are included: once as DELETE and
once as INSERT (Java: SparkChangelogTable). `create_changelog_view` leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from iceberg_spark.errors import InvalidInputError, InvalidOptionError, InvalidSchemaError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.changelog import CHANGE_COLUMNS, ChangeRequest
from iceberg_spark.scan.changelog import ChangeStep, change_steps
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.incremental import change_bounds
from iceberg_spark.scan.request import ScanRequest, scan_context
from iceberg_spark.spec import reserved
from iceberg_spark.spec.metadata import TableMetadata

_OPTIONS_OF_CHANGES = frozenset({"branch", "start_snapshot_id", "end_snapshot_id"})


@dataclass(frozen=True, slots=True)
class ChangesTable:
    """The changes after snapshot `start` (None: all of them) up to `end`; reads nothing."""

    request: ChangeRequest
    start: int | None
    end: int | None

    @classmethod
    def of(
        cls, context: ScanContext, metadata: TableMetadata, bounds: Mapping[str, int]
    ) -> ChangesTable:
        """Return the changes with the columns, the filter and the last snapshot of a scan.

        `bounds` are those of `change_bounds`.

        Raises:
            InvalidSchemaError: a column of the table has the name of a column of changes.
            InvalidOptionError: the scan selects `_deleted`, or a bound is not valid.
            NoSuchSnapshotError: a bound names no snapshot of the branch.
        """
        if reserved.DELETED.name in context.read_schema.column_names:
            raise InvalidOptionError(
                f"Changes have no column '{reserved.DELETED.name}': filter by '_change_type'"
            )
        reserved_names = {field.name for field in CHANGE_COLUMNS}
        clashes = [
            field for field in context.table_schema.fields if field.name.lower() in reserved_names
        ]
        if clashes:
            raise InvalidSchemaError(
                f"{context.table_location} has a column '{clashes[0].name}', as its changes have: "
                "rename it to read them"
            )
        request = ChangeRequest(context, context.read_schema, carried_over=True)
        return cls(request, *change_bounds(metadata, context.snapshot_id, bounds))

    def steps(self, metadata: TableMetadata, io: FileIO) -> Iterator[ChangeStep]:
        """Yield the changes of each snapshot. Raises as `scan.changelog.change_steps` does."""
        return change_steps(metadata, io, self.request.context, self.start, self.end)

    def __str__(self) -> str:
        return f"changes after {self.start} up to {self.end}"


def changes_table(
    metadata: TableMetadata, io: FileIO, request: ScanRequest, bounds: Mapping[str, int]
) -> ChangesTable:
    """Return a table's changes on the branch of a request, between `bounds` (`change_bounds`).

    Raises:
        InvalidOptionError: the request chooses a snapshot by something else than its branch.
        NoSuchSnapshotError: a bound names no snapshot of the branch.
        InvalidSchemaError: a selected column does not exist.
        InvalidExpressionError: the filter does not fit the columns.
    """
    refuse_pins(request)
    unbounded = replace(request, start_snapshot_id=None, end_snapshot_id=None)
    return ChangesTable.of(scan_context(metadata, unbounded, io), metadata, bounds)


def refuse_as_of(name: str) -> NoReturn:
    """Raise InvalidInputError: a table's changes cannot be read AS OF a version."""
    raise InvalidInputError(
        f"{name} has the changes of all snapshots and cannot be read AS OF one: filter by "
        "_commit_snapshot_id"
    )


def refuse_pins(request: ScanRequest) -> None:
    """Raise InvalidOptionError if a request chooses a snapshot other than by its branch."""
    pins = sorted(name.replace("_", "-") for name in request.given - _OPTIONS_OF_CHANGES)
    if pins:
        raise InvalidOptionError(
            f"Option '{pins[0]}' is not supported for changes, which span several snapshots: use "
            "'start-snapshot-id' and 'end-snapshot-id', or timestamps"
        )
