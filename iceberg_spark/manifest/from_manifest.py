"""The manifest list entry of a manifest, computed from the manifest itself.

Needed for snapshots of format version 1 that name their manifests without a list, and for lists
of old writers without counts.
"""

from __future__ import annotations

from dataclasses import replace

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.avro.container import parse_container
from iceberg_spark.io.decoding import decoding
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import limits_of
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.manifest.writer import manifest_file_of
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.snapshot import Snapshot

_COLUMNS = ("status", "snapshot_id", "data_sequence_number", "record_count", "partition")


def manifest_file_from_manifest(
    io: FileIO, path: str, snapshot: Snapshot, metadata: TableMetadata
) -> ManifestFile:
    """Return the row that a version 1 manifest list would have for a manifest.

    Entries without a snapshot id inherit the snapshot's. Raises NoSuchFileError,
    CorruptFileError for a spec id that the table doesn't have.
    """
    container = parse_container(io.read_bytes(path), path, limits_of(io.properties))
    text = container.metadata.get("partition-spec-id", "0")
    with decoding(path):
        spec = metadata.partition_specs.get(int(text)) if text.isdecimal() else None
    if spec is None:
        raise CorruptFileError(f"Manifest {path} has partition spec '{text}', the table has not")
    bare = ManifestFile(
        path, io.size(path), spec.spec_id, ManifestContent.DATA, 0, 0, snapshot.snapshot_id
    )
    return replace(counted(io, bare, spec, metadata), sequence_number=0, min_sequence_number=0)


def counted(
    io: FileIO, manifest: ManifestFile, spec: PartitionSpec, metadata: TableMetadata
) -> ManifestFile:
    """Return a manifest with the counts and partition summaries that its list left out."""
    kind = partition_type(spec, metadata.schema, metadata.schemas.values())
    table = read_manifest(io, manifest, kind, columns=_COLUMNS)
    full = manifest_file_of(
        table,
        manifest.manifest_path,
        manifest.manifest_length,
        spec,
        manifest.content,
        manifest.added_snapshot_id,
        kind,
    )
    return replace(
        full,
        sequence_number=manifest.sequence_number,
        min_sequence_number=manifest.min_sequence_number,
        key_metadata=manifest.key_metadata,
        first_row_id=manifest.first_row_id,
    )
