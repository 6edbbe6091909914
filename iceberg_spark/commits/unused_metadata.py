"""Partition specs and schemas that no snapshot needs (Java: cleanExpiredMetadata).

Java removes every schema that is not the schema of a remaining snapshot. Here a schema stays if it
has dropped fields that equality deletes or partition specs may refer to.
"""

from __future__ import annotations

from collections.abc import Collection

import pyarrow as pa

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list_columns
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.updates import RemovePartitionSpecs, RemoveSchemas, TableUpdate

_COLUMNS = ("partition_spec_id", "content", "added_files_count", "existing_files_count")


def unused_metadata(
    base: TableMetadata, snapshot_ids: Collection[int], io: FileIO
) -> tuple[TableUpdate, ...]:
    """Return the updates that remove what the snapshots `snapshot_ids` do not need."""
    if len(base.partition_specs) == len(base.schemas) == 1:
        return ()
    specs, has_deletes = {base.default_spec_id}, False
    schemas = {base.current_schema_id}
    for number in snapshot_ids:
        snapshot = base.snapshots[number]
        listed = read_manifest_list_columns(io, snapshot, base, _COLUMNS)
        specs.update(listed.column("partition_spec_id").to_pylist())
        has_deletes |= _has_live_deletes(listed)
        if snapshot.schema_id is not None:
            schemas.add(snapshot.schema_id)
    gone = tuple(number for number in base.partition_specs if number not in specs)
    old = [] if has_deletes else _unneeded(base, schemas, specs)
    updates: list[TableUpdate] = []
    if gone:
        updates.append(RemovePartitionSpecs(gone))
    if old:
        updates.append(RemoveSchemas(tuple(old)))
    return tuple(updates)


def _has_live_deletes(listed: pa.Table) -> bool:
    """Return whether a manifest may have a delete file; unknown counts are null."""
    columns = (listed.column(name).to_pylist() for name in _COLUMNS[1:])
    return any(
        content == ManifestContent.DELETES and (added != 0 or existing != 0)
        for content, added, existing in zip(*columns, strict=True)
    )


def _unneeded(base: TableMetadata, used: Collection[int], specs: Collection[int]) -> list[int]:
    """Return the other schemas, except those that alone have the source of a partition field."""
    used_schemas = [base.schemas[number] for number in used if number in base.schemas]
    field_ids = {field_id for schema in used_schemas for field_id in schema.field_ids}
    sources = {
        source
        for number in specs
        for field in base.partition_specs[number].fields
        for source in field.source_ids
    }
    return [
        number
        for number, schema in base.schemas.items()
        if number not in used and not (sources - field_ids) & set(schema.field_ids)
    ]
