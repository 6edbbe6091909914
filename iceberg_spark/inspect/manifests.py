"""`manifests` and `all_manifests`: the manifests of one snapshot, or of each snapshot.

Source: Java's ManifestsTable and AllManifestsTable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, struct_of, validity
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.inspect.schemas import ALL_MANIFESTS, MANIFESTS
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list_columns
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.partition_path import human_text
from iceberg_spark.spec.partition_type import partition_type
from iceberg_spark.spec.snapshot import Snapshot
from iceberg_spark.spec.types import NestedField, UnknownType
from iceberg_spark.spec.values import from_bytes

Array: TypeAlias = Any  # pyarrow ships no types

_COUNTS = {
    f"{status}_{kind}_files_count": (content, f"{status}_files_count")
    for kind, content in (("data", ManifestContent.DATA), ("delete", ManifestContent.DELETES))
    for status in ("added", "existing", "deleted")
}
_PLAIN = {
    "content": "content",
    "path": "manifest_path",
    "length": "manifest_length",
    "partition_spec_id": "partition_spec_id",
    "added_snapshot_id": "added_snapshot_id",
    "key_metadata": "key_metadata",
}


def manifests(metadata: TableMetadata, io: FileIO, snapshot: Snapshot | None) -> pa.Table:
    """Return a snapshot's manifests with partition bounds as text; no rows without a snapshot."""
    schema = to_arrow(MANIFESTS)
    if snapshot is None:
        return schema.empty_table()
    return _rows(metadata, read_manifest_list_columns(io, snapshot, metadata), schema)


def all_manifests(metadata: TableMetadata, io: FileIO, snapshots: Sequence[Snapshot]) -> pa.Table:
    """Return the manifests of each snapshot; one that several snapshots list has a row for each."""
    schema = to_arrow(ALL_MANIFESTS)
    lists = [read_manifest_list_columns(io, snapshot, metadata) for snapshot in snapshots]
    if not lists:
        return schema.empty_table()
    ids = np.repeat(
        np.array([snapshot.snapshot_id for snapshot in snapshots], np.int64),
        [rows.num_rows for rows in lists],
    )
    table = pa.concat_tables(lists).append_column("reference_snapshot_id", pa.array(ids))
    return _rows(metadata, table, schema)


def _rows(metadata: TableMetadata, listed: pa.Table, schema: pa.Schema) -> pa.Table:
    content = listed.column("content")
    columns: dict[str, Any] = {name: listed.column(source) for name, source in _PLAIN.items()}
    for name, (kind, source) in _COUNTS.items():
        columns[name] = pc.if_else(
            pc.equal(content, kind.value), listed.column(source), pa.scalar(0, pa.int32())
        )
    if "reference_snapshot_id" in schema.names:
        columns["reference_snapshot_id"] = listed.column("reference_snapshot_id")
    summaries = schema.field("partition_summaries").type
    columns["partition_summaries"] = _summaries(metadata, listed, summaries)
    arrays = [columns[field.name] for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _summaries(metadata: TableMetadata, listed: pa.Table, kind: pa.DataType) -> Array:
    """Return the partition summaries with bounds as text; each distinct bound is formatted once."""
    lists = concat(listed.column("partitions"))
    if not len(lists):
        return pa.array([], kind)
    flat = lists.flatten()
    if not len(flat):
        return pa.array(lists.to_pylist(), kind)  # a row per manifest, no summaries
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    field_positions = np.arange(len(flat)) - np.repeat(offsets[:-1], lengths)
    specs = np.repeat(listed.column("partition_spec_id").to_numpy(), lengths)
    _check_lengths(metadata, listed, lengths)
    texts = {
        name: _texts(metadata, flat.field(name), specs, field_positions)
        for name in ("lower_bound", "upper_bound")
    }
    element = kind.value_type
    children = [
        texts[field.name] if field.name in texts else flat.field(field.name) for field in element
    ]
    values = struct_of(len(flat), children, element)
    buffers = [validity(lists), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(kind, len(lists), buffers, children=[values])


def _check_lengths(metadata: TableMetadata, listed: pa.Table, lengths: Any) -> None:
    """Raise CorruptFileError if a manifest has more summaries than its spec has fields."""
    sizes = {number: len(spec.fields) for number, spec in metadata.partition_specs.items()}
    specs = listed.column("partition_spec_id").to_pylist()
    for row, (spec_id, length) in enumerate(zip(specs, lengths.tolist(), strict=True)):
        if length > sizes[spec_id]:
            path = listed.column("manifest_path")[row].as_py()
            raise CorruptFileError(
                f"Manifest {path} is listed with {length} partition summaries; its spec {spec_id} "
                f"has {sizes[spec_id]} fields"
            )


def _texts(metadata: TableMetadata, bounds: Array, specs: Any, field_positions: Any) -> Array:
    """Return bounds as text, "null" for a null bound.

    `field_positions` are the positions of the bounds' fields in the spec. Bytes that do not decode
    as a value of the field's type are shown as bytes.
    """
    encoded = bounds.dictionary_encode(null_encoding="encode")
    fields, distinct = _typed_fields(metadata), encoded.dictionary.to_pylist()
    sizes = (max(fields) + 1, max(map(len, fields.values())), len(distinct))
    keys = np.ravel_multi_index((specs, field_positions, encoded.indices.to_numpy()), sizes)
    unique, which = np.unique(keys, return_inverse=True)
    triples = np.stack(np.unravel_index(unique, sizes), axis=1).tolist()
    texts = [
        _text(fields[spec_id][position], distinct[code]) for spec_id, position, code in triples
    ]
    return pa.array(texts, pa.string()).take(pa.array(which))


def _typed_fields(metadata: TableMetadata) -> Mapping[int, Sequence[tuple[Any, NestedField]]]:
    former = metadata.schemas.values()

    def typed(spec: PartitionSpec) -> Sequence[tuple[Any, NestedField]]:
        kinds = partition_type(spec, metadata.schema, former).fields
        return [(part.transform, kind) for part, kind in zip(spec.fields, kinds, strict=True)]

    return {spec_id: typed(spec) for spec_id, spec in metadata.partition_specs.items()}


def _text(field: tuple[Any, NestedField], bound: bytes | None) -> str:
    transform, typed = field
    if bound is None or isinstance(typed.field_type, UnknownType):
        return "null"
    try:
        return human_text(transform, typed.field_type, from_bytes(typed.field_type, bound))
    except CorruptFileError:
        return f"0x{bound.hex()}"
