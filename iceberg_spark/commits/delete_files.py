"""Remove data files by path, or by a predicate that all of their rows match (Java: DeleteFiles)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.manifest_filter import MatchingRows, Paths, Selection, check_all_removed
from iceberg_spark.commits.snapshot_change import FileChange, FileChanges
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Operation


class DeleteFiles:
    """Remove whole data files.

    A path that is not in the table is a ValidationException. A predicate applies to any base; if it
    matches no file, nothing is committed. If only some rows of a file match it, the action raises
    ValidationException, which names the file.
    """

    def __init__(
        self,
        paths: Iterable[str] = (),
        *,
        row_filter: Unbound | None = None,
        branch: str | None = None,
        snapshot_properties: Mapping[str, str] | None = None,
        case_sensitive: bool = True,
        time_zone: str | None = None,
    ) -> None:
        self._paths = Paths(frozenset(paths))
        self._row_filter = row_filter
        self._case_sensitive = case_sensitive
        self._time_zone = time_zone
        self._change = FileChange(branch, snapshot_properties)

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: `prepare` finds whether the files still exist."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that remove the files from this base."""
        data: list[Selection] = [self._paths] if self._paths.names else []
        deletes: list[Selection] = []
        if self._row_filter is not None:
            bound = bind(
                base.schema,
                self._row_filter,
                case_sensitive=self._case_sensitive,
                time_zone=self._time_zone,
            )
            rows = MatchingRows(base, bound, to_text(bound))
            data.append(rows)
            deletes.append(rows)
        changes = FileChanges(
            added=(),
            data=data,
            deletes=deletes,
            operation=lambda _: Operation.DELETE,
            check=lambda removed: check_all_removed(self._paths, removed),
        )
        return self._change.prepare(base, io, changes)

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove manifests and manifest lists that the committed snapshot does not use."""
        self._change.clean_up(io, committed)
