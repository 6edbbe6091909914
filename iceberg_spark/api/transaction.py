"""Several changes of a table in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self, Unpack

from iceberg_spark.api import on_spark
from iceberg_spark.api.at_hand import (
    is_frame,
    read_by_session,
    session_dialect,
    session_time_zone,
)
from iceberg_spark.api.change_rows import delete_change, overwritten, whole_or_nothing
from iceberg_spark.api.import_files import check_not_there, files_to_add
from iceberg_spark.api.manage_snapshots import ManageSnapshots
from iceberg_spark.api.merge import MergeBuilder, MergeKeywords, MergeRequest
from iceberg_spark.api.row_source import RowSource, write_rows
from iceberg_spark.api.show import transaction_text
from iceberg_spark.api.update_schema import UpdateSchema
from iceberg_spark.api.update_sort_order import UpdateSortOrder
from iceberg_spark.api.update_spec import UpdateSpec
from iceberg_spark.api.upsert import write_changes
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.table_io import table_io
from iceberg_spark.errors import (
    InvalidInputError,
    StorageError,
)
from iceberg_spark.expr.build import Predicate
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.row_level.row_level_change import (
    ChangedRows,
    PlannedChange,
    RowLevelMode,
    RowVerb,
    row_change_action,
)
from iceberg_spark.row_level.target_files import TargetOptions
from iceberg_spark.row_level.upsert_rows import UpsertRows
from iceberg_spark.spark.session.engine import Distribution, Engine
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.transaction.action import Action
from iceberg_spark.transaction.append import AppendFiles
from iceberg_spark.transaction.commit import clean_up, commit, removed_unless_committed, staged
from iceberg_spark.transaction.conflict_scope import Planned
from iceberg_spark.transaction.overwrite_files import OverwriteFiles
from iceberg_spark.transaction.replace_partitions import ReplacePartitions
from iceberg_spark.transaction.set_schema import SetSchema
from iceberg_spark.transaction.set_sort_order import SetSortOrder
from iceberg_spark.transaction.set_spec import SetSpec
from iceberg_spark.transaction.update_properties import UpdateProperties, set_name_mapping
from iceberg_spark.write.align_batches import AlignOptions
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.upsert_context import live_spec_ids, upsert_context
from iceberg_spark.write.upsert_result import UpsertResult


class TableTransaction:
    """Collects changes; `commit_transaction`, or the end of its with-block, lands them at once.

    Data files are written when a change is added and are removed again when nothing lands. Each
    change sees those before it: an overwrite also replaces matching rows that an earlier change
    of the same transaction appended. With `autocommit` a builder's `commit` lands at once.
    """

    __slots__ = ("_actions", "_autocommit", "_base", "_catalog", "_new_files", "_stage", "_take")

    def __init__(
        self,
        catalog: Catalog,
        base: LoadedTable,
        take: Callable[[LoadedTable], None],
        *,
        autocommit: bool = False,
    ) -> None:
        self._autocommit = autocommit
        self._catalog = catalog
        self._base = base
        self._take = take
        self._actions: list[Action] = []
        self._new_files: list[str] = []
        self._stage = (base.metadata, 0)

    def __repr__(self) -> str:
        return transaction_text(self._base, self._actions)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.commit_transaction()
        else:
            self._discard()

    def commit_transaction(self) -> None:
        """Commit the changes; without any nothing happens.

        Raises CommitFailedException, ValidationException (what was written is removed then) or
        CommitStateUnknownException (nothing is removed).
        """
        actions, files = tuple(self._actions), tuple(self._new_files)
        self._reset(self._base)
        if not actions:
            return
        with removed_unless_committed(self._io, files) as handover:
            loaded = commit(
                self._catalog, self._base.identifier, actions, self._base, handover=handover
            )
            self._reset(loaded)
            self._take(loaded)

    def append(
        self,
        df: RowSource,
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        engine: Engine | None = None,
        distribution_mode: Distribution | None = None,
    ) -> None:
        """Append rows; see `Table.append`."""
        files = self._write(df, case_sensitive, engine, distribution_mode)
        self._actions.append(
            AppendFiles(files, branch=branch, snapshot_properties=snapshot_properties)
        )

    def overwrite(
        self,
        df: RowSource,
        overwrite_filter: str | Predicate | Unbound = "true",
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        allow_rewrite: bool = True,
        engine: Engine | None = None,
        distribution_mode: Distribution | None = None,
    ) -> None:
        """Replace matching rows; see `Table.overwrite`."""
        predicate = _parsed(overwrite_filter)
        time_zone = session_time_zone()
        added = self._write(df, case_sensitive, engine, distribution_mode)
        replaced: tuple[DataFile, ...] = ()
        rewrites = allow_rewrite and predicate != ALWAYS_TRUE
        planned = None
        if rewrites:
            options = TargetOptions(branch, case_sensitive, time_zone)
            use_spark = is_frame(df)
            change = overwritten(
                self._staged(), self._io, predicate, options, self._context(), use_spark=use_spark
            )
            replaced = change.removed_data
            added += self._noted(change.added_data)
            planned = Planned(self._head(branch), row_filter=predicate)
        self._actions.append(
            OverwriteFiles(
                added,
                replaced,
                row_filter=None if rewrites else predicate,
                planned=planned,
                branch=branch,
                snapshot_properties=snapshot_properties,
                case_sensitive=case_sensitive,
                time_zone=time_zone,
                schema=self._staged().schema,
            )
        )

    def delete(
        self,
        delete_filter: str | Predicate | Unbound,
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
    ) -> ChangedRows:
        """Delete matching rows; see `Table.delete`."""
        verb = self._verb("delete", branch, snapshot_properties, case_sensitive)
        return self._changed(verb, lambda context: delete_change(verb, context, delete_filter))

    def update(
        self,
        updates: Mapping[str, str],
        where: str | Predicate | Unbound = "true",
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
    ) -> ChangedRows:
        """Change columns of matching rows; see `Table.update`."""
        verb = self._verb("update", branch, snapshot_properties, case_sensitive)
        spark = on_spark.needed_session()
        return self._changed(
            verb, lambda context: on_spark.update_on_spark(verb, context, updates, where, spark)
        )

    def upsert(
        self,
        df: RowSource,
        keys: Sequence[str] = (),
        *,
        order_by: Sequence[str] | str = (),
        global_delete: bool = False,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
    ) -> UpsertResult:
        """Write changes by key; see `Table.upsert`."""
        metadata = self._staged()
        context = upsert_context(
            metadata,
            self._context(),
            keys,
            live_specs=live_spec_ids(metadata, self._io, branch),
            order_by=(order_by,) if isinstance(order_by, str) else order_by,
            global_delete=global_delete,
            options=AlignOptions(case_sensitive=case_sensitive),
        )
        files = write_changes(df, context, self._io)
        self._new_files.extend(files.paths)
        self._actions.append(
            UpsertRows(
                context,
                files.data,
                files.deletes,
                branch=branch,
                snapshot_properties=snapshot_properties,
            )
        )
        return UpsertResult.of(files)

    def merge(self, source: RowSource, on: str, **keywords: Unpack[MergeKeywords]) -> MergeBuilder:
        """Return the builder of a merge; its `execute` adds the change. See `Table.merge`."""
        return MergeBuilder(MergeRequest(source, on, **keywords), self.run_merge, lambda: None)

    def run_merge(self, request: MergeRequest) -> ChangedRows:
        """Add the change that a merge makes."""
        verb = self._verb(
            "merge", request.branch, request.snapshot_properties, request.case_sensitive
        )
        spark = on_spark.needed_session()
        return self._changed(
            verb,
            lambda context: on_spark.merge_on_spark(
                verb, context, request.source, request.on, request.clauses, spark
            ),
        )

    def dynamic_partition_overwrite(
        self,
        df: RowSource,
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        engine: Engine | None = None,
        distribution_mode: Distribution | None = None,
    ) -> None:
        """Replace the partitions that get rows; see `Table.dynamic_partition_overwrite`."""
        files = self._write(df, case_sensitive, engine, distribution_mode)
        self._actions.append(
            ReplacePartitions(files, branch=branch, snapshot_properties=snapshot_properties)
        )

    def overwrite_files(
        self,
        add: Sequence[DataFile] = (),
        delete: Sequence[DataFile] = (),
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        """Add and remove data files by their descriptions; their rows are not looked at.

        A file to delete that is no longer there is a ValidationException.
        """
        self._actions.append(
            OverwriteFiles(add, delete, branch=branch, snapshot_properties=snapshot_properties)
        )

    def add_files(
        self,
        paths: str | Sequence[str],
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        check_duplicate_files: bool = True,
    ) -> None:
        """Add Parquet files as they lie; see `Table.add_files`."""
        metadata = self._staged()
        imported = files_to_add(metadata, self._io, paths)
        if check_duplicate_files:
            check_not_there(metadata, self._io, branch, imported.files)
        if imported.name_mapping is not None:
            self._actions.append(set_name_mapping(imported.name_mapping))
        self._actions.append(
            AppendFiles(imported.files, branch=branch, snapshot_properties=snapshot_properties)
        )

    def set_properties(self, updates: Mapping[str, str], removals: Sequence[str] = ()) -> None:
        """Set and remove table properties; `format-version` upgrades the table.

        Version 3 can be read here, and its rows be changed by other engines only, for now.
        """
        self._actions.append(UpdateProperties(updates, removals))

    def manage_snapshots(self) -> ManageSnapshots:
        """Return a builder of branches and tags; its `commit` adds the changes here."""
        return ManageSnapshots(self._actions.extend)

    def update_schema(
        self, allow_incompatible_changes: bool = False, case_sensitive: bool = True
    ) -> UpdateSchema:
        """Return a builder of column changes; see `Table.update_schema`."""

        def add(schema: Schema, before: Schema) -> None:
            self._change(SetSchema(schema, self._base.metadata, before=before))

        return UpdateSchema(
            self._staged(),
            add,
            allow_incompatible_changes=allow_incompatible_changes,
            case_sensitive=case_sensitive,
        )

    def update_spec(self, case_sensitive: bool = True) -> UpdateSpec:
        """Return a builder of partition field changes; see `Table.update_spec`."""

        def add(spec: PartitionSpec, before: PartitionSpec, default: bool) -> None:
            self._change(SetSpec(spec, self._base.metadata, before=before, default=default))

        return UpdateSpec(self._staged(), add, case_sensitive=case_sensitive)

    def update_sort_order(self, case_sensitive: bool = True) -> UpdateSortOrder:
        """Return a builder of a new sort order; see `Table.update_sort_order`."""
        return UpdateSortOrder(
            self._staged(),
            lambda order: self._change(SetSortOrder(order)),
            case_sensitive=case_sensitive,
        )

    @property
    def _io(self) -> FileIO:
        return table_io(self._catalog, self._base)

    def _staged(self) -> TableMetadata:
        """Return the metadata as the changes so far leave it; each is applied once."""
        metadata, applied = self._stage
        metadata = staged(metadata, self._io, self._actions[applied:])
        self._stage = metadata, len(self._actions)
        return metadata

    def _change(self, action: Action) -> None:
        """Add a change of the table's definition, if it goes with those before it."""
        self._actions.append(action)
        if self._autocommit:
            self.commit_transaction()
            return
        try:
            self._staged()
        except BaseException:
            self._actions.remove(action)
            raise

    def _head(self, branch: str | None) -> int | None:
        """Return the committed snapshot that a change of a branch is planned on."""
        head = self._base.metadata.branch_head(branch)
        return None if head is None else head.snapshot_id

    def _context(self) -> WriteContext:
        return write_context(self._staged(), io_properties=self._io.properties)

    def _verb(
        self,
        name: str,
        branch: str | None,
        snapshot_properties: Mapping[str, str] | None,
        case_sensitive: bool,
    ) -> RowVerb:
        metadata, head = self._staged(), self._head(branch)
        given = branch, snapshot_properties, case_sensitive, session_time_zone(), session_dialect()
        return RowVerb(metadata, self._io, RowLevelMode.of(metadata, name), head, *given)

    def _changed(self, verb: RowVerb, make: Callable[[WriteContext], PlannedChange]) -> ChangedRows:
        """Add a row-level change; what it wrote is removed when it fails."""
        made = whole_or_nothing(make, self._context(), self._io)
        if not made.change.is_empty:
            self._noted((*made.change.added_data, *made.change.added_deletes))
            self._actions.append(row_change_action(verb, made))
        return made.change.counts

    def _write(
        self,
        rows: RowSource,
        case_sensitive: bool,
        engine: Engine | None,
        distribution_mode: Distribution | None,
    ) -> tuple[DataFile, ...]:
        files = write_rows(
            rows,
            self._context(),
            self._io,
            AlignOptions(case_sensitive=case_sensitive),
            engine=engine,
            distribution_mode=distribution_mode,
        )
        return self._noted(files)

    def _noted(self, files: Iterable[DataFile]) -> tuple[DataFile, ...]:
        made = tuple(files)
        self._new_files.extend(file.file_path for file in made)
        return made

    def _discard(self) -> None:
        """Remove what was written; what the store keeps is left to orphan removal."""
        with suppress(StorageError):
            self._io.delete_many(self._new_files)
        clean_up(self._actions, self._io, None)
        self._reset(self._base)

    def _reset(self, base: LoadedTable) -> None:
        self._base = base
        self._actions.clear()
        self._new_files.clear()
        self._stage = base.metadata, 0


def _parsed(predicate: str | Predicate | Unbound) -> Unbound:
    if predicate is None:
        raise InvalidInputError("overwrite_filter must be a predicate; 'true' means all rows")
    return read_by_session(predicate)
