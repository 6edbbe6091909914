"""Change a table's current schema (Java: SchemaUpdate)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.errors import CorruptFileError, InvalidSchemaError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.name_mapping import MappedField, NameMapping, from_field, parse, to_json
from iceberg_spark.spec.properties import (
    DEFAULT_NAME_MAPPING,
    METRICS_MODE_COLUMN_PREFIX,
    PARQUET_BLOOM_FILTER_COLUMN_PREFIX,
    PARQUET_DICT_COLUMN_PREFIX,
    PARQUET_STATS_COLUMN_PREFIX,
)
from iceberg_spark.spec.reserved import check_new_names
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import BucketTransform, IdentityTransform, VoidTransform
from iceberg_spark.spec.types import DateType
from iceberg_spark.spec.updates import (
    AddSchema,
    RemoveProperties,
    SetCurrentSchema,
    SetProperties,
    TableUpdate,
)


class SetSchema:
    """Make a schema current that was derived from the schema of `planned_on`.

    If another commit changed the schema or assigned column ids since, it is a ValidationException:
    ids might be assigned twice (specification: "Commit Conflict Resolution and Retry"). A schema
    that is current already changes nothing. The name mapping and column properties follow the
    columns. `before` is the schema that earlier changes of the same transaction produced, if there
    are any.
    """

    def __init__(
        self, schema: Schema, planned_on: TableMetadata, *, before: Schema | None = None
    ) -> None:
        self._schema = schema
        self._before = before
        self._schema_id = planned_on.current_schema_id
        self._last_column_id = planned_on.last_column_id

    def validate(self, base: TableMetadata, io: FileIO) -> None:  # noqa: ARG002 (metadata says all)
        """Raise ValidationException if the schema has changed since."""
        current = (base.current_schema_id, base.last_column_id)
        if current != (self._schema_id, self._last_column_id):
            raise ValidationException(
                f"The schema of {base.location} was changed by another commit: it is schema "
                f"{current[0]} now, this change was planned on {self._schema_id}; plan it again"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the updates that set the schema.

        Raises:
            InvalidSchemaError: a deleted column partitions or orders the table, or a promotion from
                date to timestamp would change the values of a partition field.
        """
        schema, before = self._schema, base.schema
        same = schema.fields == before.fields
        if same and schema.identifier_field_ids == before.identifier_field_ids:
            return ActionCommit(())
        if self._before is not None and self._before != before:
            raise ValidationException(
                "The transaction changed the schema after this change of it was begun; begin it "
                "after the other one is committed to the transaction"
            )
        check_new_names(before, schema)
        _check_sources(base, schema)
        _check_promotions(base, schema)
        updates: list[TableUpdate] = [AddSchema(schema), SetCurrentSchema()]
        properties = properties_after(base.properties, before, schema)
        gone = tuple(key for key in base.properties if key not in properties)
        changed = {
            key: value for key, value in properties.items() if base.properties.get(key) != value
        }
        if gone:
            updates.append(RemoveProperties(gone))
        if changed:
            updates.append(SetProperties(changed))
        return ActionCommit(tuple(updates))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


def _check_sources(base: TableMetadata, schema: Schema) -> None:
    for part in base.spec.fields:
        if not isinstance(part.transform, VoidTransform):
            fix = f"update_spec().remove_field('{part.name}')"
            what = f"partition field '{part.name}' ({part.transform})"
            _check_source(part.source_ids, base.schema, schema, what, fix)
    for key in base.sort_order.fields:
        fix = "update_sort_order()"
        _check_source(key.source_ids, base.schema, schema, f"sort field '{key}'", fix)


def _check_source(
    source_ids: tuple[int, ...], before: Schema, after: Schema, what: str, fix: str
) -> None:
    for source_id in source_ids:
        name = before.find_column_name(source_id)
        if name is not None and after.get(source_id) is None:
            raise InvalidSchemaError(
                f"Column '{name}' can't be deleted: {what} is made of it; change that first, "
                f"with {fix}"
            )


def _check_promotions(base: TableMetadata, schema: Schema) -> None:
    """Refuse a promotion that changes partition values (specification, "Schema Evolution").

    A date and the timestamp of its midnight have the same year, month and day, but not the same
    hash. Numbers have the same values and hashes in their wider types.
    """
    for part in (part for spec in base.partition_specs.values() for part in spec.fields):
        before, after = base.schema.get(part.source_id), schema.get(part.source_id)
        if (
            isinstance(part.transform, IdentityTransform | BucketTransform)
            and before is not None
            and after is not None
            and isinstance(before.field_type, DateType)
            and before.field_type != after.field_type
        ):
            raise InvalidSchemaError(
                f"Column '{base.schema.find_column_name(part.source_id)}' can't become "
                f"{after.field_type}: partition field '{part}' of files that are there would get "
                "other values; add a new column instead"
            )


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
