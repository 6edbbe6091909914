"""Commit an upsert: new rows, and deletes that must reach every data file of the table."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.errors import ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.apply_updates import apply
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.updates import AddPartitionSpec
from iceberg_spark.write.upsert_context import UpsertContext, live_spec_ids


class UpsertRows:
    """Add the files of an upsert in one snapshot, whatever was committed since the plan.

    A later upsert of a key wins, because its equality deletes apply to all earlier commits. It
    conflicts with data under a partition spec that its deletes do not apply to: a
    ValidationException. If global deletes need an unpartitioned spec, it is added here but does not
    become the default.
    """

    def __init__(
        self,
        context: UpsertContext,
        data: Sequence[DataFile],
        deletes: Sequence[DataFile],
        *,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        self._reached = context.reached_specs
        self._branch = branch
        used = {file.partition_spec_id for file in deletes}
        self._specs = [spec for spec in context.delete_specs if spec.spec_id in used]
        self._delta = RowDelta(
            data, deletes, branch=branch, snapshot_properties=snapshot_properties
        )

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: an upsert reads nothing."""
        self._delta.validate(base, io)

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that add the files, and the spec if the table lacks it.

        Raises ValidationException if others added data files or specs that the deletes do not apply
        to.
        """
        self._check_reach(base, io)
        added = tuple(
            AddPartitionSpec(spec) for spec in self._specs if spec != _spec_of(base, spec.spec_id)
        )
        staged = base
        if added:
            now_ms = max(int(time.time() * 1000), base.last_updated_ms)
            staged = apply(base, added, now_ms=now_ms)
        for spec in self._specs:
            if _spec_of(staged, spec.spec_id) != spec:
                raise ValidationException(
                    f"Another commit gave {base.location} a partition spec with id {spec.spec_id}, "
                    "which this upsert wrote deletes under: run it again"
                )
        return ActionCommit((*added, *self._delta.prepare(staged, io).updates))

    def _check_reach(self, base: TableMetadata, io: FileIO) -> None:
        if self._reached is None:
            return
        beyond = live_spec_ids(base, io, self._branch) - self._reached
        if beyond:
            raise ValidationException(
                f"Another commit wrote data files of {base.location} under partition spec "
                f"{min(beyond)}, which the deletes of this upsert don't reach: run it again"
            )

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._delta.clean_up(io, committed)


def _spec_of(metadata: TableMetadata, spec_id: int) -> PartitionSpec | None:
    return metadata.partition_specs.get(spec_id)
