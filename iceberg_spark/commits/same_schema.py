"""A change that requires the schema in which the names of its rows were resolved."""

from __future__ import annotations

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.requirements import AssertCurrentSchemaId


class SameSchema:
    """Refuse a table with another schema than the one that a change was planned on.

    For changes planned without loading the newest version: a column that was renamed or created
    again since would get the values of another column. A server checks this requirement as well.
    """

    __slots__ = ("schema_id",)

    def __init__(self, schema_id: int) -> None:
        self.schema_id = schema_id

    def validate(self, base: TableMetadata, io: FileIO) -> None:  # noqa: ARG002 (metadata says all)
        """Raise InvalidSchemaError if the schema differs."""
        if base.current_schema_id != self.schema_id:
            raise InvalidSchemaError(
                f"{base.location} got other columns meanwhile: plan the change again"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (a check)
        """Change nothing, and require this schema."""
        return ActionCommit((), (AssertCurrentSchemaId(self.schema_id),))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""
