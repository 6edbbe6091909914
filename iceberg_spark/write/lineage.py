"""Preserve the lineage of rewritten rows (specification: "Row Lineage Assignment").

The context of such a write has two additional columns. Rows have the scan's values in them: the
unchanged row id, and the number of the last update, which is null in rows that the write changes.
"""

from __future__ import annotations

from dataclasses import replace

from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.spec.reserved import LINEAGE, LINEAGE_IDS, LINEAGE_NAMES
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.context import WriteContext


def lineage_names(context: WriteContext) -> tuple[str, ...]:
    """Return the metadata columns to preserve when rewriting rows, none before version 3.

    None if the table has columns of such names itself: its rewritten rows get new ids.
    """
    own_names = {field.name.lower() for field in context.schema.fields}
    lacks = rules_of(context.format_version).has_row_lineage and own_names.isdisjoint(LINEAGE_NAMES)
    return LINEAGE_NAMES if lacks else ()


def keeping_lineage(context: WriteContext) -> WriteContext:
    """Return the context of a write whose rows have the columns `lineage_names` besides."""
    if not lineage_names(context):
        return context
    return replace(context, schema=with_lineage(context.schema))


def keeps_lineage(context: WriteContext) -> bool:
    """Return whether rows of a write have lineage columns besides those of the table."""
    return any(field.field_id in LINEAGE_IDS for field in context.schema.fields)


def with_lineage(schema: Schema) -> Schema:
    """Return a schema with both columns at the end."""
    return Schema(
        *schema.fields,
        *LINEAGE,
        schema_id=schema.schema_id,
        identifier_field_ids=schema.identifier_field_ids,
    )
