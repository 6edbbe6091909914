"""Create a table from what users say: schema, partitioning and order as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iceberg_spark.api.schema_input import SchemaInput, as_schema
from iceberg_spark.api.table import Table
from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.spec.transform_text import parse_partition_spec, parse_sort_order
from iceberg_spark.transaction.create_table import create_table


def create(
    catalog: Catalog,
    identifier: str,
    schema: SchemaInput,
    partition_by: Sequence[str] | str,
    sort_order: Sequence[str] | str,
    properties: Mapping[str, str],
) -> Table:
    """Create an empty table. Raises TableAlreadyExistsError, InvalidSchemaError."""
    given = as_schema(schema)
    loaded = create_table(
        catalog,
        identifier,
        given,
        parse_partition_spec(_texts(partition_by), given),
        parse_sort_order(_texts(sort_order), given),
        location=catalog.location_of(identifier),
        properties={key: str(value) for key, value in properties.items()},
    )
    return Table(catalog, loaded)


def _texts(given: Sequence[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
