"""Load and create tables by what users call them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iceberg_spark.api.new_table import create
from iceberg_spark.api.schema_input import SchemaInput
from iceberg_spark.api.table import Table
from iceberg_spark.catalog.registry import resolve


def load_table(table: str, **properties: str) -> Table:
    """Load a table by location, metadata.json (read-only) or identifier "cat.db.tbl".

    `properties` are storage or catalog properties, as PyIceberg's. Raises NoSuchTableError.
    """
    catalog, identifier = resolve(table, properties)
    return Table(catalog, catalog.load(identifier))


def create_table(
    table: str,
    schema: SchemaInput,
    *,
    partition_by: Sequence[str] | str = (),
    sort_order: Sequence[str] | str = (),
    properties: Mapping[str, str] | None = None,
    **storage: str,
) -> Table:
    """Create an empty table: format v2 (or property `format-version`), Parquet, zstd.

    `partition_by` holds texts like "days(ts)", "bucket(16, id)", "truncate(4, s)", "region";
    `sort_order` like "id desc nulls last". Raises TableAlreadyExistsError.
    """
    catalog, identifier = resolve(table, storage)
    return create(catalog, identifier, schema, partition_by, sort_order, properties or {})
