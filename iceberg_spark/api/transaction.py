"""Several changes of a table in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Self

from iceberg_spark.api.manage_snapshots import ManageSnapshots
from iceberg_spark.api.merge import MergeRequest
from iceberg_spark.api.row_verbs import RowVerbs
from iceberg_spark.api.staged_changes import StagedChanges
from iceberg_spark.api.update_schema import UpdateSchema
from iceberg_spark.api.update_spec import UpdateSortOrder, UpdateSpec
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.commit import CommitState
from iceberg_spark.commits.metadata_changes import SetSortOrder, SetSpec, UpdateProperties
from iceberg_spark.commits.overwrite_files import OverwriteFiles
from iceberg_spark.commits.required_columns import RequireNoOtherColumns
from iceberg_spark.commits.set_schema import SetSchema
from iceberg_spark.errors import CommitStateUnknownException
from iceberg_spark.maintenance.auto_compact import compact_after
from iceberg_spark.row_level.row_level_change import ChangedRows
from iceberg_spark.save.write_options import WriteOptions
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.printable import printable
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.txn import Token, with_summary


class TableTransaction(RowVerbs):
    """Collects changes; `commit_transaction`, or the end of its with-block, lands them at once.

    Data files are written when a change is added and are removed again when nothing lands. Each
    change sees those before it: an overwrite also replaces matching rows that an earlier change
    of the same transaction appended. With `autocommit` a builder's `commit` lands at once. With
    a `token` all changes are that batch, and are dropped where it is committed already.
    """

    __slots__ = ("_autocommit", "_batch_token", "_staged", "_take")

    def __init__(
        self,
        catalog: Catalog,
        base: LoadedTable,
        take: Callable[[LoadedTable], None],
        *,
        autocommit: bool = False,
        token: Token | None = None,
        options: WriteOptions | None = None,
    ) -> None:
        self._autocommit = autocommit
        self._batch_token = token
        self._staged = StagedChanges(catalog, base, token, options)
        self._take = take

    def __repr__(self) -> str:
        staged = self._staged
        if not staged.is_open:
            return printable(f"Transaction of {staged.base.identifier}, ended")
        changes = [
            f"  {type(action).__name__}"
            for action in staged.actions
            if not isinstance(action, RequireNoOtherColumns)
        ]
        head = f"Transaction of {staged.base.identifier}, not committed:"
        return printable("\n".join([head, *(changes or ["  no change yet"])]))

    def __enter__(self) -> Self:
        self._staged.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self.commit_transaction()
            else:
                self._staged.discard()
        finally:
            self._staged.end()

    def _changes(self, on_shown: bool = False) -> AbstractContextManager[StagedChanges]:  # noqa: ARG002
        return nullcontext(self._staged)

    def _may_append_as_shown(self) -> bool:
        return False

    def _summary(
        self, properties: Mapping[str, str] | None, token: Token | None
    ) -> Mapping[str, str] | None:
        return with_summary(properties, self._batch_token, token)

    def commit_transaction(self) -> None:
        """Commit the changes; without any, nothing happens.

        Raises:
            CommitFailedException: Other commits came first, too often. New files are removed.
            ValidationException: Another commit conflicts. New files are removed.
            CommitStateUnknownException: The catalog did not answer. No file is removed.

        Examples:
            >>> with t.transaction() as tx:
            ...     tx.append(rows)
            ...     tx.commit_transaction()
        """
        before = self._staged.base
        try:
            self._staged.land(self._take)
            compact_after(self._staged.catalog, before, self._staged.base)
        except BaseException as error:  # an interrupt between them says that all has landed
            if self._staged.base is before or isinstance(error, CommitStateUnknownException):
                raise
            raise CommitState(may_have_landed=True, landed=True).unknown(error) from error

    def run_merge(self, request: MergeRequest) -> ChangedRows:
        """Add the change of a merge. `tx.merge(...).execute()` calls this.

        Args:
            request: The merge as it was written.

        Examples:
            >>> with t.transaction() as tx:
            ...     tx.merge(rows, "t.id = s.id").when_matched_delete().execute()
        """
        return self._run_merge(request)

    def overwrite_files(
        self,
        add: Sequence[DataFile] = (),
        delete: Sequence[DataFile] = (),
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        """Add and remove data files by their descriptions. Their rows are not read.

        Args:
            add: Files to add.
            delete: Files to remove from the table.
            branch: The branch to commit to, main by default.
            snapshot_properties: Entries of the snapshot's summary.

        Raises:
            ValidationException: The table does not have a file to remove.

        Examples:
            >>> task = t.scan("region = 'eu'").plan_files()[0]
            >>> file = ice.DataFile(
            ...     ice.DataFileContent.DATA, task.file_path, task.file_format, task.partition,
            ...     task.record_count, task.file_size_in_bytes, task.spec_id,
            ... )
            >>> with t.transaction() as tx:
            ...     tx.overwrite_files(delete=[file])
        """
        summary = self._summary(snapshot_properties, None)
        self._staged.actions.append(
            OverwriteFiles(add, delete, branch=branch, snapshot_properties=summary)
        )

    def set_properties(self, updates: Mapping[str, str], removals: Sequence[str] = ()) -> None:
        """Set and remove table properties; `format-version` upgrades the table.

        Args:
            updates: Values by name.
            removals: Names of properties to remove.

        Examples:
            >>> with t.transaction() as tx:
            ...     tx.set_properties({"owner": "sales"}, removals=["note"])
        """
        self._staged.actions.append(UpdateProperties(updates, removals))

    def manage_snapshots(self) -> ManageSnapshots:
        """Return a builder of branches and tags; its `commit` adds the changes here.

        Examples:
            >>> with t.transaction() as tx:
            ...     tx.append(rows)
            ...     tx.manage_snapshots().create_tag(None, "loaded").commit()
        """

        def add(actions: Iterable[Action]) -> None:
            self._staged.actions.extend(actions)

        return ManageSnapshots(add)

    def update_schema(
        self, allow_incompatible_changes: bool = False, case_sensitive: bool = True
    ) -> UpdateSchema:
        """Return a builder of column changes; see `Table.update_schema`.

        Args:
            allow_incompatible_changes: Let columns become required, and required ones be added.
            case_sensitive: Whether names of columns are case-sensitive.

        Examples:
            >>> with t.transaction() as tx:
            ...     tx.update_schema().add_column("note", "string").commit()
        """

        def add(schema: Schema, before: Schema) -> None:
            self._define(SetSchema(schema, self._staged.base.metadata, before=before))

        return UpdateSchema(
            self._staged.metadata(),
            add,
            allow_incompatible_changes=allow_incompatible_changes,
            case_sensitive=case_sensitive,
        )

    def update_spec(self, case_sensitive: bool = True) -> UpdateSpec:
        """Return a builder of partition field changes; see `Table.update_spec`.

        Args:
            case_sensitive: Whether names of columns are case-sensitive.

        Examples:
            >>> with t.transaction() as tx:
            ...     tx.update_spec().add_field("days(ts)").commit()
        """

        def add(spec: PartitionSpec, before: PartitionSpec, default: bool) -> None:
            self._define(SetSpec(spec, self._staged.base.metadata, before=before, default=default))

        return UpdateSpec(self._staged.metadata(), add, case_sensitive=case_sensitive)

    def update_sort_order(self, case_sensitive: bool = True) -> UpdateSortOrder:
        """Return a builder of a new sort order; see `Table.update_sort_order`.

        Args:
            case_sensitive: Whether names of columns are case-sensitive.

        Examples:
            >>> with t.transaction() as tx:
            ...     tx.update_sort_order().asc("id").commit()
        """
        return UpdateSortOrder(
            self._staged.metadata(),
            lambda order: self._define(SetSortOrder(order)),
            case_sensitive=case_sensitive,
        )

    def _define(self, action: Action) -> None:
        if self._autocommit:
            self._staged.actions.append(action)
            self.commit_transaction()
        else:
            self._staged.add_definition(action)
