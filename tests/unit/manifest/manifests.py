"""Schemas, specs and entries for the tests of manifests."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.manifest.writer import write_manifest
from iceberg_spark.spec.data_file import DataFile, ManifestEntry, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import IdentityTransform
from tests.builders import data_file, schema

IO = FsspecIO({})
KINDS = (
    "boolean", "int", "long", "float", "double", "decimal(9, 2)", "decimal(38, 10)", "date",
    "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "string", "uuid",
    "fixed[3]", "binary",
)  # fmt: skip
ALL_KINDS = schema(*((f"c{at}", kind) for at, kind in enumerate(KINDS, 1)))
ONE = schema(("id", "long"))
UNPARTITIONED = PartitionSpec()
ADDED, EXISTING, DELETED = (
    ManifestEntryStatus.ADDED,
    ManifestEntryStatus.EXISTING,
    ManifestEntryStatus.DELETED,
)
FULL: dict[str, Any] = {
    "column_sizes": {1: 10, 2: 2**40},
    "value_counts": {1: 10},
    "null_value_counts": {1: 0},
    "nan_value_counts": {},
    "lower_bounds": {1: b"\x00" * 8, 99: b"of a column long gone"},
    "upper_bounds": {1: b"\xff" * 8, 99: b""},
    "key_metadata": b"key",
    "split_offsets": (4, 2**33),
    "sort_order_id": 0,
}


def identity_spec(columns: Schema) -> PartitionSpec:
    """A spec of all columns as they are."""
    return PartitionSpec(
        0,
        tuple(
            PartitionField(
                (one.field_id,), 999 + one.field_id, IdentityTransform(), f"p_{one.name}"
            )
            for one in columns.fields
        ),
    )


def entry(status: ManifestEntryStatus = ADDED, file: DataFile | None = None, **rest: Any) -> Any:
    """An entry of a data file."""
    return ManifestEntry(status, file or data_file(), **rest)


def written(
    folder: Path, entries: Iterable[ManifestEntry] | Any, columns: Schema = ONE, **rest: Any
) -> ManifestFile:
    """Write a manifest of format version 2 and snapshot 5."""
    arguments: dict[str, Any] = {
        "format_version": 2,
        "spec": UNPARTITIONED,
        "schema": columns,
        "content": ManifestContent.DATA,
        "snapshot_id": 5,
        "entries": entries,
    }
    path = folder / f"m{len(list(folder.iterdir()))}.avro"
    return write_manifest(IO, str(path), **(arguments | rest))


def read(manifest: ManifestFile, columns: Schema = ONE, spec: PartitionSpec = UNPARTITIONED) -> Any:
    """Read a manifest past every cache."""
    return read_manifest(IO, manifest, partition_type(spec, columns), cache=BoundedCache(0))


def paths(count: int) -> Sequence[DataFile]:
    return [data_file(f"file:/warehouse/t/data/{at}.parquet") for at in range(count)]
