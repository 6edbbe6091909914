"""The manifests that a commit writes: of new files, and of entries of other manifests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from iceberg_spark.commits.snapshot_producer import SnapshotProducer
from iceberg_spark.errors import InvalidInputError, UnsupportedError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.entries import data_files
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.manifest.writer import ManifestParts, manifest_bytes, write_manifest
from iceberg_spark.spec.data_file import (
    DataFile,
    DataFileContent,
    DeleteKey,
    ManifestEntry,
    ManifestEntryStatus,
)
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.properties import (
    MANIFEST_COMPRESSION,
    MANIFEST_TARGET_SIZE_BYTES,
    int_property,
    text_property,
)
from iceberg_spark.spec.types import StructType

FEWEST_FILES_OF_A_FULL_MANIFEST = 250
"""The size is checked after each multiple of this number of files (Java: RollingManifestWriter)."""


def check_new_files(base: TableMetadata, files: Sequence[DataFile]) -> None:
    """Check files that a commit adds.

    Raises:
        InvalidInputError: a path occurs twice, a spec is unknown, or a partition tuple does not
            fit.
        UnsupportedError: the format version has no such delete files.
        ValidationException: equality deletes use a dropped column. A compaction writes data files
            without it, so deleted rows would come back.
    """
    seen: set[DeleteKey] = set()
    for file in files:
        if file.key in seen:
            raise InvalidInputError(f"File {file.file_path} is given twice in one commit")
        seen.add(file.key)
        spec = base.partition_specs.get(file.partition_spec_id)
        if spec is None:
            spec_ids = ", ".join(str(spec_id) for spec_id in base.partition_specs)
            raise InvalidInputError(
                f"File {file.file_path} has partition spec {file.partition_spec_id}; the table "
                f"has: {spec_ids}"
            )
        if len(file.partition) != len(spec.fields):
            raise InvalidInputError(
                f"File {file.file_path} has {len(file.partition)} partition values; spec "
                f"{spec.spec_id} has {len(spec.fields)} fields"
            )
        if file.content is not DataFileContent.DATA and not base.rules.has_delete_files:
            raise UnsupportedError(
                f"Delete file {file.file_path} can't be added: row-level deletes need the table's "
                "format-version to be 2; this table has 1"
            )
        _check_deletes_by_position(base, file)
        _check_keys(base, file)
    _check_one_vector_each(files)


def _check_deletes_by_position(base: TableMetadata, file: DataFile) -> None:
    if file.content is not DataFileContent.POSITION_DELETES:
        return
    if base.rules.has_deletion_vectors and not file.is_vector:
        raise UnsupportedError(
            f"Position delete file {file.file_path} can't be added to {base.location}: from "
            f"format-version {base.format_version} on deletes by position are deletion vectors"
        )
    if file.is_vector and not base.rules.has_deletion_vectors:
        raise UnsupportedError(
            f"The deletion vector in {file.file_path} can't be added to {base.location}, which "
            f"has format-version {base.format_version}: deletion vectors need 3"
        )
    needed = file.referenced_data_file, file.content_offset, file.content_size_in_bytes
    if file.is_vector and None in needed:
        raise InvalidInputError(
            f"The deletion vector in {file.file_path} lacks its data file, offset or size"
        )


def _check_keys(base: TableMetadata, file: DataFile) -> None:
    if file.content is not DataFileContent.EQUALITY_DELETES:
        return
    dropped = [
        field_id for field_id in file.equality_ids or () if base.schema.get(field_id) is None
    ]
    if dropped:
        raise ValidationException(
            f"The equality deletes in {file.file_path} are by the column with field id "
            f"{dropped[0]}, which was dropped from {base.location}: choose other keys and write "
            "the change again"
        )


def _check_one_vector_each(files: Iterable[DataFile]) -> None:
    seen: set[str | None] = set()
    for file in files:
        if not file.is_vector:
            continue
        if file.referenced_data_file in seen:
            raise InvalidInputError(
                f"Data file {file.referenced_data_file} is given two deletion vectors in one commit"
            )
        seen.add(file.referenced_data_file)


def write_added(
    producer: SnapshotProducer,
    base: TableMetadata,
    io: FileIO,
    files: Iterable[DataFile],
    *,
    data_sequence_number: int | None = None,
    delete_sequence_numbers: Mapping[DeleteKey, int] | None = None,
) -> tuple[ManifestFile, ...]:
    """Write manifests of new files, one or more for each spec and content.

    Entries inherit their sequence numbers, with two exceptions. `data_sequence_number` is for data
    files whose rows are older than the file (compaction). Delete files that replace others have
    numbers by key. A manifest is full at about `commit.manifest.target-size-bytes`.
    """
    groups: dict[tuple[ManifestContent, int], list[DataFile]] = defaultdict(list)
    for file in files:
        is_data = file.content is DataFileContent.DATA
        content = ManifestContent.DATA if is_data else ManifestContent.DELETES
        groups[content, file.partition_spec_id].append(file)
    written: list[ManifestFile] = []
    for (content, spec_id), group in sorted(groups.items()):
        numbers = delete_sequence_numbers or {}
        number = data_sequence_number if content is ManifestContent.DATA else None
        # A loop over new files is fine: there are at most some thousands.
        entries = [
            ManifestEntry(
                ManifestEntryStatus.ADDED,
                replace(file, first_row_id=None),  # a file of another snapshot gets new row ids
                producer.snapshot_id(base),
                numbers.get(file.key, number),
            )
            for file in group
        ]
        written += _rolled(producer, base, io, entries, spec_id, content)
    return tuple(written)


def _rolled(
    producer: SnapshotProducer,
    base: TableMetadata,
    io: FileIO,
    entries: Sequence[ManifestEntry],
    spec_id: int,
    content: ManifestContent,
) -> Iterator[ManifestFile]:
    """Write manifests; the size of the first ones decides how many files go into the next."""
    target = int_property(base.properties, MANIFEST_TARGET_SIZE_BYTES)
    step = FEWEST_FILES_OF_A_FULL_MANIFEST
    start, count = 0, len(entries)
    if count > step:
        some = entries_bytes(producer, base, entries[:step], spec_id, content)
        count = _full(target, some / step)
    while start < len(entries):
        part = entries[start : start + count]
        manifest = write_entries(producer, base, io, part, spec_id, content)
        yield manifest
        start += len(part)
        count = _full(target, manifest.manifest_length / len(part))


def entries_bytes(
    producer: SnapshotProducer,
    base: TableMetadata,
    entries: Iterable[ManifestEntry] | pa.Table,
    spec_id: int,
    content: ManifestContent,
) -> int:
    """Return the size in bytes of a manifest with these entries."""
    return manifest_bytes(**_manifest(base, entries, spec_id, content, producer))


def _full(target_bytes: int, bytes_of_a_file: float) -> int:
    step = FEWEST_FILES_OF_A_FULL_MANIFEST
    return max(1, int(target_bytes / bytes_of_a_file) // step) * step


def write_entries(
    producer: SnapshotProducer,
    base: TableMetadata,
    io: FileIO,
    entries: Iterable[ManifestEntry] | pa.Table,
    spec_id: int,
    content: ManifestContent,
) -> ManifestFile:
    """Write one manifest of this commit from values or from an entry table."""
    path = producer.new_manifest_path(base, io)
    return write_manifest(io, path, **_manifest(base, entries, spec_id, content, producer))


def _manifest(
    base: TableMetadata,
    entries: Iterable[ManifestEntry] | pa.Table,
    spec_id: int,
    content: ManifestContent,
    producer: SnapshotProducer,
) -> ManifestParts:
    return {
        "format_version": base.format_version,
        "spec": base.partition_specs[spec_id],
        "schema": base.schema,
        "content": content,
        "snapshot_id": producer.snapshot_id(base),
        "entries": entries,
        "codec": text_property(base.properties, MANIFEST_COMPRESSION),
        "tuple_type": tuple_type(base, spec_id),
    }


def read_entries(io: FileIO, base: TableMetadata, manifest: ManifestFile) -> pa.Table:
    """Return all entries of a manifest with all their columns."""
    return read_manifest(io, manifest, tuple_type(base, manifest.partition_spec_id))


def data_files_of(base: TableMetadata, manifest: ManifestFile, entries: pa.Table) -> list[DataFile]:
    """Return selected entries of a manifest as files."""
    spec_id = manifest.partition_spec_id
    return data_files(entries, spec_id, tuple_type(base, spec_id))


def tuple_type(base: TableMetadata, spec_id: int) -> StructType:
    """Return the type of a spec's partition tuples; fields of dropped columns keep their type."""
    return partition_type(base.partition_specs[spec_id], base.schema, base.schemas.values())


def with_status(entries: pa.Table, status: Any) -> pa.Table:
    """Return entries with new statuses, given as integers."""
    index = entries.schema.get_field_index("status")
    return entries.set_column(index, entries.schema.field(index), pa.array(status, pa.int32()))
