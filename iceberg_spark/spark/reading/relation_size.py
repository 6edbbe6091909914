"""What a relation that reads some columns of its files says of its size: Spark joins by that.

A relation of three columns of forty that claimed its files' bytes would not be broadcast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.errors import CorruptFileError, NoSuchFileError
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.scan.limits import PLANNING
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.reading.column_plan import ColumnPlan
from iceberg_spark.spec import types as t
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.partition_type import partition_type

_LEAST_ROW_BYTES = 8
"""Bytes of a row without columns, of which a broadcast would still have all."""
_LEAST_TEXT_BYTES = 4
"""Bytes of a text that files have once and point at: what points at it."""
_TEXT_BYTES, _BINARY_BYTES, _VARIANT_BYTES = 20, 100, 2048
"""Bytes of a value (Spark: `DataType.defaultSize`)."""


_LOOSE = (t.StringType, t.BinaryType, t.VariantType, t.GeometryType, t.GeographyType)


def row_bytes(columns: ColumnPlan, plan: ScanPlan, files: pa.Table) -> float:
    """Return how many bytes a row of a relation takes, about: Spark joins by that.

    Values of one width take it, as Java says of a scan (`SparkSchemaUtil.estimateSize`); texts and
    the like what they take in files, as Spark says of its own, or where these don't tell, Spark's
    estimate, and more if the files are longer than all columns should be.
    `files` are rows of FILES_SCHEMA.
    """
    read = [
        field.requested for field in (*columns.read, *columns.keys) if field.requested is not None
    ]
    some = list(_leaves((field.field_id, field.field_type) for field in read))
    if not any(leaf.is_loose for leaf in some):
        return max(_LEAST_ROW_BYTES, _sum(some, {}, 0.0))
    stored = column_bytes(plan)
    schema = plan.context.table_schema
    every = _leaves((field.field_id, field.field_type) for field in schema.fields)
    return max(_LEAST_ROW_BYTES, _sum(some, stored, _longer(list(every), files)))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """The bytes of a value as Spark estimates them; `is_loose` if it may have any number."""

    field_id: int
    width: int
    is_loose: bool


def _longer(every: list[_Leaf], files: pa.Table) -> float:
    """Return by how many bytes a loose value is longer than Spark estimates, about."""
    rows = pc.sum(files.column("record_count")).as_py() or 0
    size = pc.sum(files.column("file_size_in_bytes")).as_py() or 0
    loose = sum(leaf.is_loose for leaf in every)
    if not rows or not loose:
        return 0.0
    return max(0.0, (size / rows - _sum(every, {}, 0.0)) / loose)


def _sum(leaves: list[_Leaf], stored: Mapping[int, float], longer: float) -> float:
    total = 0.0
    for leaf in leaves:
        if leaf.is_loose and leaf.field_id in stored:
            total += max(_LEAST_TEXT_BYTES, stored[leaf.field_id])
        else:
            total += leaf.width + longer * leaf.is_loose
    return total


def _leaves(
    fields: Iterable[tuple[int, t.IcebergType]], *, repeated: bool = False
) -> Iterator[_Leaf]:
    """Yield the leaves of fields; those of lists and maps may be there any number of times."""
    for field_id, kind in fields:
        match kind:
            case t.StructType(fields=inner):
                pairs = ((field.field_id, field.field_type) for field in inner)
                yield from _leaves(pairs, repeated=repeated)
            case t.ListType(element_id=element_id, element_type=element):
                yield from _leaves([(element_id, element)], repeated=True)
            case t.MapType(key_id=key_id, key_type=key, value_id=value_id, value_type=value):
                yield from _leaves([(key_id, key), (value_id, value)], repeated=True)
            case _:
                yield _Leaf(field_id, _width(kind), repeated or isinstance(kind, _LOOSE))


def _width(kind: t.IcebergType) -> int:
    """Return the bytes of a value as Spark's own types estimate them."""
    match kind:
        case t.BooleanType() | t.UnknownType():
            return 1
        case t.IntegerType() | t.FloatType() | t.DateType():
            return 4
        case t.DecimalType(precision=precision):
            return 8 if precision <= 18 else 16
        case t.StringType() | t.UUIDType():
            return _TEXT_BYTES
        case t.BinaryType() | t.FixedType():
            return _BINARY_BYTES
        case t.VariantType() | t.GeometryType() | t.GeographyType():
            return _VARIANT_BYTES
        case _:
            return 8


_COLUMNS = ("status", "record_count", "column_sizes")


def column_bytes(plan: ScanPlan) -> Mapping[int, float]:
    """Return the approximate stored bytes per row of each column, by field id.

    Sizes are compressed. Columns whose size no file records are left out. The result is empty if
    no manifest is short enough, or if it is damaged: a query that reads it raises the error,
    others need not fail because of a size.
    """
    metadata, context = plan.metadata, plan.context
    if metadata is None or context.snapshot_id is None or plan.is_by_catalog:
        return {}
    snapshot = metadata.snapshot(context.snapshot_id)
    sample = _sample(read_manifest_list(context.io, snapshot, metadata))
    if sample is None or sample.partition_spec_id not in context.specs:
        return {}
    former = [metadata.schemas[number] for number in sorted(metadata.schemas, reverse=True)]
    spec = context.specs[sample.partition_spec_id]
    kind = partition_type(spec, context.table_schema, former)
    try:
        entries = read_manifest(context.io, sample, kind, columns=_COLUMNS)
    except (CorruptFileError, NoSuchFileError):
        return {}
    return _per_row(entries)


def _sample(manifests: Sequence[ManifestFile]) -> ManifestFile | None:
    """Return the manifest with most rows among those short enough to be decoded again."""
    short = [
        manifest
        for manifest in manifests
        if manifest.content is ManifestContent.DATA
        and manifest.may_have_live_files
        and manifest.manifest_length <= PLANNING.sampled_manifest_bytes
    ]
    return max(short, key=_rows, default=None)


def _rows(manifest: ManifestFile) -> int:
    return (manifest.added_rows_count or 0) + (manifest.existing_rows_count or 0)


def _per_row(entries: pa.Table) -> dict[int, float]:
    """Return the bytes per row, by field id, of files that record their column sizes."""
    live = pc.not_equal(entries.column("status"), ManifestEntryStatus.DELETED.value)
    entries = entries.filter(pc.and_(live, pc.is_valid(entries.column("column_sizes"))))
    sizes = entries.column("column_sizes").combine_chunks()
    pairs = pa.table(
        {
            "id": pc.struct_field(pc.list_flatten(sizes), "key"),
            "bytes": pc.struct_field(pc.list_flatten(sizes), "value"),
            "rows": entries.column("record_count").take(pc.list_parent_indices(sizes)),
        }
    )
    sums = pairs.group_by("id").aggregate([("bytes", "sum"), ("rows", "sum")])
    return {
        row["id"]: row["bytes_sum"] / row["rows_sum"] for row in sums.to_pylist() if row["rows_sum"]
    }
