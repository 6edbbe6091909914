"""Changes without snapshots: partition spec, sort order, location, properties, ..."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.name_mapping import NameMapping, to_json
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.properties import (
    DEFAULT_NAME_MAPPING,
    FORMAT_VERSION,
    check_known_values,
    int_property,
)
from iceberg_spark.spec.requirements import AssertCurrentSchemaId
from iceberg_spark.spec.sort import SortOrder
from iceberg_spark.spec.updates import (
    AddPartitionSpec,
    AddSortOrder,
    RemoveProperties,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetPartitionStatistics,
    SetProperties,
    SetStatistics,
    TableUpdate,
    UpgradeFormatVersion,
)


class SetSpec:
    """Add a spec derived from the default one, and make it the default unless disabled.

    If another commit changed the default spec or assigned partition field ids since `planned_on`,
    it is a ValidationException: ids might be assigned twice. `before` is the spec as earlier
    changes of the same transaction left it. Does not add a spec that the table has already.
    """

    def __init__(
        self,
        spec: PartitionSpec,
        planned_on: TableMetadata,
        *,
        before: PartitionSpec,
        default: bool = True,
    ) -> None:
        self._spec = spec
        self._before = before
        self._default = default
        self._spec_id = planned_on.default_spec_id
        self._last_partition_id = planned_on.last_partition_id

    def validate(self, base: TableMetadata, io: FileIO) -> None:  # noqa: ARG002 (metadata says all)
        """Raise ValidationException if the partitioning has changed since."""
        current = (base.default_spec_id, base.last_partition_id)
        if current != (self._spec_id, self._last_partition_id):
            raise ValidationException(
                f"The partitioning of {base.location} was changed by another commit: its default "
                f"is spec {current[0]} now, this change was made for {self._spec_id}; plan the "
                "change again"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the updates that add the spec and make it the default."""
        if base.spec != self._before:
            raise ValidationException(
                "The transaction changed the partitioning after this change of it was begun; "
                "begin it after the other one is committed to the transaction"
            )
        added = AddPartitionSpec(self._spec)
        return ActionCommit((added, SetDefaultSpec()) if self._default else (added,))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


class SetSortOrder:
    """Make a sort order the table's default; the last commit wins.

    Does not add an order that the table has already.
    """

    def __init__(self, order: SortOrder) -> None:
        self._order = order

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: the last commit wins."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the updates that set the order."""
        return ActionCommit((AddSortOrder(self._order), SetDefaultSortOrder()))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


class SetTableLocation:
    """Change a table's location; existing files stay where they are.

    The last commit wins.
    """

    def __init__(self, location: str) -> None:
        self._location = location

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: the last commit wins."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the update that sets the location."""
        return ActionCommit((SetLocation(self._location),))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


class UpdateProperties:
    """Set and remove properties; `format-version` upgrades the table instead of being stored.

    Applies to any newer metadata: the last commit that sets a property wins.
    """

    def __init__(
        self, changes: Mapping[str, str] | None = None, removals: Iterable[str] = ()
    ) -> None:
        self._changes = dict(changes or {})
        self._removals = tuple(dict.fromkeys(removals))
        both = self._changes.keys() & set(self._removals)
        if both:
            raise InvalidInputError(f"Property '{min(both)}' is to be set and removed at once")
        stored = {key: value for key, value in self._changes.items() if key != FORMAT_VERSION}
        check_known_values(stored)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: the last commit that sets a property wins."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the updates that change the properties."""
        changes = dict(self._changes)
        updates: list[TableUpdate] = []
        if FORMAT_VERSION in changes:
            version = int_property(changes, FORMAT_VERSION, base.format_version)
            updates.append(UpgradeFormatVersion(version))
            del changes[FORMAT_VERSION]
        if changes:
            updates.append(SetProperties(changes))
        if self._removals:
            updates.append(RemoveProperties(self._removals))
        return ActionCommit(tuple(updates))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


def set_name_mapping(mapping: NameMapping) -> UpdateProperties:
    """Return the action that stores a name mapping (specification: "Column Projection")."""
    return UpdateProperties({DEFAULT_NAME_MAPPING: to_json(mapping)})


class SetSnapshotStatistics:
    """Set or replace a snapshot's statistics file (a JSON object of the metadata).

    With `by_partition`, the file has partition statistics. The last commit wins.
    """

    def __init__(self, file: Mapping[str, Any], *, by_partition: bool = False) -> None:
        self._file = dict(file)
        self._by_partition = by_partition

    def validate(self, base: TableMetadata, io: FileIO) -> None:  # noqa: ARG002 (needs none)
        """Raise ValidationException if the snapshot has expired."""
        if self._file["snapshot-id"] not in base.snapshots:
            raise ValidationException(
                f"Snapshot {self._file['snapshot-id']} has expired while its statistics were made"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the update that sets the file."""
        kind = SetPartitionStatistics if self._by_partition else SetStatistics
        return ActionCommit((kind(self._file),))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action itself writes no files."""


class SameSchema:
    """Refuse a table with another schema than the one that a change was planned on.

    For changes planned without loading the newest version: a column that was renamed or created
    again since would get the values of another column. A server checks this requirement as well.
    """

    __slots__ = ("schema_id",)

    def __init__(self, schema_id: int) -> None:
        self.schema_id = schema_id

    def validate(self, base: TableMetadata, io: FileIO) -> None:  # noqa: ARG002 (metadata says all)
        """Raise InvalidSchemaError if the schema differs."""
        if base.current_schema_id != self.schema_id:
            raise InvalidSchemaError(
                f"{base.location} got other columns meanwhile: plan the change again"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (a check)
        """Change nothing, and require this schema."""
        return ActionCommit((), (AssertCurrentSchemaId(self.schema_id),))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""
