"""Table properties that name columns, after a change of the schema (Java: SchemaUpdate.commit)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.name_mapping import MappedField, NameMapping, from_field, parse, to_json
from iceberg_spark.spec.properties import (
    DEFAULT_NAME_MAPPING,
    METRICS_MODE_COLUMN_PREFIX,
    PARQUET_BLOOM_FILTER_COLUMN_PREFIX,
    PARQUET_DICT_COLUMN_PREFIX,
    PARQUET_STATS_COLUMN_PREFIX,
)
from iceberg_spark.spec.schema import Schema

_COLUMN_PREFIXES = (
    METRICS_MODE_COLUMN_PREFIX,
    PARQUET_BLOOM_FILTER_COLUMN_PREFIX,
    PARQUET_DICT_COLUMN_PREFIX,
    PARQUET_STATS_COLUMN_PREFIX,
)


def properties_after(
    properties: Mapping[str, str], before: Schema, after: Schema
) -> dict[str, str]:
    """Return the properties with their columns renamed as in `after`.

    Properties of deleted columns are removed; the name mapping gets new names and columns. An
    unreadable mapping is unchanged.
    """
    names = {
        before.find_column_name(field_id): after.find_column_name(field_id)
        for field_id in before.field_ids
    }
    result = {}
    for key, value in properties.items():
        prefix = next(
            (candidate for candidate in _COLUMN_PREFIXES if key.startswith(candidate)), None
        )
        column = None if prefix is None else key.removeprefix(prefix)
        if column not in names:
            result[key] = value
        elif (name := names[column]) is not None:
            result[f"{prefix}{name}"] = value
    if DEFAULT_NAME_MAPPING in result:
        result[DEFAULT_NAME_MAPPING] = _mapping_text(result[DEFAULT_NAME_MAPPING], before, after)
    return result


def _mapping_text(text: str, before: Schema, after: Schema) -> str:
    try:
        mapping = parse(text)
    except CorruptFileError:
        return text
    updated = mapping_after(mapping, before, after)
    return text if updated == mapping else to_json(updated)


def mapping_after(mapping: NameMapping, before: Schema, after: Schema) -> NameMapping:
    """Return a name mapping with the new names and columns of a changed schema.

    The old names of a renamed column stay valid, except a name that another column takes over.
    Source: Java's MappingUtil.update.
    """
    renamed: dict[int, str] = {}
    added: dict[int | None, list[int]] = {}
    for field_id in after.field_ids:
        former, newest = before.get(field_id), after.find_field(field_id)
        parent = after.parent_id(field_id)
        if former is not None and former.name != newest.name:
            renamed[field_id] = newest.name
        elif former is None and (parent is None or before.get(parent) is not None):
            added.setdefault(parent, []).append(field_id)

    def level(fields: Iterable[MappedField], parent: int | None) -> tuple[MappedField, ...]:
        mapped = [
            _with_name(field, renamed, level(field.fields, field.field_id)) for field in fields
        ]
        here = {field.field_id for field in mapped}
        mapped = _without_taken(
            mapped, {name: field_id for field_id, name in renamed.items() if field_id in here}
        )
        new = [after.find_field(field_id) for field_id in added.get(parent, ())]
        remaining = _without_taken(mapped, {field.name: field.field_id for field in new})
        return (*remaining, *(from_field(field) for field in new))

    top = level(mapping.fields, None)
    return NameMapping(top)


def _with_name(
    field: MappedField, renamed: Mapping[int, str], below: tuple[MappedField, ...]
) -> MappedField:
    name = None if field.field_id is None else renamed.get(field.field_id)
    more = () if name is None or name in field.names else (name,)
    return replace(field, names=(*field.names, *more), fields=below)


def _without_taken(fields: Iterable[MappedField], taken: Mapping[str, int]) -> list[MappedField]:
    return [
        replace(
            field,
            names=tuple(n for n in field.names if taken.get(n, field.field_id) == field.field_id),
        )
        for field in fields
    ]
