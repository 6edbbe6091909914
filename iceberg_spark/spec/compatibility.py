"""Check partition specs, sort orders and format versions against a schema."""

from __future__ import annotations

from collections.abc import Iterable

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.spec.partition import (
    FIRST_PARTITION_FIELD_ID,
    PartitionField,
    PartitionSpec,
)
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import SortField, SortOrder
from iceberg_spark.spec.transforms import (
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    UnknownTransform,
    VoidTransform,
    YearTransform,
    check_transform,
)
from iceberg_spark.spec.types import (
    PRIMITIVES,
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    NestedField,
    TimestampNanoType,
    TimestamptzNanoType,
    UnknownType,
    VariantType,
)

V3_TYPES = (
    TimestampNanoType, TimestamptzNanoType, UnknownType, VariantType, GeometryType, GeographyType,
)  # fmt: skip
MAX_COLUMN_ID = 2_147_483_447
_ALWAYS_NULL = (UnknownType, VariantType, GeometryType, GeographyType)
_TIME_TRANSFORMS = (YearTransform, MonthTransform, DayTransform, HourTransform)


def check_spec(spec: PartitionSpec, schema: Schema) -> None:
    """Check the sources and transforms of a spec against a schema.

    Sources are primitive columns, maybe inside structs, never in a list or map, whose type the
    transform takes. Void and unknown transforms may have lost their source. Raises
    InvalidSchemaError naming field and column. Source: specification, "Partitioning"; Java's
    PartitionSpec.checkCompatibility.
    """
    for part in spec.fields:
        if not isinstance(part.transform, VoidTransform | UnknownTransform):
            _check_source(part, schema, f"partition field '{part.name}'")


def check_order(order: SortOrder, schema: Schema) -> None:
    """Check the sources and transforms of a sort order. Raises InvalidSchemaError."""
    for key in order.fields:
        if not isinstance(key.transform, VoidTransform | UnknownTransform):
            _check_source(key, schema, f"sort field '{key}'")


def _check_source(part: PartitionField | SortField, schema: Schema, what: str) -> None:
    for source_id in part.source_ids:
        source = schema.get(source_id)
        if source is None:
            raise InvalidSchemaError(f"Can't find the source column {source_id} of {what}")
        column = schema.find_column_name(source_id) or source.name
        if not isinstance(source.field_type, PRIMITIVES):
            raise InvalidSchemaError(
                f"Column '{column}' of type {source.field_type} can't be the source of {what}: "
                "it is not primitive"
            )
        for above in schema.path_ids(source_id)[:-1]:
            if isinstance(schema.find_type(above), ListType | MapType):
                raise InvalidSchemaError(
                    f"Column '{column}' can't be the source of {what}: it is inside a "
                    f"{'list' if isinstance(schema.find_type(above), ListType) else 'map'}"
                )
        check_transform(part.transform, source.field_type, column)


def check_new_spec(spec: PartitionSpec, schema: Schema) -> None:
    """Check the spec of a table that is about to be created.

    Beyond `check_added_spec`: a field may have a column's name only if it is the identity of that
    column; a source has at most one time transform, and each (source, transform) occurs once.
    Raises InvalidSchemaError. Source: Java's PartitionSpec.Builder.
    """
    check_added_spec(spec, schema)
    seen: set[tuple[tuple[int, ...], str]] = set()
    for part in spec.fields:
        if schema.find_id(part.name) is not None and not isinstance(
            part.transform, IdentityTransform | VoidTransform
        ):
            raise InvalidSchemaError(
                f"Partition field '{part.name}' ({part.transform}) has the name of a column; "
                "give it another name"
            )
        kind = "time" if is_time_transform(part.transform) else str(part.transform)
        if (part.source_ids, kind) in seen and not isinstance(part.transform, VoidTransform):
            raise InvalidSchemaError(
                f"Partition field '{part.name}' ({part.transform}) is redundant: column "
                f"'{schema.find_column_name(part.source_id)}' has one like it"
            )
        seen.add((part.source_ids, kind))
    _check_collisions(spec, schema)


def is_time_transform(transform: Transform) -> bool:
    """Return whether a transform computes years, months, days or hours."""
    return isinstance(transform, _TIME_TRANSFORMS)


def check_added_spec(spec: PartitionSpec, schema: Schema) -> None:
    """Check a spec that is about to be added to a table.

    Ids and names are unique, and no name is empty. Names of columns are another check, of the
    table with all its specs: `field_names.check_field_names`. Raises InvalidSchemaError. Source:
    Java's PartitionSpec.Builder.add.
    """
    check_spec(spec, schema)
    if len({part.field_id for part in spec.fields}) < len(spec.fields):
        raise InvalidSchemaError(f"Two partition fields have the same id: {spec}")
    names: set[str] = set()
    for part in spec.fields:
        if isinstance(part.transform, UnknownTransform):
            raise InvalidSchemaError(f"Unknown transform '{part.transform}' can't be written")
        if not part.name:
            raise InvalidSchemaError(f"The partition field {part.transform} has no name")
        if part.name in names:
            raise InvalidSchemaError(f"Two partition fields are named '{part.name}'")
        names.add(part.name)


def _check_collisions(spec: PartitionSpec, schema: Schema) -> None:
    for part in spec.fields:
        column = schema.find_id(part.name)
        if column not in (None, part.source_id) and not isinstance(part.transform, VoidTransform):
            raise InvalidSchemaError(
                f"Partition field '{part.name}' ({part.transform}) has the name of another "
                "column; give it another name"
            )


def has_sequential_ids(spec: PartitionSpec) -> bool:
    """Return whether field ids count up from 1000, as format v1 requires."""
    return all(
        part.field_id == FIRST_PARTITION_FIELD_ID + index for index, part in enumerate(spec.fields)
    )


def check_schema(schema: Schema, format_version: int) -> None:
    """Check a schema that is about to be added to a table of that format version.

    Raises InvalidSchemaError listing every problem: types and defaults that need v3, defaults of
    types that must default to null, an `unknown` that is required, identifier fields that are
    optional, floating-point or nested in a list, map or optional struct, reserved field ids.
    """
    problems = [
        problem
        for field_id in schema.field_ids
        for problem in _field_problems(schema, field_id, format_version)
    ]
    problems += [
        problem
        for field_id in schema.identifier_field_ids
        for problem in _identifier_problems(schema, field_id)
    ]
    if problems:
        raise InvalidSchemaError(
            f"Invalid schema for format v{format_version}: {'; '.join(problems)}"
        )


def _field_problems(schema: Schema, field_id: int, format_version: int) -> Iterable[str]:
    child = schema.find_field(field_id)
    name, kind = schema.find_column_name(field_id), child.field_type
    has_default = child.initial_default is not None or child.write_default is not None
    rules = rules_of(format_version)
    if not rules.has_new_types and isinstance(kind, V3_TYPES):
        yield f"column '{name}' has type {kind}, which needs format-version 3"
    if not rules.has_defaults and child.initial_default is not None:
        yield f"column '{name}' has an initial default, which needs format-version 3"
    if isinstance(kind, _ALWAYS_NULL) and has_default:
        yield f"column '{name}' of type {kind} can't have a default"
    if isinstance(kind, UnknownType) and child.required:
        yield f"column '{name}' of type unknown must be optional"
    if not 0 < field_id <= MAX_COLUMN_ID:
        yield f"column '{name}' has the id {field_id}; ids are 1 to {MAX_COLUMN_ID}"


def _identifier_problems(schema: Schema, field_id: int) -> Iterable[str]:
    child = schema.get(field_id)
    if child is None:
        yield f"identifier field {field_id} is not a column"
        return
    name, kind = schema.find_column_name(field_id), child.field_type
    if not isinstance(kind, PRIMITIVES):
        yield f"identifier field '{name}' is not primitive"
    if isinstance(kind, FloatType | DoubleType):
        yield f"identifier field '{name}' is of type {kind}"
    if child.optional:
        yield f"identifier field '{name}' is optional"
    yield from _enclosing_problems(schema, name, schema.path_ids(field_id)[:-1])


def _enclosing_problems(schema: Schema, name: str | None, path: tuple[int, ...]) -> Iterable[str]:
    above: list[NestedField] = [schema.find_field(field_id) for field_id in path]
    for parent in above:
        if isinstance(parent.field_type, ListType | MapType):
            yield f"identifier field '{name}' is inside a list or map"
            return
        if parent.optional:
            yield f"identifier field '{name}' is inside the optional struct '{parent.name}'"
