"""A commit's updates as requests have them: new schemas, specs and orders with the ids they get.

Java sends them so. Servers built on it give the ids themselves, others (Nessie) take those of the
request, and refuse one that is there; some insist on the highest column id, which the
specification has as optional and deprecated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from iceberg_spark.catalog.catalog import TableChange
from iceberg_spark.spec.apply_definitions import same_schema, same_spec
from iceberg_spark.spec.rest_json import update_to_json
from iceberg_spark.spec.sort import SortOrder
from iceberg_spark.spec.updates import AddPartitionSpec, AddSchema, AddSortOrder

T = TypeVar("T")


def updates_of(change: TableChange) -> Iterator[dict[str, Any]]:
    """Yield the updates; those of a creation have the ids that the server gave when it staged."""
    base = change.base.metadata if change.base else None
    highest = base.last_column_id if base else 0
    schemas = dict(base.schemas) if base else {}
    specs = dict(base.partition_specs) if base else {}
    orders = dict(base.sort_orders) if base else {}
    for update in change.updates:
        node = update_to_json(update)
        match update:
            case AddSchema(schema=schema):
                highest = max(highest, schema.highest_field_id)
                node["last-column-id"] = highest
                if base is not None:
                    node["schema"]["schema-id"] = _id(schemas, schema, same_schema, 0)
            case AddPartitionSpec(spec=spec) if base is not None:
                node["spec"]["spec-id"] = _id(specs, spec, same_spec, 0)
            case AddSortOrder(sort_order=order) if base is not None and order.fields:
                node["sort-order"]["order-id"] = _id(orders, order, _same_order, 1)
        yield node


def _same_order(order: SortOrder, other: SortOrder) -> bool:
    return order.fields == other.fields


def _id(numbered: dict[int, T], new: T, is_same: Callable[[T, T], bool], first: int) -> int:
    """Return the id of what is there already, or the next one, under which it is from now on."""
    for number, existing in numbered.items():
        if is_same(existing, new):
            return number
    number = max((*numbered, first - 1)) + 1
    numbered[number] = new
    return number
