"""The summary of a manifest's entries in a manifest list: counts and partition bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.arrow.floats import extremes
from iceberg_spark.arrow.values import from_array
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import FieldSummary
from iceberg_spark.spec.types import IcebergType, StructType, UnknownType
from iceberg_spark.spec.values import to_bytes

Array: TypeAlias = Any  # pyarrow ships no types
Table: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Count:
    """Files and rows of one status."""

    files: int
    rows: int


def count(entries: Table, status: ManifestEntryStatus) -> Count:
    """Return how many files and rows the entries of a status have."""
    rows = entries.column("record_count").filter(pc.equal(entries.column("status"), int(status)))
    return Count(len(rows), int(pc.sum(rows, min_count=0).as_py()))


def min_data_sequence_number(entries: Table) -> int | None:
    """Return the least data sequence number of live entries that have one.

    None means that all inherit: then the manifest's own sequence number is the least.
    """
    live = pc.not_equal(entries.column("status"), int(ManifestEntryStatus.DELETED))
    least = pc.min(entries.column("data_sequence_number").filter(live)).as_py()
    return None if least is None else int(least)


def field_summaries(entries: Table, partition_type: StructType) -> tuple[FieldSummary, ...]:
    """Return the summary of each partition field over all entries, also deleted ones (as Java)."""
    tuples = concat(entries.column("partition"))
    return tuple(
        field_summary(tuples.field(index), field.field_type)
        for index, field in enumerate(partition_type.fields)
    )


def field_summary(values: Array, kind: IcebergType) -> FieldSummary:
    """Return nulls, NaNs and bounds of one partition field (specification: "Manifest Lists")."""
    floating = pa.types.is_floating(values.type)
    nan = pc.fill_null(pc.is_nan(values), False) if floating else None
    contains_nan = bool(nan is not None and pc.any(nan, min_count=0).as_py())
    present = values.filter(pc.invert(nan)).drop_null() if contains_nan else values.drop_null()
    contains_null = values.null_count > 0
    if not len(present) or isinstance(kind, UnknownType):
        return FieldSummary(contains_null, contains_nan)
    return FieldSummary(contains_null, contains_nan, *_bounds(kind, present))


def _bounds(kind: IcebergType, values: Array) -> list[bytes]:
    if pa.types.is_floating(values.type):
        ends = extremes(values)
    else:
        ends = tuple(pc.min_max(values).values())  # Python has no dates beyond the year 9999
    return [to_bytes(kind, value) for value in from_array(kind, pa.array(ends, values.type))]
