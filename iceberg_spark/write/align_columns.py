"""The caller's columns matched to the table's, once, and batches turned into the table's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import (
    Step,
    batch_of,
    map_list,
    null_column,
    plain,
    plain_list,
    struct_children,
    struct_of,
    with_offsets,
    without_nulls,
)
from iceberg_spark.arrow.evolve import default_array
from iceberg_spark.arrow.promote import storage_type
from iceberg_spark.arrow.schema import is_list, to_arrow, to_arrow_type
from iceberg_spark.arrow.variant_layout import VARIANT, is_variant, plain_variant
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidSchemaError,
    MissingFieldsError,
    NullValueError,
)
from iceberg_spark.spec.nearest import did_you_mean, name_list
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    NestedField,
    StructType,
    VariantType,
)
from iceberg_spark.write.cast_columns import cast_step


@dataclass(frozen=True, slots=True)
class _Column:
    """The source of one field: the input's child `source` (None: its default), through `step`."""

    field: NestedField
    path: str
    source: int | None
    step: Step | None


@dataclass(frozen=True, slots=True)
class AlignPlan:
    """Converts batches of one Arrow schema to the table's; created by `align`."""

    target: pa.Schema
    columns: tuple[_Column, ...]

    def apply(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return a batch of exactly `target`.

        Raises InvalidInputError naming the column for a null in a required one and for a value
        that the table's type can't hold.
        """
        sources = batch.columns  # creates all of them on each access
        aligned = [_make(column, sources, batch.num_rows) for column in self.columns]
        for column, array in zip(self.columns, aligned, strict=True):
            if column.field.required and array.null_count:
                raise null_error(column.path)
        return batch_of(batch.num_rows, aligned, self.target)


@dataclass(frozen=True, slots=True)
class _Rules:
    check_ordering: bool
    case_sensitive: bool


def align(
    schema: Schema,
    source: pa.Schema,
    *,
    check_nullability: bool = True,
    check_ordering: bool = False,
    case_sensitive: bool = True,
) -> AlignPlan:
    """Match an input's columns to a table's by name, nested ones too.

    Missing optional columns become null or their write default. Values are widened (int to long,
    float to double, decimals to more digits) and converted from other layouts (`large_`, views,
    dictionaries), never narrowed. Nulls in required columns are detected in the values;
    `check_nullability` refuses a column of type null for a required one before the first row.
    Raises InvalidSchemaError naming the columns that are missing, unknown, out of order
    (`check_ordering`), ambiguous, or of another type. Source: Java's CheckCompatibility.
    """
    rules = _Rules(check_ordering, case_sensitive)
    columns = _match(schema.fields, list(source), "", rules)
    if check_nullability:
        for column in columns:
            is_null = column.source is not None and pa.types.is_null(source[column.source].type)
            if is_null and column.field.required:
                raise null_error(column.path)
    return AlignPlan(to_arrow(schema), columns)


def null_error(path: str) -> NullValueError:
    """Return the error for a null in a required column."""
    return NullValueError(
        f"Column '{path}' is required and the data has a null in it; fill it, or make the column "
        "optional"
    )


def _match(
    fields: Sequence[NestedField], sources_fields: Sequence[pa.Field], prefix: str, rules: _Rules
) -> tuple[_Column, ...]:
    sources = _sources(fields, sources_fields, prefix, rules)
    missing = [
        f"'{prefix}{field.name}'"
        for field in fields
        if sources[field.field_id] is None and field.required and field.write_default is None
    ]
    if missing:
        raise MissingFieldsError(f"The data lacks required columns: {', '.join(missing)}")
    columns = []
    for field in fields:
        path = f"{prefix}{field.name}"
        source = sources[field.field_id]
        step = None if source is None else _step(sources_fields[source].type, field, path, rules)
        columns.append(_Column(field, path, source, step))
    return tuple(columns)


def _sources(
    fields: Iterable[NestedField], source_fields: Sequence[pa.Field], prefix: str, rules: _Rules
) -> dict[int, int | None]:
    """Return the input's position for each field id, None where it has no such column."""
    names = [field.name for field in source_fields]
    exact = _indices_by_name(names)
    folded = {} if rules.case_sensitive else _indices_by_name([name.lower() for name in names])
    used: dict[int, int | None] = {}
    for field in fields:
        matches = exact.get(field.name) or folded.get(field.name.lower(), [])
        used[field.field_id] = _only(matches, names, f"{prefix}{field.name}", prefix)
    taken = [source for source in used.values() if source is not None]
    matched = set(taken)
    extra = [name for index, name in enumerate(names) if index not in matched]
    if extra:
        raise _unknown_columns(fields, extra, prefix)
    if rules.check_ordering and taken != sorted(taken):
        late = next(a for a, b in pairwise(taken) if a > b)
        raise InvalidSchemaError(
            f"Column '{prefix}{names[late]}' is out of order: the data's columns must come in the "
            "table's order, or write with option check-ordering off"
        )
    return used


def _unknown_columns(
    fields: Iterable[NestedField], extra: Sequence[str], prefix: str
) -> InvalidSchemaError:
    columns = [field.name for field in fields]
    cased = [
        (name, column) for name in extra for column in columns if column.lower() == name.lower()
    ]
    named = name_list([f"'{prefix}{name}'" for name in extra])
    if cased:
        pairs = ", ".join(f"'{prefix}{column}' is spelt '{prefix}{name}'" for name, column in cased)
        return InvalidSchemaError(
            f"The table has no columns {named}: in the data {pairs}. Rename the data's columns, "
            "or write with case_sensitive=False"
        )
    close = did_you_mean(extra[0], columns) if len(extra) == 1 else ""
    return InvalidSchemaError(
        f"The table has no columns {named}{close}{';' if not close else ' Else'} drop them from "
        "the data, or add them to the table, by update_schema() or the option mergeSchema of "
        "df.write"
    )


def _indices_by_name(names: Iterable[str]) -> dict[str, list[int]]:
    """Return the indices of each name, so that many columns need no linear searches."""
    indices = defaultdict[str, list[int]](list)
    for index, name in enumerate(names):
        indices[name].append(index)
    return dict(indices)


def _only(matches: Sequence[int], names: Sequence[str], path: str, prefix: str) -> int | None:
    if len(matches) > 1:
        shown = ", ".join(f"'{prefix}{names[index]}'" for index in matches)
        raise InvalidSchemaError(
            f"Column '{path}' is ambiguous: the data has {shown}; rename all but one"
        )
    return matches[0] if matches else None


def _make(column: _Column, sources: Sequence[pa.Array], rows: int) -> pa.Array:
    if column.source is not None:
        array = sources[column.source]
        return array if column.step is None else column.step(array)
    return default_array(column.field, rows, written=True, path=column.path)


def _step(kind: pa.DataType, field: NestedField, path: str, rules: _Rules) -> Step | None:
    stored = storage_type(kind)
    if stored == kind or not pa.types.is_nested(stored):
        return _plain_step(kind, field, path, rules)
    below = _plain_step(stored, field, path, rules) or _same
    return lambda array: below(plain(array))


def _plain_step(kind: pa.DataType, field: NestedField, path: str, rules: _Rules) -> Step | None:
    target = field.field_type
    match target:
        case StructType(fields=fields) if pa.types.is_struct(kind):
            return _struct_step(_match(fields, list(kind), f"{path}.", rules), target, path)
        case ListType() if is_list(kind):
            element = target.element_field
            below = _step(kind.value_field.type, element, f"{path}.element", rules)
            return _list_step(kind, target, below, path)
        case MapType() if pa.types.is_map(kind):
            return _map_step(kind, target, path, rules)
        case VariantType():
            return _variant_step(kind, path)
        case GeometryType() | GeographyType() if _is_sparks_geometry(kind):
            return lambda array: pc.struct_field(array, "wkb")
        case _:
            return _leaf_step(kind, field, path)


def _is_sparks_geometry(kind: pa.DataType) -> bool:
    """Spark hands geometries over as structs of a SRID and WKB."""
    return pa.types.is_struct(kind) and [field.name for field in kind] == ["srid", "wkb"]


def _variant_step(kind: pa.DataType, path: str) -> Step:
    """Variants are structs of metadata and value, in any order."""
    if pa.types.is_null(kind):
        return lambda array: pa.nulls(len(array), VARIANT)
    if not is_variant(kind):
        raise InvalidSchemaError(
            f"Column '{path}' is variant in the table and {kind} in the data; give its parts as "
            "struct<metadata: binary, value: binary>, or parse it on Spark: parse_json(...)"
        )

    def convert(array: pa.Array) -> pa.Array:
        if any(_has_null_inside(array, part) for part in struct_children(array)):
            raise null_error(path)
        return plain_variant(array)

    return convert


def _leaf_step(kind: pa.DataType, field: NestedField, path: str) -> Step | None:
    if isinstance(field.field_type, StructType | ListType | MapType):
        target = to_arrow_type(field.field_type, path)
        if pa.types.is_null(kind):
            return lambda array: null_column(len(array), target)
        raise InvalidSchemaError(
            f"Column '{path}' is {field.field_type} in the table and {kind} in the data"
        )
    return cast_step(kind, field.field_type, path)


def _struct_step(columns: tuple[_Column, ...], kind: StructType, path: str) -> Step:
    target = to_arrow_type(kind, path)

    def convert(array: pa.Array) -> pa.Array:
        children = struct_children(array)
        aligned = [_make(column, children, len(array)) for column in columns]
        for index, (column, child) in enumerate(zip(columns, aligned, strict=True)):
            if column.field.required and _has_null_inside(array, child):
                raise null_error(column.path)
            if column.field.required:
                aligned[index] = without_nulls(child)
        return struct_of(len(array), aligned, target, array)

    return convert


def _has_null_inside(parent: pa.Array, child: pa.Array) -> bool:
    """Return whether a child is null where its parent is not."""
    if not child.null_count:
        return False
    return bool(pc.any(pc.and_(parent.is_valid(), child.is_null())).as_py())


def _list_step(kind: pa.DataType, expected: ListType, below: Step | None, path: str) -> Step | None:
    target = to_arrow_type(expected, path)
    if kind == target and below is None and not expected.element_required:
        return None
    element = f"{path}.element"

    def convert(array: pa.Array) -> pa.Array:
        if not pa.types.is_list(array.type):
            array = _plain_list(array, path)
        if expected.element_required and array.flatten().null_count:
            raise null_error(element)
        return map_list(array, below or _same, target)

    return convert


def _plain_list(array: pa.Array, path: str) -> pa.ListArray:
    try:
        return plain_list(array)
    except pa.ArrowInvalid as cause:
        raise InvalidInputError(f"Column '{path}' can't be written: {cause}") from cause


def _map_step(kind: pa.DataType, expected: MapType, path: str, rules: _Rules) -> Step | None:
    target = to_arrow_type(expected, path)
    steps = (
        _step(kind.key_type, expected.key_field, f"{path}.key", rules),
        _step(kind.item_type, expected.value_field, f"{path}.value", rules),
    )
    if kind == target and steps == (None, None) and not expected.value_required:
        return None
    entry = pa.struct([target.key_field, target.item_field])

    def entries(array: pa.Array) -> pa.Array:
        children: list[Any] = []
        for step, child in zip(steps, struct_children(array), strict=True):
            children.append(child if step is None else step(child))
        if children[0].null_count:  # Arrow ends the process for a map with such keys
            raise null_error(f"{path}.key")
        if expected.value_required and children[1].null_count:
            raise null_error(f"{path}.value")
        return struct_of(len(array), children, entry)

    return lambda array: map_list(array, entries, target)


def _same(array: pa.Array) -> pa.Array:
    return array


@dataclass(frozen=True, slots=True)
class AlignOptions:
    """How the caller's columns are matched to the table's (see `align_columns.align`)."""

    check_nullability: bool = True
    check_ordering: bool = False
    case_sensitive: bool = True


def check_columns(schema: Schema, source: pa.Schema, options: AlignOptions) -> None:
    """Refuse a frame with unsuitable columns before its first row. Raises InvalidSchemaError."""
    _plan(schema, source, options)


def align_batches(
    schema: Schema, batches: Iterable[pa.RecordBatch], options: AlignOptions
) -> Iterator[pa.RecordBatch]:
    """Yield each batch as the table's columns; all batches have one schema.

    Raises InvalidSchemaError for columns that don't fit, InvalidInputError for their values.
    """
    plan = None
    for batch in batches:
        if plan is None:
            plan = _plan(schema, batch.schema, options)
        if batch.num_rows:
            columns = [with_offsets(column) for column in batch.columns]
            yield plan.apply(pa.RecordBatch.from_arrays(columns, schema=batch.schema))


def _plan(schema: Schema, source: pa.Schema, options: AlignOptions) -> AlignPlan:
    return align(
        schema,
        source,
        check_nullability=options.check_nullability,
        check_ordering=options.check_ordering,
        case_sensitive=options.case_sensitive,
    )
