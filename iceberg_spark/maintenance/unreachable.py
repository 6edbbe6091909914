"""Files that an expiry leaves behind, and which of them the table may delete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.owned import POINTERS, OwnedFolders
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.places import Places
from iceberg_spark.maintenance.file_keys import used_keys
from iceberg_spark.maintenance.reachable import Manifests, manifests_of, statistics_paths
from iceberg_spark.manifest.reader import FILES
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Snapshot

Table: TypeAlias = Any  # pyarrow ships no types
Column: TypeAlias = Any
FindFiles: TypeAlias = Callable[[FileIO, Manifests], Iterable[Table]]
"""Maps manifests to the files (tables of FILES) that only the unreachable ones have."""

LEFT_FILES = pa.schema(
    [FILES.field(index).with_name(name) for index, name in enumerate(("file_path", "kind"))]
)
"""The columns of found files: location and kind (`FileKind`)."""


class FileKind(IntEnum):
    """Kinds of files in the order of deletion; the first three are `DataFileContent`."""

    DATA = 0
    POSITION_DELETES = 1
    EQUALITY_DELETES = 2
    MANIFEST = 3
    MANIFEST_LIST = 4
    STATISTICS = 5


@dataclass(frozen=True, slots=True)
class LeftFiles:
    """Files that no snapshot reaches: the table's own, and those outside its folders."""

    own: Table
    outside: Table


def left_behind(
    io: FileIO, before: TableMetadata, after: LoadedTable, find: FindFiles
) -> Iterator[LeftFiles]:
    """Yield the files that `before` reached and `after` does not, files before what refers to them.

    So an interrupted deletion can be continued. Files that the table has under any spelling and as
    any kind of file stay, and so do metadata files.
    """
    gone = [
        snapshot
        for number, snapshot in before.snapshots.items()
        if number not in after.metadata.snapshots
    ]
    if not gone:
        return
    manifests = manifests_of(io, gone, before, after.metadata)
    parting = _Parting(io, after, _used(after, manifests))
    named = _named(gone, before, manifests)
    usual = parting.owned.metadata_mask(_paths(named))
    manifests = replace(manifests, others=_as(named.filter(pc.invert(usual)), FILES))
    if manifests.unreachable.num_rows or manifests.others.num_rows:
        for files in find(io, manifests):
            yield parting.parted(_as(files, LEFT_FILES))
    yield parting.parted(named.filter(usual))


class _Parting:
    """Separates the table's own files from others."""

    __slots__ = ("_places", "_used", "owned")

    def __init__(self, io: FileIO, table: LoadedTable, used: Column) -> None:
        self._places = Places()
        self._used = used_keys(used, self._places)
        self.owned = OwnedFolders(io, table)

    def parted(self, files: Table) -> LeftFiles:
        """Leave out files in other use; separate the table's own from the others."""
        paths = _paths(files)
        used = pc.is_in(used_keys(paths, self._places), value_set=self._used)
        stay = pc.or_(used, pc.match_substring_regex(paths, POINTERS))
        files = files.filter(pc.invert(stay))
        own = self.owned.mask(_paths(files))
        return LeftFiles(files.filter(own), files.filter(pc.invert(own)))


def _named(gone: Sequence[Snapshot], before: TableMetadata, manifests: Manifests) -> Table:
    """Return the files to delete apart from data and delete files, in other use or not."""
    lists = {snapshot.manifest_list for snapshot in gone if snapshot.manifest_list}
    return pa.concat_tables(
        [
            _of_kind(FileKind.MANIFEST, manifests.unreachable.column("manifest_path").to_pylist()),
            _of_kind(FileKind.MANIFEST_LIST, sorted(lists)),
            _of_kind(FileKind.STATISTICS, sorted(statistics_paths(before))),
        ]
    )


def _used(after: LoadedTable, manifests: Manifests) -> Column:
    """Return the locations of all files of the table except data and delete files."""
    metadata = after.metadata
    lists = [
        snapshot.manifest_list for snapshot in metadata.snapshots.values() if snapshot.manifest_list
    ]
    log = [entry.metadata_file for entry in metadata.metadata_log]
    others = [*lists, *statistics_paths(metadata), *log, after.metadata_location]
    remaining = manifests.remaining.column("manifest_path").to_pylist()
    return pa.array([*remaining, *others], pa.string())


def _of_kind(kind: FileKind, paths: list[str]) -> Table:
    kinds = pa.repeat(pa.scalar(int(kind), pa.int32()), len(paths))
    return pa.table([pa.array(paths, pa.string()), kinds], schema=LEFT_FILES)


def _as(files: Table, schema: Any) -> Table:
    return files.rename_columns(schema.names).cast(schema)


def _paths(files: Table) -> Column:
    return files.column(0).combine_chunks()
