"""Which files only expired snapshots reach: a set difference over manifests, on columns.

Source: Java's ReachableFileCleanup. A file is identified by its key (`io/places`), whatever
spelling metadata uses and whichever manifest lists it now. So counts and sequence numbers are not
used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat, from_numpy, to_numpy
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.owned import POINTERS, OwnedFolders
from iceberg_spark.errors import NoSuchFileError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.limits import limits_of
from iceberg_spark.io.location import is_local
from iceberg_spark.io.places import Places
from iceberg_spark.maintenance.file_keys import used_keys
from iceberg_spark.maintenance.limits import EXPIRING
from iceberg_spark.manifest.manifest_list import read_manifest_list_columns, read_manifest_lists
from iceberg_spark.manifest.reader import FILES
from iceberg_spark.manifest.reader import live_files as decoded
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import Snapshot

Table: TypeAlias = Any  # pyarrow ships no types

MANIFESTS = pa.schema(
    [
        ("manifest_path", pa.string()),
        ("manifest_length", pa.int64()),
        ("added_files_count", pa.int32()),
        ("existing_files_count", pa.int32()),
    ]
)
"""The columns that are kept of each manifest."""
KEY = "key"


@dataclass(frozen=True, slots=True)
class Manifests:
    """Distinct manifests (tables of MANIFESTS): those of expired snapshots only, and those kept.

    `others` (FILES) are files of other kinds to delete, unless a manifest has them as data files.
    """

    unreachable: Table
    remaining: Table
    others: Table = field(default_factory=FILES.empty_table)

    @property
    def most_files(self) -> int:
        """The maximum number of live files in the unreachable manifests."""
        return _most_files(self.unreachable)

    @property
    def most_live_files(self) -> int:
        """The maximum number of live files in the kept manifests."""
        return _most_files(self.remaining)


def _most_files(manifests: Table) -> int:
    counts = (manifests.column(name) for name in MANIFESTS.names[2:])
    return sum(pc.sum(pc.fill_null(count, 0)).as_py() or 0 for count in counts)


def manifests_of(
    io: FileIO, expired: Sequence[Snapshot], before: TableMetadata, after: TableMetadata
) -> Manifests:
    """Return the manifests that only the expired snapshots list, and those of the kept ones.

    Memory: a row of about 200 bytes for each distinct manifest. A missing manifest list of an
    expired snapshot is left out; one of a kept snapshot is a NoSuchFileError.
    """
    gone = _distinct(_lists(io, expired, before, missing_is_fine=True))
    remaining = _distinct(_lists(io, tuple(after.snapshots.values()), after, missing_is_fine=False))
    listed = pc.is_in(
        gone.column("manifest_path"), value_set=concat(remaining.column("manifest_path"))
    )
    return Manifests(gone.filter(pc.invert(listed)), remaining)


def unreachable_files(io: FileIO, manifests: Manifests) -> Table:
    """Return the live files (FILES, each once) that are live in no kept manifest.

    Includes `manifests.others` that no kept manifest has. Memory: the paths of the unreachable
    manifests' live files (about 200 bytes each), and a million paths of kept ones at a time.
    """
    places = Places()
    tables = chain([manifests.others], live_files(io, manifests.unreachable))
    candidates = pa.concat_tables([with_keys(table.cast(FILES), places) for table in tables])
    candidates = _first_of_each(candidates, KEY)
    for batch in _portions(live_files(io, manifests.remaining) if candidates.num_rows else ()):
        stay = pc.invert(pc.is_in(candidates.column(KEY), value_set=used_keys(batch, places)))
        candidates = candidates.filter(stay)
        if not candidates.num_rows:
            break
    return candidates.select(FILES.names)


def with_keys(files: Table, places: Places) -> Table:
    """Return files (FILES) with a column KEY, which identifies them."""
    chunks = [used_keys(chunk, places) for chunk in files.column("file_path").chunks]
    return files.append_column(KEY, pa.chunked_array(chunks, pa.string()))


def live_files(io: FileIO, manifests: Table) -> Iterator[Table]:
    """Yield the live files of manifests as tables of FILES, several manifests at a time."""
    paths: list[str] = []
    size = 0
    for row in manifests.to_pylist():  # one row a manifest
        if not _may_have_live_files(row):
            continue
        paths.append(row["manifest_path"])
        size += row["manifest_length"]
        if len(paths) >= EXPIRING.manifests_at_once or size >= EXPIRING.manifest_bytes_at_once:
            yield from decoded(_contents(io, paths))
            paths, size = [], 0
    if paths:
        yield from decoded(_contents(io, paths))


def statistics_paths(metadata: TableMetadata) -> frozenset[str]:
    """Return the paths of the table's statistics and partition statistics files."""
    files = (*metadata.statistics, *metadata.partition_statistics)
    return frozenset(str(file["statistics-path"]) for file in files)


def _may_have_live_files(row: dict[str, Any]) -> bool:
    return not row["added_files_count"] == row["existing_files_count"] == 0


def _lists(
    io: FileIO, snapshots: Sequence[Snapshot], metadata: TableMetadata, *, missing_is_fine: bool
) -> Iterator[Table]:
    """Yield the distinct manifests of several snapshots at a time."""
    for start in range(0, len(snapshots), EXPIRING.manifests_at_once):
        some = snapshots[start : start + EXPIRING.manifests_at_once]
        inline = [
            snapshot for snapshot in some if snapshot.manifest_list is None
        ]  # format version 1
        paths = [snapshot.manifest_list for snapshot in some if snapshot.manifest_list is not None]
        contents = _contents(io, paths, missing_is_fine=missing_is_fine)
        yield _distinct(
            [
                *read_manifest_lists(contents, MANIFESTS.names, limits_of(io.properties)),
                *(
                    read_manifest_list_columns(io, snapshot, metadata, MANIFESTS.names)
                    for snapshot in inline
                ),
            ]
        )


def _contents(
    io: FileIO, paths: Sequence[str], *, missing_is_fine: bool = False
) -> Iterator[tuple[str, bytes]]:
    """Yield locations and contents of files, read by several threads: stores are slow."""

    def read(path: str) -> bytes | None:
        try:
            return io.read_bytes(path)
        except NoSuchFileError:
            if missing_is_fine:
                return None
            raise

    if all(map(is_local, paths)):
        contents: Iterable[bytes | None] = map(read, paths)
    else:
        with ThreadPoolExecutor(EXPIRING.threads) as pool:
            contents = list(pool.map(read, paths))
    for path, data in zip(paths, contents, strict=True):
        if data is not None:
            yield path, data


def _distinct(tables: Iterable[Table]) -> Table:
    every = pa.concat_tables(
        [MANIFESTS.empty_table(), *(table.cast(MANIFESTS) for table in tables)]
    )
    return _first_of_each(every, "manifest_path")


def _first_of_each(table: Table, key: str) -> Table:
    """Return the first row of each value of a text column, in order."""
    encoded = table.column(key).dictionary_encode().combine_chunks()
    count = len(encoded.dictionary)
    if count == table.num_rows:  # mostly: a manifest lists each file once
        return table
    first = np.empty(count, np.int64)
    first[to_numpy(encoded.indices)[::-1]] = np.arange(table.num_rows)[::-1]
    return table.take(from_numpy(first))


def _portions(tables: Iterable[Table]) -> Iterator[Any]:
    """Yield paths, about a million at a time: each lookup builds its set again."""
    held: list[Any] = []
    count = 0
    for table in tables:
        held += table.column("file_path").chunks
        count += table.num_rows
        if count >= EXPIRING.paths_at_once:
            yield pa.concat_arrays(held)
            held, count = [], 0
    if count:
        yield pa.concat_arrays(held)


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
