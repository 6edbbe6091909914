"""A staged table: the server chooses its location, its properties and its ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iceberg_spark.catalog.rest.paths import split
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition_json import spec_to_dict
from iceberg_spark.spec.properties import FORMAT_VERSION
from iceberg_spark.spec.schema_json import schema_to_dict
from iceberg_spark.spec.sort_json import order_to_dict


def stage_request(identifier: str, creation: Sequence[u.TableUpdate]) -> dict[str, Any]:
    """Return the CreateTableRequest of a table that these updates create."""
    node: dict[str, Any] = {"name": split(identifier)[1], "stage-create": True, "properties": {}}
    for update in creation:
        match update:
            case u.AddSchema(schema=schema):
                node["schema"] = schema_to_dict(schema)
            case u.AddPartitionSpec(spec=spec):
                node["partition-spec"] = spec_to_dict(spec)
            case u.AddSortOrder(sort_order=order):
                node["write-order"] = order_to_dict(order)
            case u.UpgradeFormatVersion(format_version=version):
                node["properties"][FORMAT_VERSION] = str(version)
            case u.SetProperties(updates=properties):
                node["properties"].update(properties)
            case u.SetLocation(location=location) if location:  # the caller chose the location
                node["location"] = location
            case _:
                continue
    return node


def creation_of(staged: TableMetadata) -> tuple[u.TableUpdate, ...]:
    """Return the updates that create a table as the server staged it (Java: createChanges)."""
    return (
        u.AssignUuid(staged.table_uuid),
        u.UpgradeFormatVersion(staged.format_version),
        u.AddSchema(staged.schema),
        u.SetCurrentSchema(),
        u.AddPartitionSpec(staged.spec),
        u.SetDefaultSpec(),
        u.AddSortOrder(staged.sort_order),
        u.SetDefaultSortOrder(),
        u.SetLocation(staged.location),
        *((u.SetProperties(dict(staged.properties)),) if staged.properties else ()),
    )
