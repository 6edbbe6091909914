"""Change a table's current schema (Java: SchemaUpdate)."""

from __future__ import annotations

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.errors import InvalidSchemaError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.lineage_names import check_new_names
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_properties import properties_after
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
