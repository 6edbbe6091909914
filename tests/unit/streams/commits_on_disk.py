"""Commits of plain lists as a table of metadata and manifests, without data files."""

from pathlib import Path
from typing import Any

from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.streams.history import branch_history
from iceberg_spark.streams.table_watch import TableSeen
from tests.builders import scan_of
from tests.unit.scan.entries import data
from tests.unit.scan.tables import IO, commit, new_table
from tests.unit.streams.java_planner import ADDED, Commits


def table_of(folder: Path, commits: Commits) -> TableMetadata:
    """The table after the commits: snapshots 1, 2, ..."""
    base = new_table(folder)
    for number, made in enumerate(commits, start=1):
        manifests = [
            [
                data(
                    entry.path,
                    number if entry.status == ADDED else 1,
                    status=entry.status,
                    record_count=entry.rows,
                    snapshot_id=number if entry.status == ADDED else 1,
                )
                for entry in manifest
            ]
            for manifest in made.manifests
        ]
        base = commit(base, *manifests, operation=made.operation)
    return base


def seen(metadata: TableMetadata, branch: str | None = None, **asked: Any) -> TableSeen:
    """The table as a stream sees it."""
    return TableSeen(branch_history(metadata, IO, branch), scan_of(metadata, **asked))
