"""The first metadata of a table (Java: TableMetadata.newTableMetadata)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.fresh_ids import assign_fresh_ids, reassign_order, reassign_spec
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import UNPARTITIONED, PartitionSpec
from iceberg_spark.spec.properties import (
    DEFAULT_FORMAT_VERSION,
    FORMAT_VERSION,
    METRICS_MODE_COLUMN_PREFIX,
    check_known_values,
    int_property,
    with_prefix,
)
from iceberg_spark.spec.reserved import check_new_names
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import UNSORTED, SortOrder
from iceberg_spark.spec.updates import (
    AddPartitionSpec,
    AddSchema,
    AddSortOrder,
    AssignUuid,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetProperties,
    TableUpdate,
    UpgradeFormatVersion,
)


def new_table_updates(
    schema: Schema,
    spec: PartitionSpec = UNPARTITIONED,
    order: SortOrder = UNSORTED,
    *,
    location: str,
    properties: Mapping[str, str] | None = None,
    format_version: int | None = None,
    table_uuid: str | None = None,
) -> tuple[TableUpdate, ...]:
    """Return the updates that create a table.

    Columns get new ids, spec and sort order follow by column name; partition field ids
    count from 1000. The format version is the argument, or the property `format-version`, or 2;
    that property is not stored. Raises InvalidSchemaError for a schema, spec or order that
    breaks a rule, InvalidOptionError for a reserved property or a bad value.
    """
    stored = dict(properties or {})
    version = _format_version(stored, format_version)
    stored.pop(FORMAT_VERSION, None)
    check_known_values(stored)
    _check_metrics_columns(stored, schema)
    check_new_names(None, schema)
    fresh = assign_fresh_ids(schema)
    return (
        AssignUuid(table_uuid or str(uuid.uuid4())),
        UpgradeFormatVersion(version),
        AddSchema(fresh),
        SetCurrentSchema(),
        AddPartitionSpec(reassign_spec(spec, schema, fresh)),
        SetDefaultSpec(),
        AddSortOrder(reassign_order(order, schema, fresh)),
        SetDefaultSortOrder(),
        SetLocation(location),
        SetProperties(stored),
    )


def _check_metrics_columns(properties: Mapping[str, str], schema: Schema) -> None:
    for column in with_prefix(properties, METRICS_MODE_COLUMN_PREFIX):
        if schema.find_id(column) is None:
            raise InvalidOptionError(
                f"Table property '{METRICS_MODE_COLUMN_PREFIX}{column}' names no column; "
                f"the table has: {', '.join(schema.column_names)}"
            )


def _format_version(properties: Mapping[str, str], format_version: int | None) -> int:
    stated = int_property(properties, FORMAT_VERSION, format_version or DEFAULT_FORMAT_VERSION)
    if format_version is not None and format_version != stated:
        raise InvalidOptionError(
            f"Property '{FORMAT_VERSION}' is {stated}, "
            f"but the requested format version is {format_version}"
        )
    return stated


def new_metadata(
    schema: Schema,
    spec: PartitionSpec = UNPARTITIONED,
    order: SortOrder = UNSORTED,
    *,
    location: str,
    now_ms: int,
    properties: Mapping[str, str] | None = None,
    format_version: int | None = None,
    table_uuid: str | None = None,
) -> TableMetadata:
    """Return the metadata of a new, empty table; arguments and errors as `new_table_updates`."""
    updates = new_table_updates(
        schema,
        spec,
        order,
        location=location,
        properties=properties,
        format_version=format_version,
        table_uuid=table_uuid,
    )
    return apply(None, updates, now_ms=now_ms)
