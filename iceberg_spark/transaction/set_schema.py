"""Give a table another current schema (Java: SchemaUpdate)."""

from __future__ import annotations

from iceberg_spark.errors import ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.updates import AddSchema, SetCurrentSchema
from iceberg_spark.transaction.action import ActionCommit


class SetSchema:
    """Make a schema current that was derived from the one of `planned_on`.

    Another commit that changed the schema or gave column ids since then is a ValidationException:
    ids might be given twice (specification: "Commit Conflict Resolution and Retry"). A schema
    that is current already changes nothing.
    """

    def __init__(self, schema: Schema, planned_on: TableMetadata) -> None:
        self._schema = schema
        self._schema_id = planned_on.current_schema_id
        self._last_column_id = planned_on.last_column_id

    def validate(self, base: TableMetadata, io: FileIO) -> None:  # noqa: ARG002 (metadata says all)
        """Refuse a table whose schema has changed since."""
        found = (base.current_schema_id, base.last_column_id)
        if found != (self._schema_id, self._last_column_id):
            raise ValidationException(
                f"The schema of {base.location} was changed by another commit: it is schema "
                f"{found[0]} now, this change was made for {self._schema_id}; plan the change anew"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the updates that set the schema."""
        same = self._schema.fields == base.schema.fields
        if same and self._schema.identifier_field_ids == base.schema.identifier_field_ids:
            return ActionCommit(())
        return ActionCommit((AddSchema(self._schema), SetCurrentSchema()))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Nothing was written."""
