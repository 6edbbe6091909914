"""Small tables of metadata and manifests on disk, commit by commit, without data files."""

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io.fsspec_io import FsspecIO
from iceberg_spark.manifest.manifest_list import read_manifest_list, write_manifest_list
from iceberg_spark.manifest.writer import write_manifest
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.properties import DATA_PLANNING_MODE, DELETE_PLANNING_MODE
from iceberg_spark.spec.snapshot import Snapshot, SnapshotLogEntry
from tests.builders import branch, metadata, scan_of, snapshot
from tests.unit.scan.entries import COLUMNS, table

IO = FsspecIO({})
Entries = Sequence[Mapping[str, Any]]


def new_table(folder: Path, partition_by: Sequence[str] = (), **rest: Any) -> TableMetadata:
    """An empty table of `entries.COLUMNS`."""
    return metadata(COLUMNS, partition_by, location=str(folder), **rest)


def with_spec(base: TableMetadata, spec: PartitionSpec) -> TableMetadata:
    """The table with one more spec, for `commit(..., spec_id=...)`."""
    return replace(base, partition_specs={**base.partition_specs, spec.spec_id: spec})


def commit(
    base: TableMetadata,
    *manifests: Entries,
    spec_id: int = 0,
    operation: str = "append",
    kept: bool = True,
    change: Mapping[str, Any] | None = None,
    format_version: int = 2,
) -> TableMetadata:
    """The table with one more snapshot on main, whose manifests hold the entries.

    Entries keep their own sequence numbers; `change` alters the manifest list's rows.
    """
    number = base.last_sequence_number + 1
    rows = list(_before(base)) if kept else []
    made = snapshot(
        number,
        number,
        parent_snapshot_id=base.current_snapshot_id,
        manifest_list=f"{base.location}/snap-{number}.avro",
        summary={"operation": operation},
        schema_id=base.current_schema_id,
    )
    rows += [
        replace(_manifest(base, made, at, spec_id, entries, format_version), **(change or {}))
        for at, entries in enumerate(manifests)
    ]
    write_manifest_list(IO, str(made.manifest_list), made, rows, format_version=2)
    return replace(
        base,
        snapshots={**base.snapshots, number: made},
        current_snapshot_id=number,
        last_sequence_number=number,
        refs={**base.refs, "main": branch(number)},
        snapshot_log=(*base.snapshot_log, SnapshotLogEntry(number, made.timestamp_ms)),
    )


def without(base: TableMetadata, name: str) -> TableMetadata:
    """The table whose newest snapshot does not list a manifest."""
    head = base.snapshots[base.last_sequence_number]
    rows = [row for row in _before(base) if not row.manifest_path.endswith(name)]
    path = f"{head.manifest_list}.without"
    write_manifest_list(IO, path, head, rows, format_version=2)
    changed = replace(head, manifest_list=path)
    return replace(base, snapshots={**base.snapshots, head.snapshot_id: changed})


def _before(base: TableMetadata) -> Sequence[ManifestFile]:
    head = base.current_snapshot
    return () if head is None else read_manifest_list(IO, head, base)


def _manifest(
    base: TableMetadata, made: Snapshot, at: int, spec_id: int, entries: Entries, version: int
) -> ManifestFile:
    deletes = any(entry["content"] for entry in entries)
    spec = base.partition_specs[spec_id]
    return write_manifest(
        IO,
        f"{base.location}/{made.snapshot_id}-{spec_id}-{at}.avro",
        format_version=version,
        spec=spec,
        schema=base.schema,
        content=ManifestContent.DELETES if deletes else ManifestContent.DATA,
        snapshot_id=made.snapshot_id,
        entries=table(*entries, spec=spec, columns=base.schema),
    )


PLANNING_MODES = (DATA_PLANNING_MODE, DELETE_PLANNING_MODE)


@dataclass(frozen=True)
class PickledTasks:
    """Tasks of this process that get their work pickled, and return it pickled."""

    modes: Mapping[str, str] = field(default_factory=dict)
    parallelism: int = 200
    can_run: bool = True
    jobs: list[list[str]] = field(default_factory=list)

    def mode(self, table_property: str) -> str | None:
        return self.modes.get(table_property)

    def run(self, work: Callable[[Any], Any], jobs: Sequence[Any]) -> Iterator[Any]:
        if not self.can_run:
            raise UnsupportedError("executors lack the library")
        self.jobs.extend([Path(item.manifest_path).name for item in job] for job in jobs)
        results = [_copied(_copied(work)(_copied(job))) for job in jobs]
        return iter(results)


def _copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def planned(base: TableMetadata, row_filter: str | None = None, **rest: Any) -> ScanPlan:
    """The plan of a scan of the table."""
    return plan(base, IO, scan_of(base, row_filter=row_filter, **rest))


def paths(found: ScanPlan) -> list[str]:
    """The planned data files."""
    return [task.file_path for task in found]
