"""A table's metadata rewritten for another location, and the list of files to copy there.

Source: Java's RewriteTablePathSparkAction. The table does not change: rewritten files go to a
staging folder. Manifests are written before the lists that name them, so that lengths are right.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.file_fields import Path
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.catalog.metadata_file import (
    Codec,
    encode_metadata,
    metadata_location,
    read_metadata,
)
from iceberg_spark.catalog.owned import STAGING
from iceberg_spark.catalog.table_io import check_write_places
from iceberg_spark.commits.new_manifests import read_entries, tuple_type
from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.formats.puffin.blobs import NewBlob
from iceberg_spark.formats.puffin.read_puffin import read_blob, read_footer
from iceberg_spark.formats.puffin.write_puffin import write_puffin
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.maintenance.limits import EXPIRING
from iceberg_spark.maintenance.moved_paths import Move
from iceberg_spark.manifest.manifest_list import (
    fill_counts,
    read_manifest_list,
    write_manifest_list,
)
from iceberg_spark.manifest.writer import write_manifest
from iceberg_spark.read.projected_rows import projected_rows
from iceberg_spark.scan.task import DeleteFile
from iceberg_spark.spec.data_file import DataFileContent, FileFormat, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import MANIFEST_COMPRESSION, text_property
from iceberg_spark.spec.reserved import DELETE_FILE_PATH, DELETE_FILE_POS
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.open_file import file_shape
from iceberg_spark.write.uncommitted_files import remove_written

Table: TypeAlias = Any  # pyarrow ships no types
Pair: TypeAlias = tuple[str, str]

NOT_APPLICABLE = "N/A"
_FILE_LIST = "file-list"


@dataclass(frozen=True, slots=True)
class PathRewrite:
    """The arguments; versions are names of metadata files, the start is exclusive."""

    move: Move
    start_version: str | None = None
    end_version: str | None = None
    staging_location: str | None = None
    create_file_list: bool = True


@dataclass(frozen=True, slots=True)
class RewrittenPaths:
    """The result, as in Java's procedure.

    It has the newest metadata file's name, and the list of pairs (source,target) to copy, one per
    line.
    """

    latest_version: str
    file_list_location: str
    staging_location: str
    rewritten_manifest_file_paths_count: int
    rewritten_delete_file_paths_count: int


def rewrite_table_path(catalog: Catalog, identifier: str, request: PathRewrite) -> RewrittenPaths:
    """Rewrite a table's metadata and position deletes into a staging folder.

    Memory: the entries of one manifest, and 200 bytes for each file to copy. On an error, removes
    what was staged.

    Raises:
        InvalidInputError: the table's log lacks a version.
        ValidationException: a path is outside the source prefix.
        NoSuchFileError: a file does not exist.
    """
    table = catalog.load(identifier)
    work = _Rewriting.of(table, request)
    existing = next(iter(table.io.list(work.staging)), None) if request.staging_location else None
    if existing is not None:  # existing files would be overwritten, and removed on failure
        raise InvalidInputError(
            f"The staging folder {work.staging} has files, as {existing.path}: choose another one"
        )
    try:
        return work.execute()
    except BaseException:
        remove_written(table.io, work.staged)
        raise


@dataclass(slots=True)
class _Rewriting:
    io: FileIO
    move: Move
    staging: str
    end: str
    metadata: TableMetadata
    start: str | None
    before: frozenset[int]
    lists: bool
    copies: set[Pair] = field(default_factory=set)
    staged: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, table: LoadedTable, request: PathRewrite) -> _Rewriting:
        newest, io = table.metadata, table.io
        end = (
            _version(table, request.end_version) if request.end_version else table.metadata_location
        )
        start = _version(table, request.start_version) if request.start_version else None
        metadata = newest if end == table.metadata_location else read_metadata(io, end)
        staging = (request.staging_location or _usual_staging(newest, io)).rstrip("/")
        before = frozenset(read_metadata(io, start).snapshots) if start else frozenset()
        lists_files = request.create_file_list
        return cls(io, request.move, staging, end, metadata, start, before, lists_files)

    def execute(self) -> RewrittenPaths:
        """Write all staged files."""
        new = {number for number in self._versions() if number not in self.before}
        snapshots = [item for number, item in self.metadata.snapshots.items() if number in new]
        listed = {item.snapshot_id: self._list(item) for item in snapshots}
        manifests_to_write = {
            manifest.manifest_path: manifest
            for manifests in listed.values()
            for manifest in manifests
            if self.start is None or manifest.added_snapshot_id in new
        }
        sizes = self._deletes(manifests_to_write.values())
        moved = {
            path: self._manifest(item, new, sizes) for path, item in manifests_to_write.items()
        }
        for snapshot in snapshots:
            self._rewrite_list(snapshot, listed[snapshot.snapshot_id], moved)
        return RewrittenPaths(
            location.name(self.end),
            self._file_list() if self.lists else NOT_APPLICABLE,
            f"{self.staging}/",
            len(manifests_to_write),
            len(sizes),
        )

    def _versions(self) -> set[int]:
        """Rewrite the metadata files from the end back to the start; return their snapshots."""
        snapshot_ids: set[int] = set(self.metadata.snapshots)
        self._version_file(self.end, self.metadata)
        for entry in reversed(self.metadata.metadata_log):
            if entry.metadata_file == self.start:
                break
            earlier = read_metadata(self.io, entry.metadata_file)
            snapshot_ids.update(earlier.snapshots)
            self._version_file(entry.metadata_file, earlier)
        return snapshot_ids

    def _version_file(self, path: str, metadata: TableMetadata) -> None:
        codec = Codec.GZIP if ".gz" in location.name(path) else Codec.NONE
        self._stage(path, encode_metadata(self.move.metadata(metadata), codec))
        for file in (*metadata.statistics, *metadata.partition_statistics):
            where = str(file["statistics-path"])
            self.copies.add((where, self.move.path(where)))

    def _stage(self, path: str, data: bytes) -> None:
        with self.io.create(self._staged(path)) as out:
            out.write(data)

    def _staged(self, path: str) -> str:
        """Return the staged path of a rewritten file, and add it to the files to copy."""
        where = self.move.staged(path, self.staging)
        self.staged.append(where)
        self.copies.add((where, self.move.path(path)))
        return where

    def _list(self, snapshot: Snapshot) -> Sequence[ManifestFile]:
        if snapshot.manifest_list is None:
            raise UnsupportedError(
                f"Snapshot {snapshot.snapshot_id} has no manifest list, only manifests, as in the "
                "oldest tables: such metadata can't be moved. Expire the snapshot first"
            )
        listed = read_manifest_list(self.io, snapshot, self.metadata)
        return [self._counted(manifest) for manifest in listed]

    def _counted(self, manifest: ManifestFile) -> ManifestFile:
        """Return a manifest with the counts that a list of version 1 may lack."""
        has_all = manifest.deleted_rows_count is not None
        if has_all or not self.metadata.rules.has_sequence_numbers:
            return manifest
        spec = self.metadata.partition_specs[manifest.partition_spec_id]
        return fill_counts(self.io, manifest, spec, self.metadata)

    def _deletes(self, manifests: Iterable[ManifestFile]) -> dict[str, int]:
        """Rewrite the delete files that refer to data files; return new sizes by old path."""
        named: dict[str, DeleteFile] = {}
        for manifest in manifests:
            if manifest.content is ManifestContent.DELETES:
                entries = read_entries(self.io, self.metadata, manifest)
                for delete_file in _position_deletes(entries, manifest.partition_spec_id):
                    named[delete_file.file_path] = delete_file
        for path in named:
            self.staged.append(self.move.staged(path, self.staging))
        return MovedDeletes.of(self.io, self.metadata, self.move, self.staging).sizes(
            named.values()
        )

    def _manifest(
        self, manifest: ManifestFile, new: set[int], sizes: dict[str, int]
    ) -> ManifestFile:
        entries = read_entries(self.io, self.metadata, manifest)
        self._copy_files(entries, new, sizes)
        spec_id = manifest.partition_spec_id
        written = write_manifest(
            self.io,
            self._staged(manifest.manifest_path),
            format_version=self.metadata.format_version,
            spec=self.metadata.partition_specs[spec_id],
            schema=self.metadata.schema,
            content=manifest.content,
            snapshot_id=manifest.added_snapshot_id,
            entries=self.move.entries(entries, sizes),
            codec=text_property(self.metadata.properties, MANIFEST_COMPRESSION),
            tuple_type=tuple_type(self.metadata, spec_id),
        )
        path = self.move.path(manifest.manifest_path)
        return replace(manifest, manifest_path=path, manifest_length=written.manifest_length)

    def _copy_files(self, entries: Table, new: set[int], sizes: dict[str, int]) -> None:
        """Add the live files to copy; with a start, those that later snapshots have added.

        Rewritten files are copied from staging. The snapshot that added a file may have expired.
        """
        taken = pc.not_equal(entries.column("status"), int(ManifestEntryStatus.DELETED))
        if self.start is not None:
            of_new = pa.array(sorted(new), pa.int64())
            taken = pc.and_(taken, pc.is_in(entries.column("snapshot_id"), value_set=of_new))
        for path in entries.column("file_path").filter(taken).to_pylist():
            source = self.move.staged(path, self.staging) if path in sizes else path
            self.copies.add((source, self.move.path(path)))

    def _rewrite_list(
        self, snapshot: Snapshot, manifests: Sequence[ManifestFile], moved: dict[str, ManifestFile]
    ) -> None:
        rows = [
            moved.get(manifest.manifest_path)
            or replace(manifest, manifest_path=self.move.path(manifest.manifest_path))
            for manifest in manifests
        ]
        write_manifest_list(
            self.io,
            self._staged(str(snapshot.manifest_list)),
            snapshot,
            rows,
            format_version=self.metadata.format_version,
            codec=text_property(self.metadata.properties, MANIFEST_COMPRESSION),
        )

    def _file_list(self) -> str:
        path = f"{self.staging}/{_FILE_LIST}"
        self.staged.append(path)
        with self.io.create(path) as out:
            out.write("".join(f"{source},{to}\n" for source, to in sorted(self.copies)).encode())
        return path


def _usual_staging(newest: TableMetadata, io: FileIO) -> str:
    """Return a new folder next to the table's metadata. Raises UnsupportedError."""
    check_write_places(newest, io)
    return metadata_location(newest, f"{STAGING}{uuid.uuid4()}")


def _version(table: LoadedTable, name: str) -> str:
    """Return the table's metadata file of a name. Raises InvalidInputError."""
    log = [entry.metadata_file for entry in table.metadata.metadata_log]
    for path in (table.metadata_location, *reversed(log)):
        if location.name(path) == name:
            return path
    raise InvalidInputError(
        f"No version '{name}' of {table.identifier} in its log; the newest is "
        f"'{location.name(table.metadata_location)}', the oldest "
        f"'{location.name(log[0] if log else table.metadata_location)}'"
    )


def _position_deletes(entries: Table, spec_id: int) -> Iterator[DeleteFile]:
    """Yield a manifest's live delete files that refer to data files."""
    columns = ("status", "content", "file_path", "file_format", "file_size_in_bytes",
               "record_count", "data_sequence_number")  # fmt: skip
    for row in entries.select(columns).to_pylist():
        is_live = row["status"] != ManifestEntryStatus.DELETED
        if is_live and row["content"] == DataFileContent.POSITION_DELETES:
            yield DeleteFile(
                DataFileContent.POSITION_DELETES,
                row["file_path"],
                FileFormat(row["file_format"]),
                row["file_size_in_bytes"],
                row["record_count"],
                row["data_sequence_number"] or 0,
                spec_id,
            )


REFERENCED = "referenced-data-file"
_SCHEMA = Schema(DELETE_FILE_PATH, DELETE_FILE_POS)
_NAMES: Mapping[Path, int] = {(field.name,): field.field_id for field in _SCHEMA.fields}


@dataclass(frozen=True, slots=True)
class MovedDeletes:
    """Writes delete files to a staging folder; positions keep their order."""

    io: FileIO
    context: WriteContext
    move: Move
    staging: str

    @classmethod
    def of(cls, io: FileIO, metadata: TableMetadata, move: Move, staging: str) -> MovedDeletes:
        """Return the rewriter of a table's delete files."""
        return cls(io, write_context(metadata, io=io), move, staging)

    def sizes(self, files: Iterable[DeleteFile]) -> dict[str, int]:
        """Rewrite files, several at a time; return the new size in bytes by old path."""
        by_path = {file.file_path: file for file in files}
        with ThreadPoolExecutor(EXPIRING.threads) as pool:
            return dict(zip(by_path, pool.map(self._rewritten, by_path.values()), strict=True))

    def _rewritten(self, file: DeleteFile) -> int:
        path = self.move.staged(file.file_path, self.staging)
        if file.file_format is FileFormat.PUFFIN:
            return self._puffin(file, path)
        content = DataFileContent.POSITION_DELETES
        keys = {"delete-type": "position"}
        shape = file_shape(self.context, content, file.file_format, _SCHEMA, key_values=keys)
        with self.io.create(path) as sink:
            writer = shape.begin(sink, lambda: self.io.open(path))
            for batch in projected_rows(self.io, file, _SCHEMA.fields, _NAMES):
                moved = [self.move.paths(batch.column(0)), batch.column(1)]
                writer.write(pa.Table.from_arrays(moved, schema=to_arrow(_SCHEMA)))
            return writer.close().size

    def _puffin(self, file: DeleteFile, path: str) -> int:
        """Copy deletion vectors at the same offsets, with other paths."""
        footer = read_footer(self.io, file.file_path)
        blobs = (
            NewBlob(
                blob.type,
                read_blob(self.io, file.file_path, blob),
                blob.fields,
                blob.snapshot_id,
                blob.sequence_number,
                blob.compression_codec,
                {
                    key: self.move.path(value) if key == REFERENCED else value
                    for key, value in blob.properties.items()
                },
            )
            for blob in sorted(footer.blobs, key=lambda blob: blob.offset)
        )
        return write_puffin(self.io, path, blobs, footer.properties).size
