"""Replace files, all rows that match a predicate, or the partitions of new files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.conflicts import (
    Planned,
    bind_again,
    history_since,
    may_match_filter,
    refuse_added_data_files,
    refuse_added_delete_files,
    refuse_new_deletes_for,
    refuse_removed_data_files,
)
from iceberg_spark.commits.manifest_filter import (
    Everything,
    Mask,
    MatchingRows,
    Partitions,
    Paths,
    Selection,
    check_all_removed,
    check_row_ids,
)
from iceberg_spark.commits.snapshot_change import FileChange, FileChanges, Removed
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.nodes import Bound, Unbound
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.data_file import DataFile, DataFileContent
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import Operation
from iceberg_spark.spec.summary import REPLACE_PARTITIONS


class OverwriteFiles:
    """Remove data files, by value or by a predicate that all of their rows match, and add others.

    These are a ValidationException: a file of `delete` that another commit removed, new deletes of
    a replaced file, and a data file with only some rows that match `row_filter` (the message names
    it). `planned` sets since when and how strictly conflicts are checked. `schema` is the schema
    that the names in filters refer to. Delete files go with the rows of `row_filter`; with
    `deletes_filter` also those of partitions that match it, whose data files `delete` must have,
    if new rows are a conflict. With `replaces_table`, the rows of an earlier definition
    were removed: the snapshot is an overwrite although this action removes no file.
    """

    def __init__(  # noqa: PLR0913 - what is replaced, what it was planned on, and how names are read
        self,
        add: Sequence[DataFile] = (),
        delete: Sequence[DataFile] = (),
        *,
        row_filter: Unbound | None = None,
        deletes_filter: Unbound | None = None,
        planned: Planned | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        time_zone: str | None = None,
        schema: Schema | None = None,
        replaces_table: bool = False,
    ) -> None:
        for file in (*add, *delete):
            if file.content is not DataFileContent.DATA:
                raise InvalidInputError(
                    f"An overwrite takes data files; {file.file_path} holds deletes"
                )
        self._add = tuple(add)
        self._delete = tuple(delete)
        self._row_filter = row_filter
        self._deletes_filter = None
        if planned is not None and planned.refuse_new_data and deletes_filter is not None:
            # Rows that another writer adds meanwhile would need the deletes committed for them.
            self._deletes_filter = deletes_filter
        self._planned = planned
        self._case_sensitive = case_sensitive
        self._time_zone = time_zone
        self._schema = schema
        self._if_none_removed = Operation.OVERWRITE if replaces_table else Operation.APPEND
        self._change = FileChange(branch, snapshot_properties)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Refuse rows and deletes committed since the plan that the change concerns."""
        planned = self._planned
        if planned is None:
            return
        head = self._change.producer.committed_head(base)
        history = history_since(base, io, head, planned.snapshot_id)
        about = self._row_filter if planned.row_filter is None else planned.row_filter
        may_match = may_match_filter(base, None if about is None else self._bind(base, about))
        if planned.refuse_new_data:
            refuse_added_data_files(history, may_match)
        if planned.refuse_new_deletes:
            refuse_added_delete_files(history, may_match)
            refuse_removed_data_files(history, may_match)
        refuse_new_deletes_for(history, self._delete)

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that replace the files on this base."""
        paths = Paths.of(self._delete)
        data: list[Selection] = [paths] if self._delete else []
        deletes: list[Selection] = []
        if self._row_filter is not None:
            rows = self._matching(base, self._row_filter)
            data.append(rows)
            deletes.append(rows)
        if self._deletes_filter is not None:
            # By statistics a delete file could match whose deleted rows are in files that stay,
            # because these have no live row that matches.
            deletes.append(self._matching(base, self._deletes_filter, partition_only=True))
        changes = FileChanges(
            added=self._add,
            data=data,
            deletes=deletes,
            operation=self._operation,
            check=lambda removed: self._check(paths, removed),
        )
        return self._change.prepare(base, io, changes)

    def _check(self, paths: Paths, removed: Removed) -> None:
        check_all_removed(paths, removed)
        if self._add:
            check_row_ids(self._delete, removed)

    def _operation(self, removed: Removed) -> Operation:
        if not removed:
            return self._if_none_removed
        return Operation.OVERWRITE if self._add else Operation.DELETE

    def _matching(
        self, base: TableMetadata, row_filter: Unbound, *, partition_only: bool = False
    ) -> MatchingRows:
        bound = self._bind(base, row_filter)
        return MatchingRows(base, bound, to_text(bound), partition_only)

    def _bind(self, base: TableMetadata, unbound: Unbound) -> Bound:
        return bind_again(
            base,
            unbound,
            self._schema,
            case_sensitive=self._case_sensitive,
            time_zone=self._time_zone,
        )

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._change.clean_up(io, committed)


class ReplacePartitions:
    """Dynamic partition overwrite: replace data and delete files of the new files' partitions.

    Files of other specs stay, unless the spec of the new files is unpartitioned. Then all files of
    the table are replaced. With `planned`, later commits to the replaced partitions are conflicts.
    """

    def __init__(
        self,
        files: Sequence[DataFile],
        *,
        planned: Planned | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
    ) -> None:
        self._files = tuple(files)
        for file in self._files:
            if file.content is not DataFileContent.DATA:
                raise InvalidInputError(
                    f"An overwrite takes data files; {file.file_path} holds deletes"
                )
        self._planned = planned
        self._change = FileChange(branch, snapshot_properties)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Refuse commits to the partitions since the change was planned."""
        planned = self._planned
        if planned is None:
            return
        selection = self._selection(base)

        def touched(manifest: ManifestFile, entries: pa.Table) -> Mask:
            if not selection.may_hold(manifest):
                return np.zeros(entries.num_rows, np.bool_)
            return selection.hits(manifest, entries)

        head = self._change.producer.committed_head(base)
        history = history_since(base, io, head, planned.snapshot_id)
        if planned.refuse_new_data:
            refuse_added_data_files(history, touched)
        if planned.refuse_new_deletes:
            refuse_added_delete_files(history, touched)
            refuse_removed_data_files(history, touched)

    def _selection(self, base: TableMetadata) -> Selection:
        specs = {file.partition_spec_id for file in self._files}
        if any(base.partition_specs[spec_id].is_unpartitioned for spec_id in specs):
            return Everything()
        return Partitions.of(base, self._files)

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that replace the partitions on this base."""
        selection = self._selection(base)
        changes = FileChanges(
            added=self._files,
            data=(selection,),
            deletes=(selection,),
            operation=lambda _: Operation.OVERWRITE,
            summary={REPLACE_PARTITIONS: "true"},
        )
        return self._change.prepare(base, io, changes)

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._change.clean_up(io, committed)
