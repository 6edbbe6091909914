"""The files below a table's folder by age, and the parts of it that belong to others.

Source of the hidden files: Java's HiddenPathFilter and PartitionAwareHiddenPathFilter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.catalog.metadata_file import METADATA_FOLDER
from iceberg_spark.catalog.owned import POINTERS, STAGING
from iceberg_spark.errors import InvalidInputError, ValidationException
from iceberg_spark.io.file_io import FileInfo, FileIO
from iceberg_spark.io.places import Places
from iceberg_spark.maintenance.limits import ORPHANS
from iceberg_spark.spec.metadata import TableMetadata

Table: TypeAlias = Any  # pyarrow ships no types
Column: TypeAlias = Any

LISTED = pa.schema([("file_path", pa.string()), ("last_modified", pa.timestamp("ms"))])
"""A file in a store: its location and its modification time (UTC)."""

_OTHER_FORMATS = re.compile(r"^(?:|.*/)(_delta_log|\.hoodie)/")
_PROGRESS = re.compile(r"^(|.*/)(?:offsets|commits)/\d+$")
_CHECKPOINT = ("offsets", "commits", "state", "sources", "metadata")
_MARKS = r"(?:^|/)(?:_delta_log|\.hoodie)/|(?:^|/)(?:offsets|commits)/\d+$"


@dataclass(frozen=True, slots=True)
class Listing:
    """Files that are old enough and not hidden, and the pointers (metadata files, hints) there.

    `areas` are folders of others below the listed one, by their paths in it: tables, tables of
    other formats, checkpoints of streams.
    """

    files: Column
    pointers: Column
    areas: frozenset[str]


def listed_files(
    io: FileIO,
    folder: str,
    metadata: TableMetadata,
    older_than_ms: int,
    own: frozenset[str],
    is_in_use: Callable[[Column], Column] | None = None,
) -> Listing:
    """List a folder. `own` are the folders, by their paths in it, whose pointers are the table's.

    Files for which `is_in_use` returns true are left out. Memory: about 150 bytes for each other
    file that is old enough.

    Raises:
        ValidationException: a table of another format shares the folder.
        StorageError: the store fails.
    """
    root = folder.rstrip("/") + "/"
    hidden = _hidden(metadata)
    candidates: list[Table] = [LISTED.empty_table()]
    pointers: list[Any] = [pa.array([], pa.string())]
    marks: list[str] = []
    limit = pa.scalar(older_than_ms, pa.timestamp("ms"))
    for portion in _portions(io.list(folder)):
        below = pc.utf8_slice_codeunits(portion.column(0), len(root))
        marks += below.filter(pc.match_substring_regex(below, _MARKS)).to_pylist()
        named = portion.column(0).filter(pc.match_substring_regex(below, POINTERS))
        pointers += named.chunks
        old = pc.less(portion.column(1), limit)
        old_files = portion.filter(pc.and_(old, pc.invert(hidden(below))))
        if is_in_use is not None and old_files.num_rows:
            in_use = is_in_use(concat(old_files.column(0)))
            old_files = old_files.filter(pc.invert(in_use))
        candidates.append(old_files)
    every = pa.chunked_array(pointers).combine_chunks()
    areas = _areas(pc.utf8_slice_codeunits(every, len(root)).to_pylist(), own)
    return Listing(pa.concat_tables(candidates), every, areas | _marked(marks, folder))


def outside(files: Table, folder: str, areas: Iterable[str]) -> Table:
    """Return the files that are in none of these parts of a folder."""
    root = folder.rstrip("/") + "/"
    for area in sorted(areas):
        paths, area_path = files.column(0), f"{root}{area}"
        inside = pc.or_(pc.equal(paths, area_path), pc.starts_with(paths, f"{area_path}/"))
        files = files.filter(pc.invert(inside))
    return files


def given_files(
    listed: Table, folder: str, metadata: TableMetadata, older_than_ms: int, own: frozenset[str]
) -> Table:
    """Return the files of a list (LISTED) that a listing of a folder would return.

    These are old enough, not hidden, and in no part of the folder that belongs to others; `own` is
    as in `listed_files`. Raises InvalidInputError for other columns, ValidationException.
    """
    kind = _kind_of_times(listed)
    limit = pa.scalar(older_than_ms, kind)
    paths = listed.column("file_path").cast(pa.string())
    times = pc.cast(listed.column("last_modified"), kind, safe=False)
    inner = _inner_paths(paths, folder)
    inside = pc.is_valid(inner)
    paths, times, inner = (column.filter(inside) for column in (paths, times, inner))
    pointers = inner.filter(pc.match_substring_regex(inner, POINTERS)).to_pylist()
    marks = inner.filter(pc.match_substring_regex(inner, _MARKS)).to_pylist()
    keep = pc.fill_null(pc.less(times, limit), False)
    keep = pc.and_(keep, pc.invert(_hidden(metadata)(inner)))
    for area in _areas(pointers, own) | _marked(marks, folder):
        there = pc.or_(pc.equal(inner, area), pc.starts_with(inner, f"{area}/"))
        keep = pc.and_(keep, pc.invert(there))
    selected = paths.filter(keep)
    return pa.table([selected, pa.nulls(len(selected), LISTED.field(1).type)], schema=LISTED)


def _kind_of_times(listed: Table) -> Any:
    """Return the type for comparing the times of a list of files. Raises InvalidInputError."""
    missing = [name for name in LISTED.names if name not in listed.column_names]
    if missing:
        raise InvalidInputError(
            f"A list of files needs the columns file_path (text) and last_modified (timestamp); "
            f"it lacks {', '.join(missing)}"
        )
    kind = listed.column("last_modified").type
    if not pa.types.is_timestamp(kind):
        raise InvalidInputError(f"Column last_modified is {kind}, not a timestamp")
    return pa.timestamp("ms", kind.tz)


def _inner_paths(paths: Column, folder: str) -> Column:
    """Return files by their paths in a folder, null for files outside of it."""
    places = Places()
    folders = pc.replace_substring_regex(paths, "(?s)/[^/]*$", "").combine_chunks()
    encoded = folders.dictionary_encode()
    relative = [
        below(folder, other_folder, places) for other_folder in encoded.dictionary.to_pylist()
    ]
    starts = [
        None if other_folder is None else other_folder and f"{other_folder}/"
        for other_folder in relative
    ]
    names = pc.replace_substring_regex(paths, "(?s)^.*/", "").combine_chunks()
    return pc.binary_join_element_wise(
        pa.array(starts, pa.string()).take(encoded.indices), names, ""
    )


def _portions(infos: Iterator[FileInfo]) -> Iterator[Table]:
    while portion := list(islice(infos, ORPHANS.listed_at_once)):
        paths = pa.array([info.path for info in portion], pa.string())
        times = pa.array([info.modified_ms for info in portion], pa.int64())
        yield pa.table([paths, times.cast(LISTED.field(1).type)], schema=LISTED)


def _hidden(metadata: TableMetadata) -> Any:
    """Return the test for hidden files: names of partitions may begin like hidden folders."""
    names = {field.name for spec in metadata.partition_specs.values() for field in spec.fields}
    odd = "|".join(re.escape(name) for name in sorted(names) if name[:1] in ("_", "."))

    def test(below: Column) -> Column:
        shown = pc.replace_substring_regex(below, f"(^|/)(?:{odd})=", r"\1x=") if odd else below
        return pc.match_substring_regex(shown, r"(?:^|/)[_.]")

    return test


def _areas(pointers: Iterable[str], own: frozenset[str]) -> frozenset[str]:
    """Return the folders of other tables, by their pointers; staged metadata is the table's."""
    areas = set()
    staged = tuple(f"{own_folder}/{STAGING}" if own_folder else STAGING for own_folder in own)
    for path in pointers:
        folder = path.rpartition("/")[0]
        if folder in own or folder.startswith(staged):
            continue
        above, _, last = folder.rpartition("/")
        areas.add(above if last == METADATA_FOLDER else folder)
    return frozenset(areas)


def _marked(marks: Iterable[str], folder: str) -> frozenset[str]:
    """Return the folders of other formats' tables and of streams' checkpoints."""
    areas = set()
    for path in marks:
        other = _OTHER_FORMATS.match(path)
        progress = _PROGRESS.match(path)
        if other and not other.start(1):
            raise ValidationException(
                f"Can't tell which files below {folder} are orphans: a table of another format "
                f"({other[1]}) is there as well; nothing was deleted. Remove that table, or give "
                "`location` a folder that it does not use"
            )
        if other:
            areas.add(path[: other.start(1)].rstrip("/"))
        if progress:
            areas.update(f"{progress[1]}{part}" for part in _CHECKPOINT)
    return frozenset(areas)


def below(folder: str, path: str, places: Places) -> str | None:
    """Return a path relative to a folder, None if it is outside."""
    root, target = places.folder(folder), places.folder(path)
    if target == root:
        return ""
    return target.removeprefix(f"{root}/") if target.startswith(f"{root}/") else None
