"""A table: what it is, reading it, and the verbs that change it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime

from iceberg_spark.api import deferred_table as deferred
from iceberg_spark.api.listings import History, References, Snapshots
from iceberg_spark.api.progress import working
from iceberg_spark.api.row_verbs import RowVerbs
from iceberg_spark.api.scan import TableScan
from iceberg_spark.api.show import table_html, table_text
from iceberg_spark.api.table_properties import TableProperties
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.expr.build import Predicate
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spark.session.engine import Distribution, Engine
from iceberg_spark.spec.arguments import moment_ms, names
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.properties import COMMIT_NUM_RETRIES, int_property
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.shown import ShownText
from iceberg_spark.spec.snapshot import Snapshot, SnapshotLogEntry, SnapshotRef
from iceberg_spark.spec.sort import SortOrder
from iceberg_spark.spec.txn import token_of


class Table(RowVerbs):
    """An Iceberg table at the version that was loaded. `refresh` loads the newest one.

    Methods that change the table are planned on its newest version, and the table then shows the
    version that they made. Scans and transactions stay at the version shown. Names are PyIceberg's.
    """

    __slots__ = ("_catalog", "_loaded", "_options")

    def __init__(
        self, catalog: Catalog, loaded: LoadedTable, options: deferred.WriteOptions | None = None
    ) -> None:
        self._catalog = catalog
        self._loaded = loaded
        self._options = options

    def __repr__(self) -> str:
        return table_text(self._loaded)

    def _repr_html_(self) -> str:
        return table_html(self._loaded)

    @property
    def identifier(self) -> str:
        """What the catalog calls the table; a location for file-system tables."""
        return self._loaded.identifier

    @property
    def metadata(self) -> TableMetadata:
        """The metadata as loaded."""
        return self._loaded.metadata

    @property
    def metadata_location(self) -> str:
        """The location of the loaded metadata."""
        return self._loaded.metadata_location

    @property
    def io(self) -> FileIO:
        """The storage of the table's files."""
        return self._loaded.io

    @property
    def inspect(self) -> deferred.Inspect:
        """The metadata tables: `t.inspect.snapshots()`, `t.inspect.files()`, ..."""
        return deferred.Inspect(self._loaded, self.io)

    def schema(self) -> Schema:
        """Return the current schema."""
        return self.metadata.schema

    def spec(self) -> PartitionSpec:
        """Return the default partition spec."""
        return self.metadata.spec

    def sort_order(self) -> SortOrder:
        """Return the default sort order."""
        return self.metadata.sort_order

    @property
    def properties(self) -> TableProperties:
        """The table's properties, as a copy."""
        return TableProperties(self.metadata.properties)

    def location(self) -> str:
        """Return the table's location."""
        return self.metadata.location

    def current_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot of main, None for a table without one."""
        return self.metadata.current_snapshot

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots, in the order they were added."""
        return Snapshots(self.metadata.snapshots.values())

    def refs(self) -> dict[str, SnapshotRef]:
        """Return branches and tags by name."""
        return References(self.metadata.refs)

    def history(self) -> list[SnapshotLogEntry]:
        """Return which snapshot became current when (ms since the epoch)."""
        return History(self.metadata.snapshot_log)

    def refresh(self) -> Table:
        """Load the newest version; returns the table itself."""
        self._loaded = self._catalog.load(self.identifier)
        return self

    def scan(  # noqa: PLR0913 - each is a keyword of PyIceberg's scan, or of the contract
        self,
        row_filter: str | Predicate | Unbound | None = None,
        selected_fields: Sequence[str] | str | None = ("*",),
        *,
        snapshot_id: int | None = None,
        branch: str | None = None,
        tag: str | None = None,
        as_of_timestamp_ms: int | datetime | None = None,
        start_snapshot_id: int | None = None,
        end_snapshot_id: int | None = None,
        metadata_columns: Sequence[str] | str = (),
        case_sensitive: bool = True,
        time_zone: str | None = None,
        limit: int | None = None,
        engine: Engine | None = None,
    ) -> TableScan:
        """Return a scan of the version as loaded; nothing is read yet.

        - `row_filter`: A SQL predicate, or an expression of `col`.
        - `selected_fields`: Names of columns, nested ones as "a.b".
        - `as_of_timestamp_ms`: Milliseconds since 1970, or a datetime with a time zone.
        - `start_snapshot_id`: With `end_snapshot_id` (inclusive): the rows that were appended after
          this snapshot.
        - `time_zone`: Of timestamp literals without an offset; by default the session's.
        - `engine`: "native" or "arrow" forces the engine of `to_df`.
        """
        at_ms = (
            None
            if as_of_timestamp_ms is None
            else moment_ms(as_of_timestamp_ms, "as_of_timestamp_ms")
        )
        return TableScan(
            loaded=self._loaded,
            io=self.io,
            row_filter=row_filter,
            selected_fields=names(selected_fields, "selected_fields"),
            snapshot_id=snapshot_id,
            branch=branch,
            tag=tag,
            as_of_timestamp_ms=at_ms,
            start_snapshot_id=start_snapshot_id,
            end_snapshot_id=end_snapshot_id,
            metadata_columns=names(metadata_columns, "metadata_columns"),
            case_sensitive=case_sensitive,
            time_zone=time_zone,
            limit=limit,
            engine=engine,
        )

    def _changes(self, on_shown: bool = False) -> AbstractContextManager[deferred.StagedChanges]:
        return deferred.verb(
            self._catalog, self._loaded, self._take, on_shown=on_shown, options=self._options
        )

    def _may_append_as_shown(self) -> bool:
        retries = int_property(self.metadata.properties, COMMIT_NUM_RETRIES)
        return self._loaded.given_by_catalog and retries > 0

    def _counted(self, counts: deferred.ChangedRows, branch: str | None) -> deferred.ChangedRows:
        try:
            changed = counts.inserted or counts.updated or counts.deleted
            head = self.metadata.branch_head(branch) if changed else None
            return counts if head is None else replace(counts, metrics=dict(head.summary))
        except BaseException as error:  # an interrupt, too, must say that the commit has landed
            raise deferred.CommitState(may_have_landed=True, landed=True).unknown(error) from error

    def _before_retry(self) -> object:
        return self.refresh()

    def _conflict_retries(self) -> int:
        return int_property(self.metadata.properties, COMMIT_NUM_RETRIES)

    def transaction(
        self,
        *,
        txn_app_id: str | None = None,
        txn_version: int | None = None,
        branch: str | None = None,
    ) -> deferred.TableTransaction:
        """Return a transaction: `with t.transaction() as tx:` commits several changes at once.

        With `txn_app_id` and `txn_version` all of it is one batch: where that is committed to
        `branch` (main by default) already, its verbs do nothing and nothing lands.
        """
        token = token_of(txn_app_id, txn_version, branch)
        shown = self._loaded if token is None else self._newest()
        return deferred.TableTransaction(
            self._catalog, shown, self._take, token=token, options=self._options
        )

    def explain_append(
        self, engine: Engine | None = None, distribution_mode: Distribution | None = None
    ) -> str:
        """Return which engine would write an appended frame and why, and how rows go to tasks."""
        return ShownText(deferred.write_plan(self.metadata, engine, distribution_mode))

    def update_properties(self) -> deferred.UpdateProperties:
        """Return a builder: `.set({...})`, `.remove("k")`, then `.commit()` or a with-block."""
        return deferred.UpdateProperties(self._each_alone())

    def manage_snapshots(self) -> deferred.ManageSnapshots:
        """Return a builder of branches, tags and the current snapshot: `.create_tag(...)`, ..."""
        return deferred.ManageSnapshots(self._land)

    @property
    def maintenance(self) -> deferred.Maintenance:
        """What keeps a table small: `t.maintenance.expire_snapshots()`, ..."""
        return deferred.Maintenance(self._catalog, self._loaded, self._take)

    def report(self) -> deferred.TableReport:
        """Return a report of the table for people, as one HTML document.

        It shows how the table grew, snapshots with branches and tags, file sizes, partitions,
        deletes, the cost of planning, schemas, properties, and what `maintenance.plan()` advises.
        It reads the manifests of the current snapshot and no data file. A notebook shows it;
        `.save(path)` writes a file that needs no network, `.html` is its text.

        Raises:
            UnsupportedError: matplotlib is not installed.
            CorruptFileError: A manifest is malformed.
            StorageError: The store failed.

        Example:
            >>> t.report().save("events.html")
        """
        advice = self.maintenance.plan()
        with working(f"Reporting on {self.identifier}"):
            return deferred.table_report(self._loaded, advice)

    def _land(self, actions: Sequence[deferred.Action]) -> None:
        self._take(deferred.commit(self._catalog, self.identifier, actions, self._newest()))

    def update_schema(
        self, allow_incompatible_changes: bool = False, case_sensitive: bool = True
    ) -> deferred.UpdateSchema:
        """Return a builder of column changes: add, rename, delete, move, widen, ...

        `allow_incompatible_changes` lets columns become required, and required ones be added.
        """
        return self._each_alone().update_schema(allow_incompatible_changes, case_sensitive)

    def update_spec(self, case_sensitive: bool = True) -> deferred.UpdateSpec:
        """Return a builder of partition changes: `.add_field("days(ts)")`, `.remove_field(...)`."""
        return self._each_alone().update_spec(case_sensitive)

    def update_sort_order(self, case_sensitive: bool = True) -> deferred.UpdateSortOrder:
        """Return a builder of a new sort order: `.asc("ts").desc("id", null_order="nulls first")`.

        Rows that are written from then on are sorted so, a task's rows at a time.
        """
        return self._each_alone().update_sort_order(case_sensitive)

    def _each_alone(self) -> deferred.TableTransaction:
        return deferred.TableTransaction(self._catalog, self._newest(), self._take, autocommit=True)

    def _newest(self) -> LoadedTable:
        return deferred.newest(self._catalog, self._loaded)

    def _take(self, loaded: LoadedTable) -> None:
        self._loaded = loaded
