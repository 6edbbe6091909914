"""Change a table's partition spec (Java: BaseUpdatePartitionSpec)."""

from __future__ import annotations

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.errors import ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.updates import AddPartitionSpec, SetDefaultSpec


class SetSpec:
    """Add a spec derived from the default one, and make it the default unless disabled.

    If another commit changed the default spec or assigned partition field ids since `planned_on`,
    it is a ValidationException: ids might be assigned twice. `before` is the spec as earlier
    changes of the same transaction left it. Does not add a spec that the table has already.
    """

    def __init__(
        self,
        spec: PartitionSpec,
        planned_on: TableMetadata,
        *,
        before: PartitionSpec,
        default: bool = True,
    ) -> None:
        self._spec = spec
        self._before = before
        self._default = default
        self._spec_id = planned_on.default_spec_id
        self._last_partition_id = planned_on.last_partition_id

    def validate(self, base: TableMetadata, io: FileIO) -> None:  # noqa: ARG002 (metadata says all)
        """Raise ValidationException if the partitioning has changed since."""
        current = (base.default_spec_id, base.last_partition_id)
        if current != (self._spec_id, self._last_partition_id):
            raise ValidationException(
                f"The partitioning of {base.location} was changed by another commit: its default "
                f"is spec {current[0]} now, this change was made for {self._spec_id}; plan the "
                "change again"
            )

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:  # noqa: ARG002 (writes none)
        """Return the updates that add the spec and make it the default."""
        if base.spec != self._before:
            raise ValidationException(
                "The transaction changed the partitioning after this change of it was begun; "
                "begin it after the other one is committed to the transaction"
            )
        added = AddPartitionSpec(self._spec)
        return ActionCommit((added, SetDefaultSpec()) if self._default else (added,))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""
