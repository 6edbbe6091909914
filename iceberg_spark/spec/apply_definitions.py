"""Updates of schemas, partition specs and sort orders (Java: TableMetadata.Builder)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, assert_never

from iceberg_spark.errors import InvalidSchemaError, ValidationException
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.compatibility import (
    check_added_spec,
    check_order,
    check_schema,
    has_sequential_ids,
)
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import UNSORTED, UNSORTED_ORDER_ID, SortOrder
from iceberg_spark.spec.transforms import UnknownTransform


def apply_definition(state: ApplyState, update: u.DefinitionUpdate) -> ApplyState:
    """Apply an update of schemas, specs or sort orders; raises as the functions below."""
    match update:
        case u.AddSchema(schema=schema):
            return add_schema(state, schema)
        case u.SetCurrentSchema(schema_id=number):
            return set_current_schema(state, number)
        case u.RemoveSchemas(schema_ids=numbers):
            return remove_schemas(state, numbers)
        case u.AddPartitionSpec(spec=spec):
            return add_spec(state, spec)
        case u.SetDefaultSpec(spec_id=number):
            return set_default_spec(state, number)
        case u.RemovePartitionSpecs(spec_ids=numbers):
            return remove_specs(state, numbers)
        case u.AddSortOrder(sort_order=order):
            return add_sort_order(state, order)
        case u.SetDefaultSortOrder(sort_order_id=number):
            return set_default_sort_order(state, number)
        case _:
            assert_never(update)


def add_schema(state: ApplyState, schema: Schema) -> ApplyState:
    """Add a schema under the next id, or reuse the id of an equal one.

    Raises InvalidSchemaError for what the table's format version does not allow.
    """
    metadata = state.metadata
    check_schema(schema, metadata.format_version)
    equal = next(
        (candidate for candidate in metadata.schemas.values() if same_schema(candidate, schema)),
        None,
    )
    highest = max(metadata.last_column_id, schema.highest_field_id)
    if equal is not None and highest == metadata.last_column_id:
        return replace(state, last_schema_id=equal.schema_id)
    number = equal.schema_id if equal is not None else max(metadata.schemas, default=-1) + 1
    added = Schema(
        *schema.fields,
        schema_id=number,
        identifier_field_ids=schema.identifier_field_ids,
        extra=schema.extra,
    )
    changed = state.but(
        schemas={**metadata.schemas, number: equal or added}, last_column_id=highest
    )
    return replace(changed, last_schema_id=number)


def same_schema(schema: Schema, other: Schema) -> bool:
    """Tell whether two schemas differ at most in their id."""
    return (
        schema.fields == other.fields and schema.identifier_field_ids == other.identifier_field_ids
    )


def set_current_schema(state: ApplyState, schema_id: int) -> ApplyState:
    """Make a schema the current one. Raises ValidationException for an unknown id."""
    number = _resolve(schema_id, state.last_schema_id, state.metadata.schemas, "schema")
    if number == state.metadata.current_schema_id:
        return state
    return state.but(current_schema_id=number)


def _resolve(requested: int, last: int | None, ids: Iterable[int], what: str) -> int:
    if requested == u.LAST_ADDED and last is None:
        raise ValidationException(f"Can't use the last added {what}: none has been added")
    resolved = requested if last is None or requested != u.LAST_ADDED else last
    if resolved not in ids:
        raise ValidationException(f"The table has no {what} with the id {resolved}")
    return resolved


def remove_schemas(state: ApplyState, schema_ids: Iterable[int]) -> ApplyState:
    """Remove schemas. Raises ValidationException for the current one."""
    metadata, gone = state.metadata, frozenset(schema_ids)
    if metadata.current_schema_id in gone:
        raise ValidationException("The current schema can't be removed")
    remaining = {
        number: schema for number, schema in metadata.schemas.items() if number not in gone
    }
    return state if len(remaining) == len(metadata.schemas) else state.but(schemas=remaining)


def add_spec(state: ApplyState, spec: PartitionSpec) -> ApplyState:
    """Add a partition spec under the next id, or reuse the id of an equal one.

    Raises InvalidSchemaError for a spec that contradicts the current schema,
    ValidationException for field ids that v1 does not allow.
    """
    metadata = state.metadata
    equal = next(
        (
            candidate
            for candidate in metadata.partition_specs.values()
            if same_spec(candidate, spec)
        ),
        None,
    )
    if equal is not None:
        return replace(state, last_spec_id=equal.spec_id)
    check_added_spec(spec, _current_schema(metadata))
    if metadata.rules.needs_sequential_partition_ids and not has_sequential_ids(spec):
        raise ValidationException(f"Format v1 needs partition field ids 1000, 1001, ...: {spec}")
    number = max(metadata.partition_specs, default=-1) + 1
    changed = state.but(
        partition_specs={**metadata.partition_specs, number: replace(spec, spec_id=number)},
        last_partition_id=max(metadata.last_partition_id, spec.last_assigned_field_id),
    )
    return replace(changed, last_spec_id=number)


def same_spec(spec: PartitionSpec, other: PartitionSpec) -> bool:
    """Tell whether two specs have the same sources, transforms and names (ids don't count)."""
    return _shape(spec) == _shape(other)


def _shape(spec: PartitionSpec) -> list[tuple[tuple[int, ...], str, str]]:
    return [(part.source_ids, str(part.transform), part.name) for part in spec.fields]


def _current_schema(metadata: TableMetadata) -> Schema:
    if metadata.current_schema_id not in metadata.schemas:
        raise ValidationException("A partition spec or sort order needs a current schema first")
    return metadata.schema


def set_default_spec(state: ApplyState, spec_id: int) -> ApplyState:
    """Make a partition spec the default. Raises ValidationException for an unknown id."""
    number = _resolve(spec_id, state.last_spec_id, state.metadata.partition_specs, "partition spec")
    return state if number == state.metadata.default_spec_id else state.but(default_spec_id=number)


def remove_specs(state: ApplyState, spec_ids: Iterable[int]) -> ApplyState:
    """Remove partition specs. Raises ValidationException for the default one."""
    metadata, gone = state.metadata, frozenset(spec_ids)
    if metadata.default_spec_id in gone:
        raise ValidationException("The default partition spec can't be removed")
    remaining = {
        number: spec for number, spec in metadata.partition_specs.items() if number not in gone
    }
    return (
        state
        if len(remaining) == len(metadata.partition_specs)
        else state.but(partition_specs=remaining)
    )


def add_sort_order(state: ApplyState, order: SortOrder) -> ApplyState:
    """Add a sort order under the next id, or reuse the id of an equal one; unsorted has the id 0.

    Raises InvalidSchemaError for an order that contradicts the current schema.
    """
    metadata = state.metadata
    equal = next(
        (
            candidate
            for candidate in metadata.sort_orders.values()
            if candidate.fields == order.fields
        ),
        None,
    )
    if equal is not None:
        return replace(state, last_order_id=equal.order_id)
    if any(isinstance(key.transform, UnknownTransform) for key in order.fields):
        raise InvalidSchemaError(
            f"A sort order with an unknown transform can't be written: {order}"
        )
    check_order(order, _current_schema(metadata))
    if order.is_unsorted:
        added = UNSORTED
    else:
        number = max((UNSORTED_ORDER_ID, *metadata.sort_orders)) + 1
        added = replace(order, order_id=number)
    changed = state.but(sort_orders={**metadata.sort_orders, added.order_id: added})
    return replace(changed, last_order_id=added.order_id)


def set_default_sort_order(state: ApplyState, order_id: int) -> ApplyState:
    """Make a sort order the default. Raises ValidationException for an unknown id."""
    number = _resolve(order_id, state.last_order_id, state.metadata.sort_orders, "sort order")
    if number == state.metadata.default_sort_order_id:
        return state
    return state.but(default_sort_order_id=number)


@dataclass(frozen=True, slots=True)
class ApplyState:
    """The metadata so far, and the effects of the previous updates.

    `last_*` are the ids that -1 stands for. `added` are the snapshots that these updates add,
    `main_moves` those that main was set to, `removed` is true once a snapshot was removed.
    """

    metadata: TableMetadata
    now_ms: int
    last_schema_id: int | None = None
    last_spec_id: int | None = None
    last_order_id: int | None = None
    added: frozenset[int] = frozenset()
    main_moves: frozenset[int] = frozenset()
    removed: bool = False

    def but(self, **changes: Any) -> ApplyState:
        """Return the state with fields of the metadata replaced."""
        return replace(self, metadata=replace(self.metadata, **changes))
