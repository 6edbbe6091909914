"""Hive's table for an Iceberg table (Java: HMSTablePropertyHelper)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.hive.metastore import hive
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_json import spec_to_dict
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_json import schema_to_dict
from iceberg_spark.spec.sort_json import order_to_dict
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
    VariantType,
)

METADATA_LOCATION = "metadata_location"
CURRENT_SCHEMA = "current-schema"
PREVIOUS_LOCATION = "previous_metadata_location"
TABLE_TYPE, _ICEBERG = "table_type", "ICEBERG"
VIRTUAL, ICEBERG_VIEW = "VIRTUAL_VIEW", "ICEBERG-VIEW"
OWNER = "hive.metastore.table.owner"
_FOR_HIVE = "engine.hive.enabled"
_LARGEST = "iceberg.hive.table-property-max-size"
_DEFAULT_LARGEST = 32672  # characters (Java: HiveOperationsBase)
_HIVES_NAMES = {"gc.enabled": "external.table.purge"}
_STATISTICS = {
    "total-data-files": "numFiles",
    "total-records": "numRows",
    "total-files-size": "totalSize",
}
_NEVER = 2**31 - 1


def is_iceberg(table: Any) -> bool:
    """Return whether Hive's table is marked as an Iceberg table (a view is not)."""
    table_type: str = (table.parameters or {}).get(TABLE_TYPE, "")
    return table_type.upper() == _ICEBERG


def is_view(table: Any) -> bool:
    """Return whether Hive's table is marked as an Iceberg view."""
    iceberg_type: str = (table.parameters or {}).get(TABLE_TYPE, "")
    return (table.tableType or "").upper() == VIRTUAL and iceberg_type.upper() == ICEBERG_VIEW


def pointer_of(table: Any) -> str | None:
    """Return the newest metadata file of Hive's table, None if it is not an Iceberg table."""
    if not is_iceberg(table):
        return None
    pointer: str | None = table.parameters.get(METADATA_LOCATION)
    return pointer


def place_of(table: Any) -> str | None:
    """Return the metadata file in Hive's table, of a table or a view."""
    pointer: str | None = (table.parameters or {}).get(METADATA_LOCATION)
    return pointer


def new_table(
    database: str, name: str, user: str, created: LoadedTable, catalog: Mapping[str, str]
) -> Any:
    """Return Hive's table for an Iceberg table, as Java creates it: external, unpartitioned."""
    owner = created.metadata.properties.get(OWNER, user)
    table = empty_table(database, name, owner, "EXTERNAL_TABLE")
    table.parameters = {"EXTERNAL": "TRUE"}
    describe(table, None, created, catalog)
    return table


def empty_table(database: str, name: str, owner: str, kind: str) -> Any:
    """Return a Hive table without a description."""
    now = int(time.time())
    return hive.Table(
        tableName=name,
        dbName=database,
        owner=owner,
        createTime=now,
        lastAccessTime=now,
        retention=_NEVER,
        partitionKeys=[],
        tableType=kind,
    )


def describe(
    table: Any, base: LoadedTable | None, committed: LoadedTable, catalog: Mapping[str, str]
) -> None:
    """Describe a committed Iceberg table in Hive's table; entries of other writers stay."""
    metadata = committed.metadata
    for_hive = metadata.properties.get(_FOR_HIVE, "false").lower() == "true"
    table.sd = storage(metadata.schema, metadata.location, for_hive, catalog)
    parameters = dict(table.parameters or {})
    if base is not None:
        gone = base.metadata.properties.keys() - metadata.properties.keys()
        for key in gone:
            parameters.pop(_HIVES_NAMES.get(key, key), None)
        parameters[PREVIOUS_LOCATION] = base.metadata_location
    for key, value in metadata.properties.items():
        if key.lower() != OWNER:
            parameters[_HIVES_NAMES.get(key, key)] = value
    parameters |= {
        "uuid": metadata.table_uuid,
        TABLE_TYPE: _ICEBERG,
        METADATA_LOCATION: committed.metadata_location,
        "DO_NOT_UPDATE_STATS": "true",
    }
    parameters.pop("COLUMN_STATS_ACCURATE", None)
    parameters.pop("storage_handler", None)
    if for_hive:
        parameters["storage_handler"] = "org.apache.iceberg.mr.hive.HiveIcebergStorageHandler"
    _show(parameters, metadata, largest(catalog))
    table.parameters = parameters


def largest(catalog: Mapping[str, str]) -> int:
    """Return the maximum length of a parameter of Hive's tables."""
    return int(catalog.get(_LARGEST, _DEFAULT_LARGEST))


def _show(parameters: dict[str, str], metadata: TableMetadata, most: int) -> None:
    """Describe schema, spec, order and snapshot, each unless it is too long for Hive's database."""
    snapshot = metadata.current_snapshot
    shown: dict[str, str | None] = {
        CURRENT_SCHEMA: java_json(schema_to_dict(metadata.schema)),
        "default-partition-spec": java_json(spec_to_dict(metadata.spec), metadata.spec.fields),
        "default-sort-order": java_json(
            order_to_dict(metadata.sort_order), metadata.sort_order.fields
        ),
        "current-snapshot-id": None,
        "current-snapshot-timestamp-ms": None,
        "current-snapshot-summary": None,
    }
    if snapshot is not None:
        summary = {key: value for key, value in snapshot.summary.items() if key != "operation"}
        shown["current-snapshot-id"] = str(snapshot.snapshot_id)
        shown["current-snapshot-timestamp-ms"] = str(snapshot.timestamp_ms)
        shown["current-snapshot-summary"] = java_json(summary)
        for key, hives in _STATISTICS.items():
            if key in summary:
                parameters[hives] = summary[key]
    for key, text in shown.items():
        parameters.pop(key, None)
        if text is not None and 0 < len(text) <= most:
            parameters[key] = text
    parameters["snapshot-count"] = str(len(metadata.snapshots))


def java_json(node: Mapping[str, Any], parts: Iterable[object] = (True,)) -> str | None:
    """Return JSON as Java writes it; None if there are no parts to show."""
    return json.dumps(node, separators=(",", ":"), ensure_ascii=False) if any(parts) else None


def storage(schema: Schema, folder: str, for_hive: bool, catalog: Mapping[str, str]) -> Any:
    """Return Hive's description of the columns, and of files at a location."""
    hive3 = catalog.get("hive.hive2-compatible", "true").lower() == "false"
    zoned = "timestamp with local time zone" if hive3 else "timestamp"
    columns = [
        hive.FieldSchema(
            name=field.name, type=hive_type(field.field_type, zoned), comment=field.doc
        )
        for field in schema.fields
    ]
    readers = (
        "org.apache.hadoop.mapred.FileInputFormat",
        "org.apache.hadoop.mapred.FileOutputFormat",
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
    )
    if for_hive:
        handler = "org.apache.iceberg.mr.hive.HiveIceberg"
        readers = (f"{handler}InputFormat", f"{handler}OutputFormat", f"{handler}SerDe")
    return hive.StorageDescriptor(
        cols=columns,
        location=folder,
        inputFormat=readers[0],
        outputFormat=readers[1],
        compressed=False,
        numBuckets=0,
        serdeInfo=hive.SerDeInfo(serializationLib=readers[2], parameters={}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )


def hive_type(kind: IcebergType, zoned: str = "timestamp") -> str:
    """Return Hive's name of a type; `zoned` is the type of timestamps with zone, new in Hive 3."""
    match kind:
        case BooleanType() | FloatType() | DoubleType() | DateType() | DecimalType():
            return str(kind).replace(" ", "")
        case IntegerType():
            return "int"
        case LongType():
            return "bigint"
        case StringType() | TimeType() | UUIDType():
            return "string"
        case TimestamptzType() | TimestamptzNanoType():
            return zoned
        case TimestampType() | TimestampNanoType():
            return "timestamp"
        case BinaryType() | FixedType() | GeometryType() | GeographyType():
            return "binary"
        case UnknownType() | VariantType():
            return "unknown"
        case StructType() | ListType() | MapType():
            return _nested(kind, zoned)


def _nested(kind: StructType | ListType | MapType, zoned: str) -> str:
    match kind:
        case StructType(fields):
            return f"struct<{','.join(_member(field, zoned) for field in fields)}>"
        case ListType():
            return f"array<{hive_type(kind.element_type, zoned)}>"
        case MapType():
            key, value = hive_type(kind.key_type, zoned), hive_type(kind.value_type, zoned)
            return f"map<{key},{value}>"


def _member(field: NestedField, zoned: str) -> str:
    return f"{field.name}:{hive_type(field.field_type, zoned)}"
