"""Which columns a scan reads, by field id; fields that the table has dropped since."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from iceberg_spark.errors import InvalidOptionError, InvalidSchemaError, UnsupportedError
from iceberg_spark.spec import reserved
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.nearest import did_you_mean
from iceberg_spark.spec.partition_type import union_partition_type
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    child_fields,
)

EVERYTHING = "*"
PARTITION = "_partition"


@dataclass(frozen=True, slots=True)
class Projection:
    """The chosen columns, in the table's order, and the metadata columns named among them."""

    schema: Schema
    metadata_columns: tuple[str, ...] = ()


def project(
    schema: Schema, names: Sequence[str] | None, *, case_sensitive: bool = True
) -> Projection:
    """Return the schema reduced to full names; the name of a struct selects all of it.

    The names may include metadata columns; a table column of the same name takes precedence.
    Raises InvalidSchemaError for an unknown name.
    """
    if names is None:
        return Projection(schema)
    own = tuple(
        name
        for name in names
        if name in reserved.METADATA_COLUMN_NAMES and schema.find_id(name) is None
    )
    rest = [name for name in names if name not in own]
    if EVERYTHING in rest:
        return Projection(schema, own)
    chosen = {schema.find_field(name, case_sensitive).field_id for name in rest}
    fields = keep_fields(schema.fields, chosen.__contains__)
    projected = Schema(*fields, schema_id=schema.schema_id)
    return Projection(projected, own)


def keep_fields(
    fields: Iterable[NestedField], chosen: Callable[[int], bool]
) -> tuple[NestedField, ...]:
    """Return the chosen fields, and the parents of chosen fields reduced to them."""
    fields_left = []
    for child in fields:
        if chosen(child.field_id):
            fields_left.append(child)
            continue
        inner = keep_fields(child_fields(child.field_type), chosen)
        if inner:
            fields_left.append(replace(child, field_type=_with_children(child.field_type, inner)))
    return tuple(fields_left)


def _with_children(kind: IcebergType, children: tuple[NestedField, ...]) -> IcebergType:
    by_id = {child.field_id: child for child in children}
    match kind:
        case StructType():
            return StructType(*children)
        case ListType(element_id=element_id):
            return replace(kind, element_type=by_id[element_id].field_type)
        case MapType(value_id=value_id) if value_id in by_id:
            return replace(kind, value_type=by_id[value_id].field_type)  # keys are always whole
        case _:
            return kind


def with_metadata_columns(schema: Schema, names: Iterable[str], metadata: TableMetadata) -> Schema:
    """Return the schema with metadata columns at the end.

    Raises InvalidOptionError for an unknown name, or one that the table's format version lacks,
    InvalidSchemaError if a column of the table has the name, UnsupportedError if `_partition`
    shares a field id with a column (Java: SparkSchemaUtil).
    """
    unique = tuple(dict.fromkeys(names))
    for name in unique:
        if name not in reserved.METADATA_COLUMN_NAMES:
            available = reserved.METADATA_COLUMN_NAMES
            raise InvalidOptionError(
                f"'{name}' is not a metadata column; the names are: {', '.join(available)}"
                f"{did_you_mean(name, available)}"
            )
        if any(candidate.find_id(name) is not None for candidate in (metadata.schema, schema)):
            raise InvalidSchemaError(
                f"Metadata column '{name}' can't be read: the table has a column of that name; "
                f"rename the table's, as by t.update_schema().rename_column('{name}', 'own{name}')"
            )
        if name in reserved.LINEAGE_NAMES and not metadata.rules.has_row_lineage:
            raise InvalidOptionError(
                f"Metadata column '{name}' needs format-version 3, and {metadata.location} has "
                f"{metadata.format_version}: upgrade it by "
                "t.update_properties().set({'format-version': '3'})"
            )
    if not unique:
        return schema
    columns = reserved.metadata_columns(_partition_type(schema, metadata, unique))
    added = (columns[name] for name in unique)
    return Schema(*schema.fields, *added, schema_id=schema.schema_id)


def _partition_type(schema: Schema, metadata: TableMetadata, names: Iterable[str]) -> StructType:
    if PARTITION not in names:
        return StructType()
    specs = metadata.partition_specs.values()
    kind = union_partition_type(specs, metadata.schema, metadata.schemas.values())
    for part in kind.fields:
        clash = schema.find_column_name(part.field_id)
        if clash is not None:
            raise UnsupportedError(
                f"Metadata column '_partition' can't be read together with column '{clash}': "
                f"partition field '{part.name}' has the same field id {part.field_id}"
            )
    return kind


def dropped_fields(metadata: TableMetadata, schema: Schema) -> Schema | None:
    """Return the fields of the table's other schemas that `schema` lacks, None if there are none.

    Each is as in its newest schema, below the structs that contained it. A column whose name is
    taken is named `<name>_<field id>`.
    """
    seen = set(schema.field_ids)
    merged: tuple[NestedField, ...] = ()
    for schema_id in sorted(metadata.schemas, reverse=True):
        former = metadata.schemas[schema_id]
        missing = set(former.field_ids) - seen
        seen |= missing
        merged = _merge(merged, keep_fields(former.fields, missing.__contains__))
    return Schema(*_distinct(merged)) if merged else None


def _merge(
    fields: tuple[NestedField, ...], others: tuple[NestedField, ...]
) -> tuple[NestedField, ...]:
    merged = {child.field_id: child for child in fields}
    for other in others:
        mine = merged.get(other.field_id)
        if mine is None:
            merged[other.field_id] = other
        elif mine != other:
            children = _merge(child_fields(mine.field_type), child_fields(other.field_type))
            merged[other.field_id] = replace(
                mine, field_type=_with_children(mine.field_type, children)
            )
    return tuple(merged.values())


def _distinct(fields: tuple[NestedField, ...]) -> tuple[NestedField, ...]:
    seen: set[str] = set()
    renamed = []
    for child in fields:
        name = f"{child.name}_{child.field_id}" if child.name in seen else child.name
        seen.add(name)
        kind = child.field_type
        if isinstance(kind, StructType):
            kind = StructType(*_distinct(kind.fields))
        renamed.append(replace(child, name=name, field_type=kind))
    return tuple(renamed)
