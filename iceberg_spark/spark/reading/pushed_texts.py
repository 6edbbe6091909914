"""Filters of texts that the optimizer derives from LIKE, and that scan filters cannot express."""

from __future__ import annotations

from collections.abc import Iterable

from iceberg_spark.read.row_keys import TextCondition
from iceberg_spark.spark.catalyst.file_pruning import Expression
from iceberg_spark.spark.reading.column_plan import ColumnPlan, Origin
from iceberg_spark.spec import types as t

_AT_END = {"Contains": False, "EndsWith": True}


def pushed_texts(columns: ColumnPlan, filters: Iterable[Expression]) -> list[TextCondition]:
    """Return the conditions on texts among filters of the relation of a column plan."""
    fields = {
        column.requested.name: column.field
        for column in columns.read
        if column.requested is not None
        and column.origin is Origin.FILE
        and isinstance(column.requested.field_type, t.StringType)
        and isinstance(column.field.field_type, t.StringType)
    }
    conditions = []
    for filter_ in filters:
        if filter_.kind not in _AT_END:
            continue
        column, text = filter_.parts
        field = fields.get(str(column.node.get("name")))
        is_text = text.kind == "Literal" and text.node.get("type") == "string"
        if column.kind == "AttributeReference" and field is not None and is_text:
            value = text.node.get("value")
            conditions += (
                [] if value is None else [TextCondition(field, str(value), _AT_END[filter_.kind])]
            )
    return conditions
