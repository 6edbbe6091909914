"""Files and entries of one manifest as rows: `files`, `entries` and their variants.

Source: Java's BaseFilesTable and BaseEntriesTable.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, map_list, struct_of
from iceberg_spark.arrow.schema import to_arrow, to_arrow_type
from iceberg_spark.arrow.values import Side, bounds_array
from iceberg_spark.inspect.schemas import (
    DATA_FILE,
    PARTITION,
    READABLE_METRICS,
    SPEC_ID,
    align_partitions,
)
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.map_values import map_values
from iceberg_spark.manifest.reader import read_manifest
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    UnknownType,
)

_NAME_IN_MANIFESTS = {"sequence_number": "data_sequence_number"}
_STATUS = "status"


@dataclass(frozen=True, slots=True)
class FilesRequest:
    """What all manifests of one read have in common.

    `read_schema` is the schema of a files or an entries table, reduced to the selected columns. Its
    partition fields and those of `partition_types` (by spec id) have partition field ids.
    `metric_ids` maps the full name of each column with readable metrics to its field id.
    """

    read_schema: Schema
    partition_types: Mapping[int, StructType]
    metric_ids: Mapping[str, int]
    deleted_too: bool = False

    @property
    def columns(self) -> frozenset[str]:
        """The columns of a manifest to decode."""
        return frozenset({_STATUS, *_needed(self.read_schema.fields)})


def file_rows(io: FileIO, manifest: ManifestFile, request: FilesRequest) -> pa.Table:
    """Return the entries of a manifest as a table of exactly `request.read_schema`.

    Leaves out deleted entries unless `request.deleted_too` is set.

    Raises:
        NoSuchFileError: the manifest does not exist.
        CorruptFileError: the manifest cannot be decoded; the message names it.
    """
    kind = request.partition_types[manifest.partition_spec_id]
    entries = read_manifest(io, manifest, kind, columns=request.columns)
    if not request.deleted_too:
        live = pc.not_equal(entries.column(_STATUS), ManifestEntryStatus.DELETED.value)
        if not pc.all(live, min_count=0).as_py():
            entries = entries.filter(live)
    rows = _Rows(entries, manifest.partition_spec_id, request.metric_ids)
    arrays = [rows.column(field) for field in request.read_schema.fields]
    schema = to_arrow(request.read_schema)
    if arrays:
        return pa.Table.from_arrays(arrays, schema=schema)
    return pa.Table.from_struct_array(struct_of(entries.num_rows, (), pa.struct([])))


def _needed(fields: Iterable[NestedField]) -> Iterable[str]:
    for field in fields:
        kind = field.field_type
        if field.name == READABLE_METRICS and isinstance(kind, StructType):
            yield from maps_of(kind)
        elif field.name == DATA_FILE and isinstance(kind, StructType):
            yield from _needed(kind.fields)
        elif field.name != SPEC_ID:
            yield _NAME_IN_MANIFESTS.get(field.name, field.name)


@dataclass(frozen=True, slots=True)
class _Rows:
    entries: pa.Table
    spec_id: int
    metric_ids: Mapping[str, int]

    def column(self, field: NestedField) -> Any:
        kind, rows = field.field_type, self.entries.num_rows
        match field.name, kind:
            case "spec_id", _:
                return pa.repeat(pa.scalar(self.spec_id, pa.int32()), rows)
            case "data_file", StructType(fields=fields):
                return struct_of(
                    rows, [self.column(child) for child in fields], to_arrow_type(kind)
                )
            case "readable_metrics", StructType():
                return readable_metrics(self.entries, kind, self.metric_ids)
            case "partition", StructType():
                return align_partitions(concat(self.entries.column(PARTITION)), kind)
            case _:
                name = _NAME_IN_MANIFESTS.get(field.name, field.name)
                return _relabelled(concat(self.entries.column(name)), field)


def _relabelled(array: Any, field: NestedField) -> Any:
    """Return the array with the Arrow type of `field`: pairs become maps; no copy."""
    kind = to_arrow_type(field.field_type)
    if not len(array):
        return pa.array([], kind)
    match field.field_type:
        case MapType():
            pair = pa.struct([kind.key_field, kind.item_field])
            return map_list(
                array, lambda p: struct_of(len(p), [p.field(0), p.field(1)], pair), kind
            )
        case ListType():
            return map_list(array, lambda values: values, kind)
        case _:
            return array


# `readable_metrics`: counts and typed bounds of each column, from the maps of a manifest.
#
# Each map is read once for all columns; there is no loop over files. Source: Java's MetricsUtil.

MAP_OF: Mapping[str, str] = {
    "column_size": "column_sizes",
    "value_count": "value_counts",
    "null_value_count": "null_value_counts",
    "nan_value_count": "nan_value_counts",
    "lower_bound": "lower_bounds",
    "upper_bound": "upper_bounds",
}
"""The column of a manifest that each readable metric comes from."""

_BOUNDS = ("lower_bound", "upper_bound")


def maps_of(metrics_struct: StructType) -> frozenset[str]:
    """Return the columns of a manifest that the readable metrics come from."""
    return frozenset(
        MAP_OF[metric.name]
        for column in metrics_struct.fields
        for metric in _metrics(column.field_type)
    )


def readable_metrics(
    entries: pa.Table, metrics_struct: StructType, ids: Mapping[str, int]
) -> pa.StructArray:
    """Return a struct with a struct of metrics for each column; `ids` maps full names to field ids.

    A metric that a file lacks is null.
    """
    values = {
        name: _values_of_map(entries, name, metrics_struct, ids) for name in maps_of(metrics_struct)
    }
    rows = entries.num_rows
    columns = []
    for column in metrics_struct.fields:
        field_id, kind = ids[column.name], to_arrow_type(column.field_type)
        metrics = [
            _metric(values[MAP_OF[metric.name]][field_id], metric.name, metric.field_type)
            for metric in _metrics(column.field_type)
        ]
        columns.append(struct_of(rows, metrics, kind))
    return struct_of(rows, columns, to_arrow_type(metrics_struct))


def _values_of_map(
    entries: pa.Table, name: str, metrics_struct: StructType, ids: Mapping[str, int]
) -> dict[int, Any]:
    field_ids: Collection[int] = [
        ids[column.name]
        for column in metrics_struct.fields
        if any(MAP_OF[metric.name] == name for metric in _metrics(column.field_type))
    ]
    return map_values(entries.column(name), field_ids)


def _metric(values: Any, name: str, kind: IcebergType) -> Any:
    if name not in _BOUNDS:
        return values
    if isinstance(kind, UnknownType):
        return pa.nulls(len(values))
    return bounds_array(kind, values, Side.SHOWN)


def _metrics(kind: IcebergType) -> tuple[Any, ...]:
    return kind.fields if isinstance(kind, StructType) else ()
