"""Sort orders to and from JSON (specification, Appendix C, "Sort Orders")."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, TypeVar

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.json_node import (
    as_int,
    as_object,
    as_text,
    parse_array,
    required,
    unknown_members,
)
from iceberg_spark.spec.partition_json import sources_from_json, sources_to_json
from iceberg_spark.spec.sort import (
    UNSORTED_ORDER_ID,
    NullOrder,
    SortDirection,
    SortField,
    SortOrder,
)
from iceberg_spark.spec.transform_text import parse_transform

_FIELD_MEMBERS = frozenset(("transform", "source-id", "source-ids", "direction", "null-order"))
Choice = TypeVar("Choice", bound=StrEnum)


def order_to_dict(order: SortOrder) -> dict[str, Any]:
    """Return the JSON object of a sort order, members in Java's order."""
    node: dict[str, Any] = {
        "order-id": order.order_id,
        "fields": [_field_to_dict(key) for key in order.fields],
    }
    return node | dict(order.extra or {})


def _field_to_dict(key: SortField) -> dict[str, Any]:
    return {
        "transform": str(key.transform),
        **sources_to_json(key.source_ids),
        "direction": str(key.direction),
        "null-order": str(key.null_order),
    } | dict(key.extra or {})


def order_from_dict(node: Any) -> SortOrder:
    """Return the sort order of a JSON object.

    Raises CorruptFileError, also for an order with fields and the id 0, which means unsorted.
    """
    members = as_object(node, "A sort order")
    order_id = required(members, "order-id", as_int)
    fields = required(members, "fields", lambda value, _: parse_array(value, "'fields'", _field))
    if order_id == UNSORTED_ORDER_ID and fields:
        raise CorruptFileError("Sort order 0 is reserved for unsorted, but it has fields")
    return SortOrder(order_id, fields, unknown_members(members, ("order-id", "fields")))


def _field(node: Any) -> SortField:
    members = as_object(node, "A sort field")
    return SortField(
        sources_from_json(members),
        parse_transform(required(members, "transform", as_text)),
        _choice(SortDirection, required(members, "direction", as_text)),
        _choice(NullOrder, required(members, "null-order", as_text)),
        unknown_members(members, _FIELD_MEMBERS),
    )


def _choice(kind: type[Choice], text: str) -> Choice:
    try:
        return kind(text.lower())
    except ValueError as cause:
        choices = " or ".join(f"'{part}'" for part in kind)
        raise CorruptFileError(f"'{text}' must be {choices}") from cause
