"""Tables to commit to, and what is in them."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.create_table import create_table
from iceberg_spark.commits.new_manifests import tuple_type
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.manifest.entries import manifest_entries
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.spec.data_file import DataFile, ManifestEntry, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transform_text import parse_partition_spec
from tests.builders import data_file, schema

CATALOG = FileSystemCatalog("c")
IO: FileIO = FsspecIO()
COLUMNS = schema(("id", "long"), ("region", "string"), ("v", "double"))


def new_location() -> str:
    return f"memory://transactions/{uuid.uuid4().hex}"


def make_table(
    partition_by: Sequence[str] = (),
    *,
    location: str | None = None,
    columns: Schema = COLUMNS,
    format_version: int = 2,
    **properties: str,
) -> LoadedTable:
    """An empty table, in memory unless it gets another location."""
    where = location or new_location()
    quick = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "20"}
    named = {key.replace("_", "-"): value for key, value in properties.items()}
    return create_table(
        CATALOG,
        where,
        columns,
        parse_partition_spec(partition_by, columns),
        location=where,
        properties={**quick, **named},
        format_version=format_version,
    )


def run(table: LoadedTable, *actions: Action) -> LoadedTable:
    """The table after one commit."""
    return commit(CATALOG, table.identifier, actions, table)


def reloaded(table: LoadedTable) -> LoadedTable:
    return CATALOG.load(table.identifier)


def file(table: LoadedTable, name: str, *partition: Any, **rest: Any) -> DataFile:
    """A data file of the table, 10 rows."""
    path = f"{table.metadata.location}/data/{name}.parquet"
    return data_file(
        path,
        **{"partition": partition, "partition_spec_id": table.metadata.default_spec_id, **rest},
    )


def manifests(metadata: TableMetadata, branch: str = "main") -> tuple[ManifestFile, ...]:
    head = metadata.branch_head(branch)
    return () if head is None else read_manifest_list(IO, head, metadata)


def entries(metadata: TableMetadata, branch: str = "main") -> list[ManifestEntry]:
    """All entries of the branch's manifests, deleted ones too."""
    found = []
    for manifest in manifests(metadata, branch):
        kind = tuple_type(metadata, manifest.partition_spec_id)
        table = read_manifest(IO, manifest, kind)
        found += manifest_entries(table, manifest.partition_spec_id, kind)
    return found


def live(metadata: TableMetadata, branch: str = "main") -> set[str]:
    """The names of the live files."""
    return {
        Path(entry.data_file.file_path).stem
        for entry in entries(metadata, branch)
        if entry.status is not ManifestEntryStatus.DELETED
    }


def metadata_names(table: LoadedTable, suffix: str = ".avro") -> set[str]:
    """The names of files in the table's metadata folder."""
    found = IO.list(f"{table.metadata.location}/metadata")
    return {info.path.rpartition("/")[2] for info in found if info.path.endswith(suffix)}


def referenced_names(metadata: TableMetadata) -> set[str]:
    """The names of the manifests and lists that any snapshot uses."""
    used = set()
    for snapshot in metadata.snapshots.values():
        used.add(str(snapshot.manifest_list).rpartition("/")[2])
        for manifest in read_manifest_list(IO, snapshot, metadata):
            used.add(manifest.manifest_path.rpartition("/")[2])
    return used
