"""Plan a save by its options: load the table, or prepare its creation, and check the columns."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.catalog.catalog import Catalog, LoadedTable, MadeTable, NewTable
from iceberg_spark.catalog.chosen_location import chosen_location, new_table_properties
from iceberg_spark.catalog.foreign_folder import check_free
from iceberg_spark.catalog.metadata_file import read_metadata
from iceberg_spark.catalog.registry import resolve
from iceberg_spark.catalog.table_io import table_io, with_chosen_folders
from iceberg_spark.commits.action import Action
from iceberg_spark.errors import InvalidOptionError, NoSuchTableError
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.save import deferred
from iceberg_spark.save.write_options import WriteOptions
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.partition import PartitionField
from iceberg_spark.spec.properties import property_warnings
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import SortField
from iceberg_spark.spec.transform_text import parse_partition_spec, parse_sort_order
from iceberg_spark.spec.transforms import IdentityTransform
from iceberg_spark.spec.txn import Token, with_summary
from iceberg_spark.spec.updates import AddSchema, SetCurrentSchema, TableUpdate
from iceberg_spark.write.align_columns import AlignOptions, check_columns
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.new_write import write_context


def plan_save(options: WriteOptions, columns: Schema, *, overwrite: bool) -> SavePlan:
    """Plan a save of rows whose columns are `columns`.

    Raises InvalidSchemaError naming columns that don't fit, UnsupportedError, InvalidOptionError,
    NoSuchTableError where none is to be made.
    """
    replaces = _replaces(options, overwrite=overwrite)
    catalog, identifier = resolve(options.path, options.storage)
    creation: NewTable | None = None
    merged_on, is_committed = None, False
    try:
        loaded = catalog.load(identifier)
        metadata, io = loaded.metadata, loaded.io
        check_creation_options(options, metadata)
        if options.merge_schema:
            metadata = _merged(metadata, columns, options)
            merged_on = None if metadata is loaded.metadata else loaded.metadata_location
        is_committed = _is_committed(loaded, options.token)
    except NoSuchTableError:
        if not options.makes_table:  # dropped since somebody looked
            raise
        creation = _creation(catalog, identifier, options, columns)
        chosen = new_table_properties(catalog.properties, options.table_properties)
        metadata, io = _before_it_is_made(creation, chosen)
    prepared = creation if creation is not None and creation.table is None else None
    created = creation.ours if creation is not None else None
    guard = deferred.DropOnFailure(catalog, identifier, created) if created else nullcontext()
    with guard:
        plan = SavePlan(
            save_context(metadata, io, options),
            align_options(options),
            replaces,
            options.branch,
            options.snapshot_properties,
            prepared.updates if prepared else (),
            merged_on,
            None if prepared else metadata.table_uuid,
            options.token,
            creation is not None,
            created,
            is_committed,
            options.planned,
        )
        check_columns(plan.context.schema, to_arrow(columns), plan.align)
    return plan


def _before_it_is_made(
    creation: NewTable, chosen: Mapping[str, str]
) -> tuple[TableMetadata, FileIO]:
    """Return what files are written by; a server may have made the table already.

    `chosen` are the properties that the user gives the new table.
    """
    if creation.table is not None:
        return creation.table.metadata, with_chosen_folders(creation.table.io, chosen)
    metadata = deferred.apply(None, creation.updates, now_ms=int(time.time() * 1000))
    io = table_io(creation.io, metadata.location)
    return metadata, with_chosen_folders(io, chosen)


def plan_upsert(options: WriteOptions, columns: Schema, *, overwrite: bool) -> UpsertPlan:
    """Plan an upsert of changes whose columns are `columns`: check keys, partitions and columns.

    Raises NoSuchTableError, InvalidSchemaError, UnsupportedError, InvalidInputError.
    """
    if overwrite:
        raise InvalidOptionError("write-mode=upsert goes with mode('append'), not with 'overwrite'")
    catalog, identifier = resolve(options.path, options.storage)
    loaded = catalog.load(identifier)
    check_creation_options(options, loaded.metadata)
    metadata, io = loaded.metadata, loaded.io
    if options.merge_schema:
        metadata = _merged(metadata, _columns(options, metadata.schema, columns), options)
    context = deferred.upsert_context(
        metadata,
        save_context(metadata, io, options),
        options.equality_fields,
        live_specs=deferred.live_spec_ids(metadata, io, options.branch),
        order_by=options.order_by,
        global_delete=options.global_delete,
        options=align_options(options),
    )
    deferred.CdcReader(context, to_arrow(columns))
    return UpsertPlan(
        context,
        options.branch,
        options.snapshot_properties,
        None if metadata is loaded.metadata else loaded.metadata_location,
        metadata.table_uuid,
        options.token,
        _is_committed(loaded, options.token),
    )


def _is_committed(loaded: LoadedTable, token: Token | None) -> bool:
    version = token and deferred.committed_version(loaded.metadata, loaded.io, token)
    return version is not None


def _columns(options: WriteOptions, schema: Schema, columns: Schema) -> Schema:
    """Return the columns of changes that are columns of a table, or are to become one.

    Not the operation, nor what changes are only ordered by.
    """
    others = {deferred.OPERATION, *(name.lower() for name in options.order_by)}
    return Schema(*(
        field
        for field in columns.fields
        if field.name.lower() not in others or schema.find_id(field.name, False) is not None
    ))  # fmt: skip


def _replaces(options: WriteOptions, *, overwrite: bool) -> Replaces:
    if not overwrite and options.overwrite_mode is not None:
        raise InvalidOptionError(
            f"Option 'overwrite-mode' = '{options.overwrite_mode}' says what mode('overwrite') "
            "replaces; an append replaces nothing: take mode('overwrite'), or leave the option out"
        )
    if not overwrite:
        return "nothing"
    return "partitions" if options.overwrite_mode == "dynamic" else "everything"


def _creation(
    catalog: Catalog, identifier: str, options: WriteOptions, columns: Schema
) -> NewTable:
    """Prepare the creation of the table as the options say."""
    for warning in property_warnings(options.table_properties):
        warnings.warn(warning, stacklevel=3)

    location = options.location
    chosen = None if location is None else chosen_location(catalog, identifier, location)

    def creation(default_location: str) -> tuple[TableUpdate, ...]:
        return new_table_updates(
            columns,
            parse_partition_spec(options.partition_by, columns, options.case_sensitive),
            parse_sort_order(options.sort_order, columns, options.case_sensitive),
            location=chosen or default_location,
            properties=new_table_properties(
                catalog.properties, _table_properties(options, columns)
            ),
            format_version=options.format_version,
        )

    new = catalog.stage(identifier, creation)
    with deferred.DropOnFailure(catalog, identifier, new.ours):
        check_free(new.io, new.location, requested=False)
    return new


def save_context(metadata: TableMetadata, io: FileIO, options: WriteOptions) -> WriteContext:
    """Return what the tasks of a save share. Raises UnsupportedError, InvalidOptionError."""
    return write_context(
        metadata,
        write_format=options.write_format,
        target_file_size_bytes=options.target_file_size_bytes,
        compression_codec=options.compression_codec,
        compression_level=options.compression_level,
        fanout=options.fanout_enabled,
        io=io,
        properties_override=options.overrides,
        output=options.output,
    )


def _merged(metadata: TableMetadata, columns: Schema, options: WriteOptions) -> TableMetadata:
    """Return the metadata as it will be with the frame's new columns and wider types."""
    schema = deferred.union_by_name(
        metadata.schema,
        columns,
        last_column_id=metadata.last_column_id,
        format_version=metadata.format_version,
        case_sensitive=options.case_sensitive,
    )
    if schema is metadata.schema:
        return metadata
    now_ms = max(int(time.time() * 1000), metadata.last_updated_ms)
    return deferred.apply(metadata, (AddSchema(schema), SetCurrentSchema()), now_ms=now_ms)


def align_options(options: WriteOptions) -> AlignOptions:
    """Return how a frame's columns are matched."""
    return AlignOptions(
        check_nullability=options.check_nullability,
        check_ordering=options.check_ordering,
        case_sensitive=options.case_sensitive,
    )


def _table_properties(options: WriteOptions, schema: Schema) -> dict[str, str]:
    """Spark hands over option keys in lower case: give column names their own spelling again."""
    spelling = {name.lower(): name for name in schema.column_names}
    properties = {}
    for key, value in options.table_properties.items():
        prefix, dot, column = key.partition(".column.")
        properties[f"{prefix}{dot}{spelling.get(column, column)}"] = value
    return properties


def check_creation_options(options: WriteOptions, metadata: TableMetadata) -> None:
    """Refuse a layout other than the table's; equal ones are fine, for the next run of a job.

    Properties that differ are only told, as somebody may have changed the table's since. Raises
    InvalidOptionError naming the option and how the table is laid out.
    """
    _check_partitioning(options, metadata)
    _check_order(options, metadata)
    version = options.format_version
    if version is not None and version != metadata.format_version:
        raise InvalidOptionError(
            f"Option 'format-version' is {version}, and the table has {metadata.format_version}: "
            "leave it out, or upgrade by t.update_properties().set({'format-version': ...})"
        )
    properties = {name.lower(): value for name, value in metadata.properties.items()}
    for name, value in options.table_properties.items():
        current = properties.get(name.lower())  # Spark hands over names of options in lower case
        if current != value:
            has = "none" if current is None else f"'{current}'"
            warnings.warn(
                f"Option 'table-property.{name}' = '{value}' is for new tables; this table has "
                f"{has}, which t.update_properties().set(...) changes",
                stacklevel=2,
            )


def _check_partitioning(options: WriteOptions, metadata: TableMetadata) -> None:
    if not options.partition_by:
        return
    requested = parse_partition_spec(options.partition_by, metadata.schema, case_sensitive=False)
    current = metadata.spec.live_fields
    if [(f.source_ids, f.transform) for f in requested.fields] != [
        (f.source_ids, f.transform) for f in current
    ]:
        _refuse("partition-by", options.partition_by, _terms(current, metadata.schema), "spec")


def _check_order(options: WriteOptions, metadata: TableMetadata) -> None:
    if not options.sort_order:
        return
    requested = parse_sort_order(options.sort_order, metadata.schema, case_sensitive=False)
    current = metadata.sort_order
    if requested.fields != current.fields:
        shown = _terms(current.fields, metadata.schema)
        _refuse("sort-order", options.sort_order, shown, "sort_order")


def _refuse(option: str, requested: Sequence[str], current: str, builder: str) -> None:
    what = "partitioned by" if builder == "spec" else "sorted by"
    raise InvalidOptionError(
        f"Option '{option}' = '{', '.join(requested)}' is for new tables; this table is {what} "
        f"{current}: leave the option out to write to it as it is, or change that by "
        f"t.update_{builder}()"
    )


def _terms(fields: Sequence[PartitionField | SortField], schema: Schema) -> str:
    return ", ".join(_term(field, schema) for field in fields) or "nothing"


def _term(field: PartitionField | SortField, schema: Schema) -> str:
    column = str(schema.find_column_name(field.source_id))
    plain = isinstance(field.transform, IdentityTransform)
    term = column if plain else f"{field.transform}({column})"
    if isinstance(field, SortField):
        return f"{term} {field.direction} {str(field.null_order).replace('-', ' ')}"
    return term


# What one save does, planned before its first row: the same for every way in.
#
# Plain source, enabled session, `Table` and transactions make a plan, write files by its context,
# and commit them by its actions.

Replaces: TypeAlias = Literal["nothing", "everything", "partitions"]
"""Which rows a save takes out: of an append none, of a dynamic overwrite those of partitions
that get rows."""


@dataclass(frozen=True, slots=True)
class SavePlan:
    """How rows become files of a table, and those a commit; it travels to every task.

    `creation` holds the updates that create the table, else it is there. `merged_on` is where
    the metadata is whose schema this save extends. It holds no metadata: the commit loads it, and
    checks that it is still the table `uuid`, since files of one would be rows of another. `made`
    is the empty table that a server made for this save, which goes again where the save fails.
    """

    context: WriteContext
    align: AlignOptions
    replaces: Replaces = "nothing"
    branch: str | None = None
    snapshot_properties: Mapping[str, str] | None = None
    creation: tuple[TableUpdate, ...] = ()
    merged_on: str | None = None
    uuid: str | None = None
    token: Token | None = None
    """The batch that this save is; it is skipped where that is committed already."""
    is_new: bool = False
    """The table has no rows before this save, whoever makes it."""
    created_table: MadeTable | None = None
    is_committed: bool = False
    planned: deferred.Planned | None = None
    """Which commits an overwrite conflicts with."""

    def actions(self, io: FileIO, files: Sequence[DataFile]) -> tuple[Action, ...]:
        """Return what commits the files that were written by this plan."""
        schema = _merged_plan(self.context.schema, io, self.merged_on)
        if not self.is_new:
            schema.append(deferred.RequireNoOtherColumns(self.context.schema))
        return deferred.once((*schema, self._change(files), *_noted(self.token)))

    def changes_with(self, files: Sequence[DataFile]) -> bool:
        """Return whether a commit of these files changes rows: they come, or all others go."""
        return bool(files) or (self.replaces == "everything" and not self.is_new)

    def _change(self, files: Sequence[DataFile]) -> Action:
        branch, properties = self.branch, with_summary(self.snapshot_properties, self.token)
        match "nothing" if self.is_new else self.replaces:
            case "nothing":
                return deferred.AppendFiles(files, branch=branch, snapshot_properties=properties)
            case "partitions":
                return deferred.ReplacePartitions(
                    files, planned=self.planned, branch=branch, snapshot_properties=properties
                )
            case "everything":
                return deferred.OverwriteFiles(
                    files,
                    row_filter=ALWAYS_TRUE,
                    planned=self.planned,
                    branch=branch,
                    snapshot_properties=properties,
                )


@dataclass(frozen=True, slots=True)
class UpsertPlan:
    """How changes by key become files of a table, and those a commit."""

    context: deferred.UpsertContext
    branch: str | None = None
    snapshot_properties: Mapping[str, str] | None = None
    merged_on: str | None = None
    uuid: str | None = None
    token: Token | None = None
    is_committed: bool = False

    def actions(self, files: deferred.UpsertedFiles) -> tuple[Action, ...]:
        """Return what commits the files that were written by this plan."""
        write = self.context.write
        upsert = deferred.UpsertRows(
            self.context,
            files.data,
            files.deletes,
            branch=self.branch,
            snapshot_properties=with_summary(self.snapshot_properties, self.token),
        )
        schema = _merged_plan(write.schema, write.io, self.merged_on)
        schema.append(deferred.RequireNoOtherColumns(write.schema))
        return deferred.once((*schema, upsert, *_noted(self.token)))


def _merged_plan(schema: Schema, io: FileIO, merged_on: str | None) -> list[Action]:
    """Return what gives the table a save's wider schema."""
    return [] if merged_on is None else [deferred.SetSchema(schema, read_metadata(io, merged_on))]


def _noted(token: Token | None) -> list[Action]:
    return [] if token is None else [deferred.NoteToken(token)]


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Which table a save named; travels to every task."""

    path: str
    storage: Mapping[str, str] = field(repr=False)  # may hold secrets
