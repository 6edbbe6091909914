"""A table: what it is, reading it, and the verbs that change it."""

from __future__ import annotations

import html
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from iceberg_spark.api import deferred_table as deferred
from iceberg_spark.api.progress import working
from iceberg_spark.api.row_verbs import RowVerbs
from iceberg_spark.api.scan import TableScan
from iceberg_spark.api.show import table_html, table_text
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.expr.build import Predicate
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spark.session.engine import Distribution, Engine
from iceberg_spark.spec.arguments import moment_ms, names
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.printable import printable
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
        """Return the current schema.

        Examples:
            >>> t.schema().column_names
        """
        return self.metadata.schema

    def spec(self) -> PartitionSpec:
        """Return the default partition spec.

        Examples:
            >>> [field.name for field in t.spec().fields]
        """
        return self.metadata.spec

    def sort_order(self) -> SortOrder:
        """Return the default sort order.

        Examples:
            >>> t.sort_order().fields
        """
        return self.metadata.sort_order

    @property
    def properties(self) -> TableProperties:
        """The table's properties, as a copy."""
        return TableProperties(self.metadata.properties)

    def location(self) -> str:
        """Return the table's location.

        Examples:
            >>> t.location()
        """
        return self.metadata.location

    def current_snapshot(self) -> Snapshot | None:
        """Return the newest snapshot of main, None for a table without one.

        Examples:
            >>> t.current_snapshot().summary["total-records"]
        """
        return self.metadata.current_snapshot

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots, in the order they were added.

        Examples:
            >>> [snapshot.snapshot_id for snapshot in t.snapshots()]
        """
        return Snapshots(self.metadata.snapshots.values())

    def refs(self) -> dict[str, SnapshotRef]:
        """Return branches and tags by name.

        Examples:
            >>> t.refs()["monday"].snapshot_id
        """
        return References(self.metadata.refs)

    def history(self) -> list[SnapshotLogEntry]:
        """Return which snapshot became current when (ms since the epoch).

        Examples:
            >>> [entry.snapshot_id for entry in t.history()]
        """
        return History(self.metadata.snapshot_log)

    def refresh(self) -> Table:
        """Load the newest version, and return the table itself.

        Examples:
            >>> t.refresh().current_snapshot()
        """
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
        """Return a scan of the version as loaded. Nothing is read yet.

        - `row_filter`: A SQL predicate, or an expression of `col`.
        - `selected_fields`: Names of columns, nested ones as "a.b".
        - `snapshot_id`, `branch`, `tag`, `as_of_timestamp_ms` (ms since 1970, or a datetime with a
          zone): What to read instead of the newest snapshot of main.
        - `start_snapshot_id`, `end_snapshot_id`: Read the rows that were appended after the first.
        - `metadata_columns`: Columns such as "_file", which are added to the result.
        - `case_sensitive`, `time_zone`: How names match; the zone of literals without an offset.
        - `limit`, `engine`: The largest number of rows; "native" or "arrow" for `to_df`.

        Examples:
            >>> t.scan("id < 10", ("id", "region"), tag="monday").to_arrow()
        """
        return TableScan(
            loaded=self._loaded,
            io=self.io,
            row_filter=row_filter,
            selected_fields=names(selected_fields, "selected_fields"),
            snapshot_id=snapshot_id,
            branch=branch,
            tag=tag,
            as_of_timestamp_ms=_milliseconds(as_of_timestamp_ms),
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
        """Return a transaction, which commits several changes at once at the end of its with-block.

        With `txn_app_id` and `txn_version`, all of it is one batch. If `branch` already has the
        batch, the transaction changes nothing.

        Args:
            txn_app_id: The application that writes the batch.
            txn_version: The number of the batch, which grows from batch to batch.
            branch: The branch of the batch, main by default.

        Examples:
            >>> with t.transaction() as tx:
            ...     tx.delete("id = 1")
            ...     tx.append(rows)
        """
        token = token_of(txn_app_id, txn_version, branch)
        shown = self._loaded if token is None else self._newest()
        return deferred.TableTransaction(
            self._catalog, shown, self._take, token=token, options=self._options
        )

    def explain_append(
        self, engine: Engine | None = None, distribution_mode: Distribution | None = None
    ) -> str:
        """Return which engine writes an appended DataFrame and why, and how rows go to tasks.

        Args:
            engine: "native" or "arrow", as for `append`.
            distribution_mode: "none", "hash" or "range", as for `append`.

        Examples:
            >>> print(t.explain_append())
        """
        return ShownText(deferred.write_plan(self.metadata, engine, distribution_mode))

    def update_properties(self) -> deferred.UpdateProperties:
        """Return a builder of property changes; `commit`, or the end of a with-block, commits them.

        Examples:
            >>> t.update_properties().set({"write.format.default": "orc"}).remove("note").commit()
        """
        return deferred.UpdateProperties(self._each_alone())

    def manage_snapshots(self) -> deferred.ManageSnapshots:
        """Return a builder of changes of branches, tags and the current snapshot.

        Examples:
            >>> t.manage_snapshots().create_tag(None, "eoy").commit()
        """
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

        Examples:
            >>> t.report().save("/data/orders.html")
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

        Args:
            allow_incompatible_changes: Let columns become required, and required ones be added.
            case_sensitive: Whether names of columns are case-sensitive.

        Examples:
            >>> with t.update_schema() as update:
            ...     update.add_column("note", "string").rename_column("amount", "price")
        """
        return self._each_alone().update_schema(allow_incompatible_changes, case_sensitive)

    def update_spec(self, case_sensitive: bool = True) -> deferred.UpdateSpec:
        """Return a builder of partition changes.

        Args:
            case_sensitive: Whether names of columns are case-sensitive.

        Examples:
            >>> t.update_spec().add_field("days(ts)").commit()
        """
        return self._each_alone().update_spec(case_sensitive)

    def update_sort_order(self, case_sensitive: bool = True) -> deferred.UpdateSortOrder:
        """Return a builder of a new sort order.

        From then on, each task of a write sorts its rows.

        Args:
            case_sensitive: Whether names of columns are case-sensitive.

        Examples:
            >>> t.update_sort_order().asc("ts").desc("id", null_order="nulls first").commit()
        """
        return self._each_alone().update_sort_order(case_sensitive)

    def _each_alone(self) -> deferred.TableTransaction:
        return deferred.TableTransaction(self._catalog, self._newest(), self._take, autocommit=True)

    def _newest(self) -> LoadedTable:
        return deferred.newest(self._catalog, self._loaded)

    def _take(self, loaded: LoadedTable) -> None:
        self._loaded = loaded


def _milliseconds(as_of: int | datetime | None) -> int | None:
    return None if as_of is None else moment_ms(as_of, "as_of_timestamp_ms")


Row = Sequence[object]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Snapshots(list[Snapshot]):
    """The snapshots of a table, oldest first."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _text("snapshots", self._rows())

    def _repr_html_(self) -> str:
        return _html(self._rows())

    def _rows(self) -> list[Row]:
        head: Row = ("snapshot", "committed (UTC)", "operation", "parent", "added", "rows in total")
        return [head, *(_snapshot(snapshot) for snapshot in self)]


class References(dict[str, SnapshotRef]):
    """Branches and tags by name."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _text("branches or tags", self._rows())

    def _repr_html_(self) -> str:
        return _html(self._rows())

    def _rows(self) -> list[Row]:
        head: Row = ("name", "kind", "snapshot", "keeps at least", "max snapshot age", "max age")
        return [head, *(_reference(name, reference) for name, reference in self.items())]


class History(list[SnapshotLogEntry]):
    """Which snapshot became current when."""

    __slots__ = ()

    def __repr__(self) -> str:
        return _text("history", self._rows())

    def _repr_html_(self) -> str:
        return _html(self._rows())

    def _rows(self) -> list[Row]:
        head: Row = ("current since (UTC)", "snapshot")
        return [head, *((_when(entry.timestamp_ms), entry.snapshot_id) for entry in self)]


def _snapshot(snapshot: Snapshot) -> Row:
    summary = snapshot.summary
    return (
        snapshot.snapshot_id, _when(snapshot.timestamp_ms),
        snapshot.operation, snapshot.parent_snapshot_id,
        summary.get("added-records"), summary.get("total-records"),
    )  # fmt: skip


def _reference(name: str, reference: SnapshotRef) -> Row:
    min_snapshots = reference.min_snapshots_to_keep
    ages = (_age(reference.max_snapshot_age_ms), _age(reference.max_ref_age_ms))
    return (name, str(reference.snapshot_ref_type), reference.snapshot_id, min_snapshots, *ages)


def _when(ms: int) -> str:
    try:
        return f"{_EPOCH + timedelta(milliseconds=ms):%Y-%m-%d %H:%M:%S}"
    except OverflowError:
        return f"{ms} ms"


def _age(ms: int | None) -> str | None:
    return None if ms is None else f"{ms} ms"


def _text(what: str, rows: list[Row]) -> str:
    if len(rows) == 1:
        return f"no {what} yet"
    cells = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def _html(rows: list[Row]) -> str:
    head, *rest = ([html.escape("" if cell is None else str(cell)) for cell in row] for row in rows)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rest)
    return f"<table><tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>{body}</table>"


class TableProperties(dict[str, str]):
    """The properties as a dict; `t.properties()` returns the same.

    PyIceberg has an attribute here, next to methods (`t.schema()`, `t.location()`), so notebooks
    use both spellings.
    """

    __slots__ = ()

    def __call__(self) -> dict[str, str]:
        """Return the properties as a plain dict."""
        return dict(self)
