"""Keys of equality delete files, read by our own readers on the driver or on Spark's workers.

They know ids, promotions, name mappings and every file format, and no setting of a session can
make them read NULLs; few columns are read, so moving the rows costs little.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.arrow.file_fields import ids_of
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.io.allowed_places import storage_server
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.process_cache import process_cache
from iceberg_spark.read.projected_rows import LeafColumn, projected_rows
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.task import DeleteFile
from iceberg_spark.spark.adapt.jobs import job_rows
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.deletes.files_with_deletes import KeyDeletes
from iceberg_spark.spark.deletes.limits import KEYS
from iceberg_spark.spec import name_mapping
from iceberg_spark.spec import types as t
from iceberg_spark.spec.schema import Schema

SEQUENCE = "sequence"
SCOPE = "scope"
_Group: TypeAlias = list[tuple[DeleteFile, int]]


def key_column_name(index: int) -> str:
    """Return the name of a key column of a key table, by its place among the keys."""
    return f"key_{index}"


def key_columns(deletes: KeyDeletes) -> list[str]:
    """Return the names of the columns by which keys are told apart."""
    names = [key_column_name(index) for index in range(len(deletes.keys))]
    return [*names, SCOPE] if deletes.by_scope else names


def local_keys(context: ScanContext, io: FileIO, deletes: KeyDeletes) -> pa.Table | None:
    """Return the distinct keys with, where they count, their scope and greatest sequence number.

    None where they take more than `local_bytes`: some files are read at once, and so much of each
    at most. The caller bounds their number. Raises CorruptFileError, NoSuchFileError or
    StorageError naming a delete file.
    """
    keys = len(deletes.keys)

    def rows(scoped_file: tuple[DeleteFile, int]) -> tuple[list[pa.RecordBatch], int]:
        batches, size = [], 0
        for batch in _rows(context, io, deletes.keys, *scoped_file):
            batches.append(batch)
            size += sum(column.nbytes for column in batch.columns[:keys])
            if size > KEYS.local_bytes:
                break
        return batches, size

    scoped_files = list(zip(deletes.files, deletes.scopes, strict=True))
    batches: list[pa.RecordBatch] = []
    held_bytes = 0
    with ThreadPoolExecutor(KEYS.readers, thread_name_prefix="equality-deletes") as pool:
        for start in range(0, len(scoped_files), KEYS.readers):
            for part, size in pool.map(rows, scoped_files[start : start + KEYS.readers]):
                batches += part
                held_bytes += size
            if held_bytes > KEYS.local_bytes:
                return None
    table = pa.Table.from_batches(batches, _arrow_type(deletes.keys))
    newest = [(SEQUENCE, "max")] if deletes.by_sequence else []
    distinct = table.group_by(key_columns(deletes)).aggregate(newest)
    names = {f"{SEQUENCE}_max": SEQUENCE}
    return distinct.rename_columns([names.get(name, name) for name in distinct.column_names])


def cached_keys(
    context: ScanContext, io: FileIO, deletes: KeyDeletes, max_count: int
) -> pa.Table | None:
    """Return the keys of delete files as `local_keys` does, and keep them in this process.

    None if there are more than `max_count` keys, or too many files or bytes: tasks have to read
    them. Raises CorruptFileError, NoSuchFileError or StorageError naming a delete file.
    """
    if deletes.record_count > max_count or len(deletes.files) > KEYS.local_files:
        return None

    def load() -> tuple[pa.Table | None, int]:
        keys = local_keys(context, io, deletes)
        return (None, 0) if keys is None else (keys.combine_chunks(), keys.nbytes)

    name = ("keys", *cache_key(context, io, deletes))
    keys: pa.Table | None = process_cache().get_or_load(name, load)
    return keys


def cache_key(context: ScanContext, io: FileIO, deletes: KeyDeletes) -> tuple[Hashable, ...]:
    """Return all that keys depend on: the files, and the key columns with their current types.

    Without the types, rows that were deleted came back: a column was widened between two reads of
    one process, and the hash of an int is not the hash of a long.
    """
    files = tuple(
        (
            file.key,
            file.file_size_in_bytes,
            storage_server(io, file.file_path),
            scope,
            file.data_sequence_number,
        )
        for file, scope in zip(deletes.files, deletes.scopes, strict=True)
    )
    return deletes.keys, context.name_mapping, deletes.by_sequence, deletes.by_scope, files


def mean_key_bytes(context: ScanContext, io: FileIO, deletes: KeyDeletes) -> float:
    """Return how many bytes a key takes in memory, by the first rows of the largest file.

    The size of a file says little: equal beginnings of keys are compressed away. Raises as
    `local_keys`.
    """
    largest = max(deletes.files, key=lambda file: file.record_count)
    for batch in _rows(context, io, deletes.keys, largest, 0):
        if batch.num_rows:
            size = sum(column.nbytes for column in batch.columns[: len(deletes.keys)])
            return float(size / batch.num_rows)
    return 0.0


@dataclass(frozen=True, slots=True)
class _ReadKeys:
    """Reads groups of delete files, each with its scope."""

    context: ScanContext
    keys: tuple[LeafColumn, ...]

    def rows(self, group: _Group) -> Iterator[pa.RecordBatch]:
        """Yield the keys of a group, at most `batch_bytes` at a time."""
        io = self.context.io
        for file, scope in group:
            for rows in _rows(self.context, io, self.keys, file, scope):
                yield from _sliced(rows)


def _sliced(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    rows = max(1, batch.num_rows * KEYS.batch_bytes // max(1, batch.nbytes))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def spark_keys(
    context: ScanContext, deletes: KeyDeletes, spark: SparkSession, key_bytes: float
) -> DataFrame:
    """Return the keys as a frame that Spark's tasks read, with scopes and sequence numbers.

    Keys that are there twice stay so, unless sequence numbers differ. A key takes some
    `key_bytes` in memory.
    """
    reader = _ReadKeys(context, deletes.keys)
    kind = to_spark(_schema(deletes.keys))
    return job_rows(spark, _groups(deletes, key_bytes), reader.rows, kind)


def _groups(deletes: KeyDeletes, key_bytes: float) -> Iterator[_Group]:
    group: _Group = []
    stored, held = 0, 0.0
    for file, scope in zip(deletes.files, deletes.scopes, strict=True):
        stored += file.file_size_in_bytes
        held += file.record_count * key_bytes
        if group and (stored > KEYS.task_files_bytes or held > KEYS.task_keys_bytes):
            yield group
            group = []
            stored, held = file.file_size_in_bytes, file.record_count * key_bytes
        group.append((file, scope))
    yield group


def _rows(
    context: ScanContext, io: FileIO, keys: Sequence[LeafColumn], file: DeleteFile, scope: int
) -> Iterator[pa.RecordBatch]:
    schema = _arrow_type(keys)
    mapping = context.name_mapping
    names = ids_of(name_mapping.parse(mapping)) if mapping else {}
    for batch in projected_rows(io, file, [leaf.field for leaf in keys], names):
        columns = [leaf.of(column) for leaf, column in zip(keys, batch.columns, strict=True)]
        fitted = [
            column if column.type == field.type else pc.cast(column, field.type)
            for column, field in zip(columns, schema, strict=False)
        ]
        numbers = (scope, file.data_sequence_number)
        fitted += [pa.repeat(pa.scalar(number, pa.int64()), batch.num_rows) for number in numbers]
        yield pa.RecordBatch.from_arrays(fitted, schema=schema)


def _arrow_type(keys: Sequence[LeafColumn]) -> pa.Schema:
    schema = to_arrow(_schema(keys))
    return pa.schema(
        [
            pa.field(name, _plain(kind))
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    return pa.binary() if pa.types.is_fixed_size_binary(kind) else kind


def _schema(keys: Sequence[LeafColumn]) -> Schema:
    """Return the columns of a key table; UUIDs are their 16 bytes."""
    kinds = [t.BinaryType() if isinstance(k.kind, t.UUIDType) else k.kind for k in keys]
    named = [(key_column_name(index), kind) for index, kind in enumerate(kinds)]
    columns = [*named, (SCOPE, t.LongType()), (SEQUENCE, t.LongType())]
    return Schema(*(t.NestedField(i, *column) for i, column in enumerate(columns, start=1)))
