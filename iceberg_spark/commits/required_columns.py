"""Rows written for an earlier schema, and the columns that the table requires now."""

from __future__ import annotations

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.errors import ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField


class RequireNoOtherColumns:
    """Refuse a table that requires columns which rows of `planned` may lack.

    For changes whose files may have been written with an older schema than the first base of their
    commit: Spark writes a DataFrame for minutes before its driver commits.
    """

    __slots__ = ("planned",)

    def __init__(self, planned: Schema) -> None:
        self.planned = planned

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: `prepare` sees the schema that earlier actions leave."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (a check)
        """Change nothing. Raises ValidationException."""
        check_required_columns(base, self.planned)
        return ActionCommit(())

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


def check_required_columns(base: TableMetadata, planned: Schema) -> None:
    """Refuse rows of a planned schema for a base that requires columns which they may lack.

    Raises ValidationException, which names the column.
    """
    schema = base.schema
    if planned == schema:
        return
    for field_id in schema.field_ids:
        parent = schema.parent_id(field_id)
        if parent is not None and planned.get(parent) is None:
            continue  # the parent decides: an optional new struct can have required fields
        if _may_be_missing(schema.find_field(field_id), planned.get(field_id)):
            raise ValidationException(
                f"Column '{schema.find_column_name(field_id)}' of {base.location} is required "
                "since another commit, and the rows of this change may lack a value for it; "
                "write them again"
            )


def _may_be_missing(column: NestedField, before: NestedField | None) -> bool:
    """Return whether rows for an earlier schema may lack a value of a column that requires one."""
    if not column.required:
        return False
    return not before.required if before is not None else column.initial_default is None
