"""The columns of a file as a tree with field ids: its own, or those of a name mapping."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from iceberg_spark.arrow.schema import child_fields, field_id, is_list
from iceberg_spark.spec.name_mapping import MappedField, NameMapping

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileField:
    """A column or nested field of a file.

    `own_id` is the id in the file, `mapped_id` that of a name mapping if the file has none.
    `leaves` numbers the primitive columns below it in the file's order, like Parquet numbers its
    columns. Children of a list are its element, of a map key and value.
    """

    name: str
    kind: pa.DataType
    own_id: int | None
    mapped_id: int | None
    leaves: tuple[int, ...]
    children: tuple[FileField, ...] = ()
    nullable: bool = True


def file_fields(schema: pa.Schema, ids: Mapping[Path, int] | None = None) -> tuple[FileField, ...]:
    """Return the top-level columns of a file's schema.

    `ids` gives ids by path of names for fields that have none of their own (specification,
    "Column Projection"); list elements are named `element`, map parts `key` and `value`.
    """
    numbers = itertools.count()
    return tuple(_file_field(field, (field.name,), ids or {}, numbers) for field in schema)


def _file_field(
    field: pa.Field, path: Path, ids: Mapping[Path, int], numbers: Iterator[int]
) -> FileField:
    names = child_names(field.type)
    children = tuple(
        _file_field(child, (*path, name), ids, numbers)
        for child, name in zip(child_fields(field.type), names, strict=True)
    )
    inner = tuple(leaf for child in children for leaf in child.leaves)
    own = field_id(field)
    if own is not None and is_list(field.type) and children[0].own_id == own:
        # Parquet's repeated field outside a LIST group is list and element with the list's id.
        children = (replace(children[0], own_id=None),)
    mapped = ids.get(path) if own is None else None
    # A struct without children (Arrow allows it) has no column in a file.
    leaves = inner if names or pa.types.is_struct(field.type) else (next(numbers),)
    return FileField(path[-1], field.type, own, mapped, leaves, children, field.nullable)


def child_names(kind: pa.DataType) -> tuple[str, ...]:
    """Return the names of a type's children in name mappings."""
    if pa.types.is_map(kind):
        return ("key", "value")
    if is_list(kind):
        return ("element",)
    return tuple(field.name for field in child_fields(kind))


def has_own_ids(fields: tuple[FileField, ...]) -> bool:
    """Return whether the file itself gives any field an id."""
    return any(field.own_id is not None or has_own_ids(field.children) for field in fields)


def prune_fields(fields: tuple[FileField, ...], leaves: frozenset[int]) -> tuple[FileField, ...]:
    """Return the fields as a reader gives them that reads only some leaves."""
    return tuple(_pruned(field, leaves) for field in fields if leaves.intersection(field.leaves))


def _pruned(field: FileField, leaves: frozenset[int]) -> FileField:
    remaining = tuple(leaf for leaf in field.leaves if leaf in leaves)
    if remaining == field.leaves:
        return field
    children = prune_fields(field.children, leaves)
    return replace(field, kind=_kind_of(field, children), leaves=remaining, children=children)


def _kind_of(field: FileField, children: tuple[FileField, ...]) -> pa.DataType:
    inner = [pa.field(child.name, child.kind) for child in children]
    if pa.types.is_struct(field.kind):
        return pa.struct(inner)
    if pa.types.is_map(field.kind):
        return pa.map_(inner[0].with_nullable(nullable=False), inner[1])
    return pa.large_list(inner[0]) if pa.types.is_large_list(field.kind) else pa.list_(inner[0])


def ids_of(mapping: NameMapping) -> dict[Path, int]:
    """Return a flattened name mapping: ids by path of names, for every name of a field."""
    ids: dict[Path, int] = {}
    _collect(mapping.fields, (), ids)
    return ids


def ids_by_position(schema: pa.Schema, mapping: NameMapping) -> dict[Path, int]:
    """Return the ids 1, 2, ... for a file's columns in their order, nested fields by name.

    Java's rule for Parquet files without ids in a table without a name mapping (ParquetSchemaUtil.
    addFallbackIds): the columns of such a table were never reordered or dropped. `mapping`
    contains the table's names, for nested fields.
    """
    by_id = {field.field_id: field for field in mapping.fields}
    ids: dict[Path, int] = {}
    for number, column in enumerate(schema, start=1):
        ids[column.name,] = number
        if number in by_id:
            _collect(by_id[number].fields, (column.name,), ids)
    return ids


def _collect(fields: tuple[MappedField, ...], parent: Path, ids: dict[Path, int]) -> None:
    for field in fields:
        for name in field.names:
            path = (*parent, name)
            if field.field_id is not None:
                ids[path] = field.field_id
            _collect(field.fields, path, ids)
