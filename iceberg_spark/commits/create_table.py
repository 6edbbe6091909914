"""Create or replace a table, alone or together with its first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from types import TracebackType

from iceberg_spark.catalog.catalog import Catalog, LoadedTable, MadeTable, NewTable
from iceberg_spark.commits.action import Action, ActionCommit
from iceberg_spark.commits.commit import CommitState, commit
from iceberg_spark.errors import CommitStateUnknownException, IcebergError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.fresh_ids import assign_fresh_ids, reassign_order, reassign_spec
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.partition import UNPARTITIONED, PartitionField, PartitionSpec
from iceberg_spark.spec.properties import FORMAT_VERSION, check_known_values, int_property
from iceberg_spark.spec.reserved import check_new_names
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import MAIN_BRANCH
from iceberg_spark.spec.sort import UNSORTED, SortOrder
from iceberg_spark.spec.transforms import VoidTransform
from iceberg_spark.spec.updates import (
    AddPartitionSpec,
    AddSchema,
    AddSortOrder,
    RemoveSnapshotRef,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetProperties,
    TableUpdate,
    UpgradeFormatVersion,
)


def create_table(  # noqa: PLR0913 (a table has that many parts)
    catalog: Catalog,
    identifier: str,
    schema: Schema,
    spec: PartitionSpec = UNPARTITIONED,
    order: SortOrder = UNSORTED,
    *,
    location: str,
    properties: Mapping[str, str] | None = None,
    format_version: int | None = None,
    actions: Sequence[Action] = (),
) -> LoadedTable:
    """Create a table by one commit, together with `actions` (a first append).

    Assigns new ids, as `spec.new_table` does. Raises TableAlreadyExistsError, after it removed the
    files that the actions wrote.
    """
    creation = new_table_updates(
        schema,
        spec,
        order,
        location=location,
        properties=properties,
        format_version=format_version,
    )
    new = NewTable(creation, catalog.io(location))
    return commit(catalog, identifier, actions, None, creation=new)


def drop_unchanged(catalog: Catalog, identifier: str, created: MadeTable) -> None:
    """Drop a table that nobody has changed since it was created; its files stay.

    Servers cannot drop under a condition. A change between the check and the drop would lose its
    name, but none of its files. If the check or the drop fails, the empty table stays.
    """
    with suppress(IcebergError):
        table = catalog.load(identifier)
        if MadeTable(table.metadata.table_uuid, table.metadata_location) == created:
            catalog.drop_table(identifier)


class DropOnFailure:
    """Drop the table created for the `with` block if that fails, unless it may have committed.

    Around a commit it belongs inside `CleanupOnFailure`, whose `commit_state` it takes: it reports
    an interrupt after the commit in the same way.
    """

    __slots__ = ("_catalog", "_commit_state", "_created", "_identifier")

    def __init__(
        self,
        catalog: Catalog,
        identifier: str,
        created: MadeTable | None,
        commit_state: CommitState | None = None,
    ) -> None:
        """`created` is None if the table is not created yet, or by others."""
        self._catalog = catalog
        self._identifier = identifier
        self._created = created
        self._commit_state = CommitState() if commit_state is None else commit_state

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._created is None or error is None or self._commit_state.may_have_landed:
            return
        if not isinstance(error, CommitStateUnknownException):
            drop_unchanged(self._catalog, self._identifier, self._created)


class ReplaceTable:
    """Give a table new columns, partitioning, order and properties, and no rows on main.

    Columns with the same full name keep their ids. Properties that are not set again stay, and so
    do snapshots, branches and tags. New files are written to `location`, if it is set. If another
    commit changed the definition since `planned_on`, it is a ValidationException. Rows that another
    commit changed are replaced, as in Java.
    """

    def __init__(
        self,
        planned_on: TableMetadata,
        schema: Schema,
        spec: PartitionSpec,
        order: SortOrder,
        properties: Mapping[str, str],
        location: str | None = None,
    ) -> None:
        self._schema = schema
        self._spec = spec
        self._order = order
        self._properties = dict(properties)
        self._location = location
        self._planned = _definition(planned_on)
        check_known_values(
            {key: value for key, value in properties.items() if key != FORMAT_VERSION}
        )

    def validate(self, base: TableMetadata, io: FileIO) -> None:  # noqa: ARG002 (metadata says all)
        """Raise ValidationException if columns or partitioning have changed since."""
        if _definition(base) != self._planned:
            raise ValidationException(
                f"{base.location} got other columns or another partitioning by another commit "
                "meanwhile: replace it again"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the updates that redefine the table. Raises InvalidSchemaError."""
        properties = dict(self._properties)
        updates: list[TableUpdate] = []
        if FORMAT_VERSION in properties:
            version = int_property(properties, FORMAT_VERSION, base.format_version)
            updates.append(UpgradeFormatVersion(version))
            del properties[FORMAT_VERSION]
        fresh = assign_fresh_ids(self._schema, last_column_id=base.last_column_id, base=base.schema)
        check_new_names(base.schema, fresh)
        spec = _with_known_ids(reassign_spec(self._spec, self._schema, fresh), base)
        updates += [
            AddSchema(fresh),
            SetCurrentSchema(),
            AddPartitionSpec(spec),
            SetDefaultSpec(),
            AddSortOrder(reassign_order(self._order, self._schema, fresh)),
            SetDefaultSortOrder(),
        ]
        if MAIN_BRANCH in base.refs:
            updates.append(RemoveSnapshotRef(MAIN_BRANCH))
        if self._location is not None:
            updates.append(SetLocation(self._location))
        if properties:
            updates.append(SetProperties(properties))
        return ActionCommit(tuple(updates))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


def _definition(metadata: TableMetadata) -> tuple[int, int, int, int]:
    return (
        metadata.current_schema_id,
        metadata.last_column_id,
        metadata.default_spec_id,
        metadata.last_partition_id,
    )


def _with_known_ids(spec: PartitionSpec, base: TableMetadata) -> PartitionSpec:
    """Give fields the ids of equal fields in the table's specs, other fields new ids.

    Source: Java's TableMetadata.reassignPartitionIds.
    """
    if base.rules.needs_sequential_partition_ids:
        return _behind_former_fields(spec, base)
    ids_by_term = {
        (part.source_ids, str(part.transform)): part.field_id
        for spec in base.partition_specs.values()
        for part in spec.fields
    }
    fields: list[PartitionField] = []
    last = base.last_partition_id
    for part in spec.fields:
        field_id = ids_by_term.get((part.source_ids, str(part.transform)))
        if field_id is None:
            last += 1
            field_id = last
        fields.append(replace(part, field_id=field_id))
    return PartitionSpec(spec.spec_id, tuple(fields))


def _behind_former_fields(spec: PartitionSpec, base: TableMetadata) -> PartitionSpec:
    """Return a spec of version 1: all earlier fields keep their positions, some of them as void."""
    new = {(part.source_ids, str(part.transform)): part for part in spec.fields}
    names = {part.name for part in spec.fields}
    fields: list[PartitionField] = []
    for part in base.spec.fields:
        same = new.pop((part.source_ids, str(part.transform)), None)
        if same is not None:
            fields.append(replace(same, field_id=part.field_id))
        else:
            name = f"{part.name}_{part.field_id}" if part.name in names else part.name
            fields.append(replace(part, name=name, transform=VoidTransform()))
    ids = count(base.last_partition_id + 1)
    fields += [replace(part, field_id=next(ids)) for part in new.values()]
    return PartitionSpec(spec.spec_id, tuple(fields))
