"""Metadata tables of a table as Arrow tables: `t.inspect.snapshots()`, `t.inspect.files()`, ...

Names of the methods are PyIceberg's and Java's, columns and types are Java's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from iceberg_spark.arrow.public_types import public_batches, public_schema
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.expr.build import Predicate
from iceberg_spark.inspect.names import MetadataTable, metadata_table
from iceberg_spark.inspect.request import Inspection, inspection, parts, read_parts
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.scan.request import ScanRequest
from iceberg_spark.spec.printable import printable


@dataclass(frozen=True, slots=True)
class Inspect:
    """A table's metadata, as Arrow tables that are held in memory.

    Methods with `snapshot_id` show the newest snapshot of main, or the one that is named by its
    id, by `ref` (a branch or tag) or by a time (`as_of_timestamp_ms`, ms since the epoch). Their
    columns are those of the table's current schema. An unknown snapshot is a NoSuchSnapshotError.
    For more rows than memory holds, read `to_arrow_batch_reader`, or load "T#files" with Spark.
    """

    loaded: LoadedTable
    io: FileIO

    def __repr__(self) -> str:
        names = "\n".join(f"  {name}()" for name in MetadataTable)
        return printable(f"Metadata tables of {self.loaded.identifier}\n{names}")

    def history(self) -> pa.Table:
        """Return which snapshot became current when.

        Examples:
            >>> t.inspect.history()
        """
        return self._table(MetadataTable.HISTORY)

    def metadata_log_entries(self) -> pa.Table:
        """Return the metadata files that are still listed, the current one last.

        Examples:
            >>> t.inspect.metadata_log_entries()
        """
        return self._table(MetadataTable.METADATA_LOG_ENTRIES)

    def snapshots(self) -> pa.Table:
        """Return all snapshots with operation and summary.

        Examples:
            >>> t.inspect.snapshots().select(["committed_at", "operation"])
        """
        return self._table(MetadataTable.SNAPSHOTS)

    def refs(self) -> pa.Table:
        """Return branches and tags with their retention.

        Examples:
            >>> t.inspect.refs()
        """
        return self._table(MetadataTable.REFS)

    def manifests(
        self,
        snapshot_id: int | None = None,
        *,
        ref: str | None = None,
        as_of_timestamp_ms: int | None = None,
    ) -> pa.Table:
        """Return the manifests of a snapshot with counts and partition bounds.

        Args:
            snapshot_id: The snapshot; by default the newest one of main.
            ref: Or the branch or tag that has it.
            as_of_timestamp_ms: Or a time, in milliseconds since 1970.

        Examples:
            >>> t.inspect.manifests(ref="monday")
        """
        return self._table(
            MetadataTable.MANIFESTS, _snapshot_request(snapshot_id, ref, as_of_timestamp_ms)
        )

    def partitions(
        self,
        snapshot_id: int | None = None,
        *,
        ref: str | None = None,
        as_of_timestamp_ms: int | None = None,
    ) -> pa.Table:
        """Return files and rows of each partition of a snapshot.

        Args:
            snapshot_id: The snapshot; by default the newest one of main.
            ref: Or the branch or tag that has it.
            as_of_timestamp_ms: Or a time, in milliseconds since 1970.

        Examples:
            >>> t.inspect.partitions(ref="monday")
        """
        return self._table(
            MetadataTable.PARTITIONS, _snapshot_request(snapshot_id, ref, as_of_timestamp_ms)
        )

    def entries(
        self,
        snapshot_id: int | None = None,
        *,
        ref: str | None = None,
        as_of_timestamp_ms: int | None = None,
    ) -> pa.Table:
        """Return the entries of a snapshot's manifests, those of deleted files too.

        Args:
            snapshot_id: The snapshot; by default the newest one of main.
            ref: Or the branch or tag that has it.
            as_of_timestamp_ms: Or a time, in milliseconds since 1970.

        Examples:
            >>> t.inspect.entries(ref="monday")
        """
        return self._table(
            MetadataTable.ENTRIES, _snapshot_request(snapshot_id, ref, as_of_timestamp_ms)
        )

    def files(
        self,
        snapshot_id: int | None = None,
        *,
        ref: str | None = None,
        as_of_timestamp_ms: int | None = None,
    ) -> pa.Table:
        """Return the data and delete files of a snapshot with their metrics.

        Args:
            snapshot_id: The snapshot; by default the newest one of main.
            ref: Or the branch or tag that has it.
            as_of_timestamp_ms: Or a time, in milliseconds since 1970.

        Examples:
            >>> t.inspect.files(ref="monday")
        """
        return self._table(
            MetadataTable.FILES, _snapshot_request(snapshot_id, ref, as_of_timestamp_ms)
        )

    def data_files(
        self,
        snapshot_id: int | None = None,
        *,
        ref: str | None = None,
        as_of_timestamp_ms: int | None = None,
    ) -> pa.Table:
        """Return the data files of a snapshot with their metrics.

        Args:
            snapshot_id: The snapshot; by default the newest one of main.
            ref: Or the branch or tag that has it.
            as_of_timestamp_ms: Or a time, in milliseconds since 1970.

        Examples:
            >>> t.inspect.data_files(ref="monday")
        """
        return self._table(
            MetadataTable.DATA_FILES, _snapshot_request(snapshot_id, ref, as_of_timestamp_ms)
        )

    def delete_files(
        self,
        snapshot_id: int | None = None,
        *,
        ref: str | None = None,
        as_of_timestamp_ms: int | None = None,
    ) -> pa.Table:
        """Return the delete files of a snapshot with their metrics.

        Args:
            snapshot_id: The snapshot; by default the newest one of main.
            ref: Or the branch or tag that has it.
            as_of_timestamp_ms: Or a time, in milliseconds since 1970.

        Examples:
            >>> t.inspect.delete_files(ref="monday")
        """
        return self._table(
            MetadataTable.DELETE_FILES, _snapshot_request(snapshot_id, ref, as_of_timestamp_ms)
        )

    def position_deletes(
        self,
        snapshot_id: int | None = None,
        *,
        ref: str | None = None,
        as_of_timestamp_ms: int | None = None,
    ) -> pa.Table:
        """Return the rows of a snapshot's position deletes and deletion vectors, read for it.

        Args:
            snapshot_id: The snapshot; by default the newest one of main.
            ref: Or the branch or tag that has it.
            as_of_timestamp_ms: Or a time, in milliseconds since 1970.

        Examples:
            >>> t.inspect.position_deletes(ref="monday")
        """
        return self._table(
            MetadataTable.POSITION_DELETES, _snapshot_request(snapshot_id, ref, as_of_timestamp_ms)
        )

    def all_manifests(self) -> pa.Table:
        """Return the manifests of each snapshot; one that several have is there for each.

        Examples:
            >>> t.inspect.all_manifests()
        """
        return self._table(MetadataTable.ALL_MANIFESTS)

    def all_entries(self) -> pa.Table:
        """Return the entries of the manifests of all snapshots, each manifest once.

        Examples:
            >>> t.inspect.all_entries()
        """
        return self._table(MetadataTable.ALL_ENTRIES)

    def all_files(self) -> pa.Table:
        """Return the live files of the manifests of all snapshots, each manifest once.

        A file that several manifests list is there several times.

        Examples:
            >>> t.inspect.all_files()
        """
        return self._table(MetadataTable.ALL_FILES)

    def all_data_files(self) -> pa.Table:
        """Return the data files of `all_files`.

        Examples:
            >>> t.inspect.all_data_files()
        """
        return self._table(MetadataTable.ALL_DATA_FILES)

    def all_delete_files(self) -> pa.Table:
        """Return the delete files of `all_files`.

        Examples:
            >>> t.inspect.all_delete_files()
        """
        return self._table(MetadataTable.ALL_DELETE_FILES)

    def statistics_files(self) -> pa.Table:
        """Return the statistics of snapshots (`compute_table_stats`), with each file's blobs.

        Examples:
            >>> t.inspect.statistics_files()
        """
        return self._table(MetadataTable.STATISTICS_FILES)

    def partition_statistics_files(self) -> pa.Table:
        """Return the partition statistics of snapshots (`compute_partition_stats`).

        Examples:
            >>> t.inspect.partition_statistics_files()
        """
        return self._table(MetadataTable.PARTITION_STATISTICS_FILES)

    def to_arrow_batch_reader(
        self,
        name: str,
        row_filter: str | Predicate | None = None,
        selected_fields: Sequence[str] = ("*",),
        *,
        snapshot_id: int | None = None,
        ref: str | None = None,
        as_of_timestamp_ms: int | None = None,
    ) -> pa.RecordBatchReader:
        """Return the rows of a metadata table as a stream; memory holds those of a few manifests.

        Args:
            name: The metadata table, such as "files".
            row_filter: A predicate on its columns.
            selected_fields: Its columns, "a.b" for a field of a struct; other ones of manifests are
                not decoded.
            snapshot_id: The snapshot, for tables of one; by default the newest one of main.
            ref: Or the branch or tag that has it.
            as_of_timestamp_ms: Or a time, in milliseconds since 1970.

        Raises:
            InvalidInputError: There is no such metadata table.
            InvalidOptionError: A snapshot is chosen for a table that shows all snapshots.

        Examples:
            >>> for batch in t.inspect.to_arrow_batch_reader("files", "record_count < 100"):
            ...     print(batch["file_path"])
        """
        request = replace(
            _snapshot_request(snapshot_id, ref, as_of_timestamp_ms),
            row_filter=row_filter,
            selected_fields=tuple(selected_fields),
        )
        read, tables = self._read(metadata_table(name), request)
        schema = public_schema(read.read_schema)
        batches = (batch for table in tables for batch in table.to_batches())
        return pa.RecordBatchReader.from_batches(schema, public_batches(batches, schema))

    def _table(self, name: MetadataTable, request: ScanRequest | None = None) -> pa.Table:
        read, tables = self._read(name, request or ScanRequest())
        rows = pa.concat_tables([to_arrow(read.read_schema).empty_table(), *tables])
        return rows.cast(public_schema(read.read_schema))

    def _read(
        self, name: MetadataTable, request: ScanRequest
    ) -> tuple[Inspection, Iterator[pa.Table]]:
        metadata = self.loaded.metadata
        read = inspection(metadata, name, request)
        return read, read_parts(read, self.loaded, self.io, parts(read, metadata, self.io))


def _snapshot_request(
    snapshot_id: int | None, ref: str | None, as_of_timestamp_ms: int | None
) -> ScanRequest:
    return ScanRequest(
        snapshot_id=snapshot_id, version_as_of=ref, as_of_timestamp_ms=as_of_timestamp_ms
    )
