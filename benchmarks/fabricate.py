"""Make the metadata of a large table without writing its data files.

The table is partitioned by day(ts) and bucket(16, id) and has statistics of ten columns; every
engine can plan it, none can read it. Run `python -m benchmarks.fabricate FOLDER FILES`.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.manifest.manifest_list import assigned_row_ids, write_manifest_list
from iceberg_spark.manifest.schemas import ENTRY_COLUMNS, partition_arrow_type
from iceberg_spark.manifest.writer import write_manifest
from iceberg_spark.spec.data_file import DataFileContent, ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_json import metadata_to_json
from iceberg_spark.spec.partition import PartitionField, PartitionSpec
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Snapshot, SnapshotLogEntry, SnapshotRef, SnapshotRefType
from iceberg_spark.spec.sort import UNSORTED
from iceberg_spark.spec.transforms import BucketTransform, DayTransform
from iceberg_spark.spec.types import (
    DoubleType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

BUCKETS = 16
FIRST_DAY = 18_262  # 2020-01-01
DAY_MICROS = 86_400_000_000
ROWS_PER_FILE = 10_000
VECTORS_PER_FILE = 100
FILE_BYTES = 1_500_000
NOW_MS = 1_700_000_000_000
SNAPSHOT = 1_000_000_001
POSITION_PATH_ID = 2_147_483_546  # the reserved field id of file_path in position deletes

SCHEMA = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "ts", TimestamptzType()),
    NestedField(3, "name", StringType()),
    NestedField(4, "amount", DoubleType()),
    NestedField(5, "quantity", IntegerType()),
    *(NestedField(at, f"n{at}", LongType()) for at in range(6, 11)),
)
SPEC = PartitionSpec(
    0,
    (
        PartitionField((2,), 1000, DayTransform(), "ts_day"),
        PartitionField((1,), 1001, BucketTransform(BUCKETS), "id_bucket"),
    ),
)


@dataclass(frozen=True)
class Shape:
    """How large the table is; delete files are a share of the data files (0.0 to 1.0).

    With `deletion_vectors` each data file has one, and the table is of format version 3. With
    `scattered` each manifest has files of all days, so that a filter of a day skips none.
    """

    files: int
    files_per_manifest: int = 25_000
    days: int = 365
    position_deletes: float = 0.0
    equality_deletes: float = 0.0
    deletion_vectors: bool = False
    scattered: bool = False

    @property
    def format_version(self) -> int:
        """The version that has such deletes."""
        return 3 if self.deletion_vectors else 2


def fabricate_table(location: str | Path, files: int) -> str:
    """Write the metadata of a table of that many data files and no deletes."""
    return fabricate(location, Shape(files))


def fabricate(location: str | Path, shape: Shape, codec: str = "gzip") -> str:
    """Write metadata, manifest lists and manifests; return the metadata file's path.

    Snapshot 1 adds the data files; snapshot 2, if there are deletes, the delete files.
    """
    root = str(location).rstrip("/")
    io = FsspecIO({})
    Path(root, "metadata").mkdir(parents=True, exist_ok=True)
    snapshots: list[Snapshot] = []
    version = shape.format_version
    manifests = _numbered(_data_manifests(io, root, shape, codec), version)
    snapshots.append(_snapshot(io, root, snapshots, manifests, version))
    deletes = _delete_manifests(io, root, shape, codec)
    if deletes:
        written = [*committed(snapshots[-1], manifests), *deletes]
        snapshots.append(_snapshot(io, root, snapshots, written, version))
    return write_metadata(root, snapshots, version)


def _numbered(manifests: list[ManifestFile], version: int) -> list[ManifestFile]:
    """The manifests with the first row ids that version 3 wants."""
    return manifests if version < 3 else list(assigned_row_ids(manifests, 0).manifests)


def committed(snapshot: Snapshot, manifests: Sequence[ManifestFile]) -> list[ManifestFile]:
    """The manifests of a snapshot with the sequence number that they got by it."""
    number = snapshot.sequence_number
    values = [{name: getattr(one, name) for name in ManifestFile.__slots__} for one in manifests]
    given = {"sequence_number": number, "min_sequence_number": number}
    return [ManifestFile(**(value | given)) for value in values]


def _data_manifests(io: FsspecIO, root: str, shape: Shape, codec: str) -> list[ManifestFile]:
    out = []
    for start in range(0, shape.files, shape.files_per_manifest):
        numbers = np.arange(start, min(start + shape.files_per_manifest, shape.files))
        out.append(
            write_manifest(
                io,
                f"{root}/metadata/{uuid.uuid4()}-m0.avro",
                format_version=shape.format_version,
                spec=SPEC,
                schema=SCHEMA,
                content=ManifestContent.DATA,
                snapshot_id=SNAPSHOT,
                entries=data_entries(root, numbers, shape),
                codec=codec,
            )
        )
    return out


def _delete_manifests(io: FsspecIO, root: str, shape: Shape, codec: str) -> list[ManifestFile]:
    tables = []
    for share, content in (
        (shape.position_deletes, DataFileContent.POSITION_DELETES),
        (shape.equality_deletes, DataFileContent.EQUALITY_DELETES),
    ):
        count = int(shape.files * share)
        if count:
            chosen = np.linspace(0, shape.files - 1, count).astype(np.int64)
            tables.append(delete_entries(root, chosen, shape, content))
    if shape.deletion_vectors:
        tables.append(vector_entries(root, np.arange(shape.files), shape))
    return [
        write_manifest(
            io,
            f"{root}/metadata/{uuid.uuid4()}-m0.avro",
            format_version=shape.format_version,
            spec=SPEC,
            schema=SCHEMA,
            content=ManifestContent.DELETES,
            snapshot_id=SNAPSHOT + 1,
            entries=table.slice(start, shape.files_per_manifest),
            codec=codec,
        )
        for table in tables
        for start in range(0, table.num_rows, shape.files_per_manifest)
    ]


def data_entries(root: str, numbers: Any, shape: Shape) -> pa.Table:
    """Entries of added data files as a table of ENTRY_COLUMNS; file number n has ids around n."""
    count = len(numbers)
    days, buckets = _partition(numbers, shape)
    low_id = numbers * ROWS_PER_FILE
    low_ts = (FIRST_DAY + days) * DAY_MICROS
    lows = {
        1: low_id.astype("<i8").tobytes(),
        2: low_ts.astype("<i8").tobytes(),
        3: _names(low_id),
        4: (numbers * 0.5).astype("<f8").tobytes(),
        5: (numbers % 1000).astype("<i4").tobytes(),
        **{at: (numbers * at).astype("<i8").tobytes() for at in range(6, 11)},
    }
    highs = {
        1: (low_id + ROWS_PER_FILE - 1).astype("<i8").tobytes(),
        2: (low_ts + DAY_MICROS - 1).astype("<i8").tobytes(),
        3: _names(low_id + ROWS_PER_FILE - 1),
        4: (numbers * 0.5 + 1000).astype("<f8").tobytes(),
        5: (numbers % 1000 + 5000).astype("<i4").tobytes(),
        **{at: (numbers * at + 100_000).astype("<i8").tobytes() for at in range(6, 11)},
    }
    columns = {
        **_common(root, numbers, days, buckets, DataFileContent.DATA),
        "column_sizes": _noise(numbers, list(range(1, 11)), 50_000, 150_000),
        "value_counts": _counts(count, list(range(1, 11)), ROWS_PER_FILE),
        "null_value_counts": _noise(numbers, list(range(1, 11)), 0, 100),
        "nan_value_counts": _counts(count, [4], 0),
        "lower_bounds": _bounds(count, lows),
        "upper_bounds": _bounds(count, highs),
        "split_offsets": pa.ListArray.from_arrays(
            pa.array(np.arange(count + 1), pa.int32()), pa.repeat(pa.scalar(4, pa.int64()), count)
        ),
        "sort_order_id": pa.repeat(pa.scalar(0, pa.int32()), count),
    }
    return pa.table(columns)


def delete_entries(root: str, numbers: Any, shape: Shape, content: DataFileContent) -> pa.Table:
    """Entries of added delete files, each in the partition of the data file of that number.

    A position delete names its data file by equal bounds; an equality delete is on `id`.
    """
    count = len(numbers)
    days, buckets = _partition(numbers, shape)
    columns = _common(root, numbers, days, buckets, content)
    if content is DataFileContent.POSITION_DELETES:
        paths = _paths(root, numbers, days, buckets, "parquet").cast(pa.binary())
        columns |= {
            "lower_bounds": _pairs(count, [POSITION_PATH_ID], paths),
            "upper_bounds": _pairs(count, [POSITION_PATH_ID], paths),
        }
    else:
        low = (numbers * ROWS_PER_FILE).astype("<i8")
        columns |= {
            "value_counts": _counts(count, [1], 100),
            "null_value_counts": _counts(count, [1], 0),
            "lower_bounds": _bounds(count, {1: low.tobytes()}),
            "upper_bounds": _bounds(count, {1: (low + ROWS_PER_FILE - 1).tobytes()}),
            "equality_ids": pa.ListArray.from_arrays(
                pa.array(np.arange(count + 1), pa.int32()),
                pa.repeat(pa.scalar(1, pa.int32()), count),
            ),
            "sort_order_id": pa.repeat(pa.scalar(0, pa.int32()), count),
        }
    return pa.table(columns)


def vector_entries(root: str, numbers: Any, shape: Shape) -> pa.Table:
    """Entries of added deletion vectors, a hundred of neighbouring data files in a Puffin file."""
    count = len(numbers)
    days, buckets = _partition(numbers, shape)
    columns = _common(root, numbers, days, buckets, DataFileContent.POSITION_DELETES)
    first = numbers // VECTORS_PER_FILE * VECTORS_PER_FILE
    columns["file_path"] = _paths(root, first, *_partition(first, shape), "puffin")
    columns["file_format"] = pa.repeat(pa.scalar("PUFFIN"), count)
    return pa.table(
        {
            **columns,
            "referenced_data_file": _paths(root, numbers, days, buckets, "parquet"),
            "content_offset": pa.array(4 + numbers % VECTORS_PER_FILE * 250, pa.int64()),
            "content_size_in_bytes": pa.repeat(pa.scalar(250, pa.int64()), count),
        }
    )


def _common(
    root: str, numbers: Any, days: Any, buckets: Any, content: DataFileContent
) -> dict[str, Any]:
    count = len(numbers)
    suffix = {0: "parquet", 1: "pos-deletes.parquet", 2: "eq-deletes.parquet"}[int(content)]
    kind = partition_arrow_type(partition_type(SPEC, SCHEMA))
    day = pa.array(FIRST_DAY + days, pa.int32()).cast(kind.field(0).type)
    tuples = pa.StructArray.from_arrays([day, pa.array(buckets, pa.int32())], fields=list(kind))
    plain = {
        "status": int(ManifestEntryStatus.ADDED),
        "content": int(content),
        "file_format": "PARQUET",
        "record_count": ROWS_PER_FILE if content is DataFileContent.DATA else 100,
        "file_size_in_bytes": FILE_BYTES if content is DataFileContent.DATA else 5_000,
    }
    return {
        **{
            name: pa.repeat(pa.scalar(value, ENTRY_COLUMNS[name].type), count)
            for name, value in plain.items()
        },
        "file_path": _paths(root, numbers, days, buckets, suffix),
        "partition": tuples,
    }


def _partition(numbers: Any, shape: Shape) -> tuple[Any, Any]:
    if shape.scattered:
        return numbers % shape.days, numbers % BUCKETS
    return numbers * shape.days // max(shape.files, 1), numbers % BUCKETS


def _paths(root: str, numbers: Any, days: Any, buckets: Any, suffix: str) -> pa.Array:
    dates = (np.datetime64("1970-01-01") + FIRST_DAY + days).astype(str)
    write = "0b1c8a52-6a3f-4f0e-9d4b-1c2d3e4f5a6b"
    paths = [
        f"{root}/data/ts_day={date}/id_bucket={bucket}/{number:08d}-0-{write}-00001.{suffix}"
        for date, bucket, number in zip(dates, buckets, numbers, strict=True)
    ]
    return pa.array(paths, pa.string())


def _names(ids: Any) -> pa.Array:
    return pa.array([f"name-{number:011d}".encode() for number in ids], pa.binary())


def _counts(count: int, keys: list[int], value: int) -> pa.Array:
    return _pairs(count, keys, pa.repeat(pa.scalar(value, pa.int64()), count * len(keys)))


def _noise(numbers: Any, keys: list[int], low: int, high: int) -> pa.Array:
    """Counts that don't compress to nothing; the same for the same files."""
    count = len(numbers)
    drawn = np.random.default_rng(int(numbers[0])).integers(low, high, count * len(keys))
    return _pairs(count, keys, pa.array(drawn, pa.int64()))


def _bounds(count: int, by_key: dict[int, Any]) -> pa.Array:
    columns = []
    for data in by_key.values():
        if isinstance(data, bytes):
            width = len(data) // max(count, 1)
            fixed = pa.Array.from_buffers(pa.binary(width), count, [None, pa.py_buffer(data)])
            columns.append(fixed.cast(pa.binary()))
        else:
            columns.append(data)
    order = np.arange(count * len(columns)).reshape(len(columns), count).T.ravel()
    return _pairs(count, list(by_key), pa.concat_arrays(columns).take(pa.array(order)))


def _pairs(count: int, keys: list[int], values: pa.Array) -> pa.Array:
    entries = pa.StructArray.from_arrays(
        [pa.array(np.tile(np.array(keys, np.int32), count)), values], ["key", "value"]
    )
    offsets = pa.array(np.arange(0, count * len(keys) + 1, len(keys)), pa.int32())
    return pa.ListArray.from_arrays(offsets, entries)


def _snapshot(
    io: FsspecIO,
    root: str,
    before: list[Snapshot],
    manifests: Sequence[ManifestFile],
    version: int = 2,
) -> Snapshot:
    number = len(before) + 1
    rows = sum(each.added_rows_count or 0 for each in manifests) if not before else 0
    lineage: dict[str, int] = {}
    if version >= 3:
        lineage = {"first_row_id": sum(one.added_rows or 0 for one in before), "added_rows": rows}
    snapshot = Snapshot(
        snapshot_id=SNAPSHOT + len(before),
        timestamp_ms=NOW_MS + number,
        manifest_list=f"{root}/metadata/snap-{SNAPSHOT + len(before)}-1-{uuid.uuid4()}.avro",
        parent_snapshot_id=before[-1].snapshot_id if before else None,
        sequence_number=number,
        summary={"operation": "overwrite" if before else "append"},
        schema_id=0,
        **lineage,
    )
    write_manifest_list(
        io, str(snapshot.manifest_list), snapshot, manifests, format_version=version
    )
    return snapshot


def write_metadata(root: str, snapshots: list[Snapshot], version: int = 2) -> str:
    """Write a metadata file and its hint; the last snapshot is main's. Returns its path."""
    last = snapshots[-1]
    metadata = TableMetadata(
        format_version=version,
        next_row_id=sum(one.added_rows or 0 for one in snapshots) if version >= 3 else None,
        table_uuid=str(uuid.uuid4()),
        location=root,
        last_updated_ms=last.timestamp_ms,
        last_column_id=SCHEMA.highest_field_id,
        schemas={0: SCHEMA},
        current_schema_id=0,
        partition_specs={0: SPEC},
        default_spec_id=0,
        last_partition_id=SPEC.last_assigned_field_id,
        sort_orders={0: UNSORTED},
        default_sort_order_id=0,
        last_sequence_number=last.sequence_number,
        current_snapshot_id=last.snapshot_id,
        snapshots={one.snapshot_id: one for one in snapshots},
        refs={"main": SnapshotRef(last.snapshot_id, SnapshotRefType.BRANCH)},
        snapshot_log=tuple(
            SnapshotLogEntry(one.snapshot_id, one.timestamp_ms) for one in snapshots
        ),
    )
    path = Path(root, "metadata", "v1.metadata.json")
    path.write_text(metadata_to_json(metadata))
    Path(root, "metadata", "version-hint.text").write_text("1")
    return str(path)


if __name__ == "__main__":
    print(fabricate(sys.argv[1], Shape(int(sys.argv[2]), position_deletes=0.05)))
