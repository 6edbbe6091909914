"""Show what Java's table for Spark shows apart from its columns (BaseSparkTable), and names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.sql import SparkSession

from iceberg_spark.api.table import Table
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.session.redaction import without_secrets
from iceberg_spark.spec.partition_type import union_partition_type
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.reserved import DELETED, FILE, LINEAGE, POS, SPEC_ID, partition_field
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import SortField
from iceberg_spark.spec.transforms import (
    BucketTransform,
    IdentityTransform,
    TruncateTransform,
)

COMMENT = "comment"
DISPLAY_PROPERTIES = ("format", "current-snapshot-id", "sort-order", "identifier-fields")
"""Properties for display only, which a new table cannot have."""
_FORMAT = "write.format.default"
_OWNER = "owner"
EXTERNAL = "external"
"""The property that CREATE EXTERNAL TABLE gives a table."""
_JAVAS = ("provider", "location", "format-version", *DISPLAY_PROPERTIES)
_SPARKS = (COMMENT, _OWNER, EXTERNAL, "is_managed_location", "table_type", "collation")
_PLAIN = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
_Row = tuple[str, str, str]


def display_name(parts: Iterable[str]) -> str:
    """Return a name as Spark shows it, odd parts in backticks (Spark: QuotingUtils.quoted)."""
    return ".".join(part if _PLAIN.fullmatch(part) else quote(part) for part in parts)


def display_properties(spark: SparkSession, table: Table) -> dict[str, str]:
    """Return a table's properties as SHOW TBLPROPERTIES has them, sorted by name.

    Some are none of its own: its format, newest snapshot, order and identifier fields. What may be
    a secret is hidden.
    """
    head, schema, order = table.current_snapshot(), table.schema(), table.metadata.sort_order
    hidden = (*_JAVAS, *_SPARKS)
    shown = {key: value for key, value in table.properties.items() if key not in hidden}
    shown["format"] = f"iceberg/{table.properties.get(_FORMAT, 'parquet')}"
    shown["format-version"] = str(table.metadata.format_version)
    shown["current-snapshot-id"] = "none" if head is None else str(head.snapshot_id)
    if schema.identifier_field_ids:
        names = [str(schema.find_column_name(field_id)) for field_id in schema.identifier_field_ids]
        shown["identifier-fields"] = f"[{','.join(names)}]"
    if not order.is_unsorted:
        shown["sort-order"] = ", ".join(_sorted_by(schema, key) for key in order.fields)
    return without_secrets(spark, dict(sorted(shown.items())))


def detail_rows(spark: SparkSession, table: Table, name: str) -> list[_Row]:
    """Return the rows of DESCRIBE EXTENDED behind columns and partitioning."""
    rows = {"Name": name, **table_information(spark, table)}
    return [
        ("", "", ""),
        ("# Metadata Columns", "", ""),
        *_metadata_columns(table),
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        *((label, text, "") for label, text in rows.items()),
    ]


def table_information(spark: SparkSession, table: Table) -> dict[str, str]:
    """Return Spark's description of a table without its columns, by label, in Spark's order."""
    optional_values = {
        "Comment": table.properties.get(COMMENT),
        "Location": table.location(),
        "Provider": "iceberg",
        "Owner": table.properties.get(_OWNER),
    }
    properties = ",".join(
        f"{key}={value}" for key, value in display_properties(spark, table).items()
    )
    return {
        "Type": table_type(table),
        **{label: text for label, text in optional_values.items() if text is not None},
        "Table Properties": f"[{properties}]",
    }


def table_type(table: Table) -> str:
    """Return what Spark calls the type of a table."""
    return "EXTERNAL" if table.properties.get(EXTERNAL) == "true" else "MANAGED"


def _metadata_columns(table: Table) -> list[_Row]:
    metadata = table.metadata
    partition = union_partition_type(
        metadata.partition_specs.values(), metadata.schema, metadata.schemas.values()
    )
    lineage = LINEAGE if metadata.rules.has_row_lineage else ()
    columns = (SPEC_ID, partition_field(partition), FILE, POS, DELETED, *lineage)
    kinds = to_spark(Schema(*columns)).fields
    return [(field.name, field.dataType.simpleString(), "") for field in kinds]


def _sorted_by(schema: Schema, key: SortField) -> str:
    column = str(schema.find_column_name(key.source_id))
    match key.transform:
        case IdentityTransform():
            term = column
        case BucketTransform(num_buckets=buckets):
            term = f"bucket({buckets}, {column})"
        case TruncateTransform(width=width):
            term = f"truncate({column}, {width})"
        case transform:
            term = f"{transform}s({column})"
    return f"{term} {key.direction.upper()} {key.null_order.replace('-', ' ').upper()}"
