"""Which files no metadata of a table refers to: a difference of columns, in portions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow import polars_threads
from iceberg_spark.arrow.arrays import concat, from_numpy
from iceberg_spark.arrow.row_hashes import Words, hash_rows, polars_frame
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.versions import hint_path
from iceberg_spark.errors import ValidationException
from iceberg_spark.maintenance.file_keys import (
    KEYS,
    Equal,
    FileKeys,
    fold_paths,
    is_same_store,
    may_be_same_file,
)
from iceberg_spark.maintenance.limits import EXPIRING, ORPHANS
from iceberg_spark.maintenance.reachable import live_files, manifests_of, statistics_paths

Table: TypeAlias = Any  # pyarrow ships no types
Column: TypeAlias = Any

CANDIDATES = KEYS.append(pa.field("named_store", pa.string()))
"""A file, its keys, and the other store under which metadata has its path, if any."""

_SHOWN = 5


class PrefixMismatch(StrEnum):
    """What to do with a file that metadata has under another scheme or authority."""

    ERROR = "ERROR"
    IGNORE = "IGNORE"
    DELETE = "DELETE"


def candidates(paths: Column, equal: Equal) -> Table:
    """Return locations as CANDIDATES without a known match."""
    keyed = FileKeys(equal).table(paths)
    return keyed.append_column(CANDIDATES.field("named_store"), pa.nulls(len(paths), pa.string()))


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """The locations that a table's metadata has, as sorted hashes of 8 bytes.

    They leave files in use out of a listing. The hash of an orphan is that of a file in use with a
    probability of one in a trillion: the orphan stays then.
    """

    hashes: Words
    keys: FileKeys

    @classmethod
    def of_large_table(cls, table: LoadedTable, equal: Equal) -> NamedFiles | None:
        """Return the locations of a table of ORPHANS.hashed_from_files files, else None.

        Raises StorageError and CorruptFileError if metadata cannot be read.
        """
        metadata = table.metadata
        manifests = manifests_of(table.io, (), metadata, metadata)
        if polars_threads.are_lost() or manifests.most_live_files < ORPHANS.hashed_from_files:
            return None
        return cls.of(_named(table, paths_at_once=ORPHANS.paths_at_once), FileKeys(equal))

    @classmethod
    def of(cls, locations: Iterable[Column], keys: FileKeys) -> NamedFiles:
        """Return some locations."""
        hashes = np.concatenate([_hashes(keys.table(paths)) for paths in locations])
        hashes.sort()
        return cls(hashes, keys)

    def has(self, paths: Column) -> Column:
        """Return which locations the metadata has, in the same store and spelling of the path."""
        hashes = _hashes(self.keys.table(paths))
        nearest = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        return from_numpy(self.hashes[nearest] == hashes)


def _hashes(keyed: Table) -> Words:
    return hash_rows(polars_frame([concat(_full_keys(keyed))]))


def unreferenced_files(
    table: LoadedTable, files: Table, equal: Equal, mismatch: PrefixMismatch
) -> Table:
    """Return the files (CANDIDATES) that no snapshot of a table refers to.

    A file that metadata has under another store is left out (IGNORE), returned (DELETE), or a
    ValidationException (ERROR). Raises StorageError and CorruptFileError if metadata cannot be
    read.
    """
    keys = FileKeys(equal)
    at_once = min(EXPIRING.paths_at_once, max(ORPHANS.paths_at_once, files.num_rows))
    for paths in _named(table, paths_at_once=at_once):
        if not files.num_rows:
            break
        files = _without(files, keys.table(paths))
    doubtful = pc.is_valid(files.column("named_store"))
    if mismatch is PrefixMismatch.DELETE or not pc.any(doubtful).as_py():
        return files
    if mismatch is PrefixMismatch.ERROR:
        raise _conflict(files.filter(doubtful))
    return files.filter(pc.invert(doubtful))


def _named(table: LoadedTable, *, paths_at_once: int) -> Iterator[Column]:
    """Yield the locations of all of a table's files, about so many at a time."""
    metadata, io = table.metadata, table.io
    lists = [
        snapshot.manifest_list for snapshot in metadata.snapshots.values() if snapshot.manifest_list
    ]
    log = [entry.metadata_file for entry in metadata.metadata_log]
    home = [hint_path(metadata.location), table.metadata_location]
    yield pa.array([*lists, *log, *home, *sorted(statistics_paths(metadata))], pa.string())
    manifests = manifests_of(io, (), metadata, metadata).remaining
    yield concat(manifests.column("manifest_path"))
    held: list[Column] = []
    for files in live_files(io, manifests):
        held += files.column("file_path").chunks
        if sum(map(len, held)) >= paths_at_once:
            yield pa.concat_arrays(held)
            held = []
    if held:
        yield pa.concat_arrays(held)


def _without(files: Table, named: Table) -> Table:
    """Leave out files in use, and record those that may be in use under another store.

    In the same store, percent signs and slashes may differ: such a file stays in use.
    """
    same = pc.is_in(_full_keys(files), value_set=_full_keys(named))
    files = files.filter(pc.invert(same))
    files = _note_matches(files, named, fold_paths, same_path=True)
    foreign = pc.invert(pc.is_in(named.column("store"), value_set=_stores(files)))
    if not files.num_rows or not pc.any(foreign).as_py():
        return files
    # Mount tables give one file other paths in other stores: `viewfs://a/t/f` is `hdfs://b/x/t/f`.
    return _note_matches(files, named.filter(foreign), _folder_and_name, same_path=False)


def _note_matches(
    files: Table, named: Table, key: Callable[[Column], Column], *, same_path: bool
) -> Table:
    """Compare files that share a key with a file in use: leave out, record, or neither."""
    file_keys, named_keys = concat(key(files.column("place"))), concat(key(named.column("place")))
    is_matched = pc.is_in(file_keys, value_set=named_keys)
    if not pc.any(is_matched).as_py():
        return files
    matched = file_keys.filter(is_matched)
    is_naming = pc.is_in(named_keys, value_set=matched)
    names = defaultdict(list)
    pairs = zip(
        named_keys.filter(is_naming).to_pylist(), named.filter(is_naming).to_pylist(), strict=True
    )
    for name_key, match in pairs:
        names[name_key].append(match)
    judged = [
        _judge(file, names[file_key], same_path=same_path)
        for file, file_key in zip(
            files.filter(is_matched).to_pylist(), matched.to_pylist(), strict=True
        )
    ]
    notes = pa.array([note for _, note in judged], pa.string())
    is_orphan = pa.array([is_orphan for is_orphan, _ in judged], pa.bool_())
    column = files.schema.get_field_index("named_store")
    noted = pc.replace_with_mask(concat(files.column(column)), is_matched, notes)
    everything = pa.repeat(pa.scalar(True), files.num_rows)
    files = files.set_column(column, files.schema.field(column), noted)
    return files.filter(pc.replace_with_mask(everything, is_matched, is_orphan))


def _judge(
    file: dict[str, Any], matches: list[dict[str, Any]], *, same_path: bool
) -> tuple[bool, str | None]:
    """Return whether a file is still an orphan, and the other store that may have it.

    One match in the same store keeps the file, whatever the other matches are.
    """
    noted = file["named_store"]
    for match in matches:
        if not is_same_store(match["store"], file["store"]):
            noted = match["store"]
        elif (
            not same_path
            or match["place"] == file["place"]
            or may_be_same_file(file["file_path"], match["file_path"])
        ):
            return False, noted
    return True, noted


def _folder_and_name(places: Column) -> Column:
    return pc.replace_substring_regex(places, r"(?s)^.*?([^/]*/[^/]*)$", r"\1")


def _stores(files: Table) -> Column:
    return concat(files.column("store")).unique()


def _full_keys(files: Table) -> Column:
    return pc.binary_join_element_wise(files.column("store"), files.column("place"), "")


def _conflict(files: Table) -> ValidationException:
    pairs = files.select(["named_store", "store"]).group_by(["named_store", "store"]).aggregate([])
    shown = [f"{pair['named_store']} and {pair['store']}" for pair in pairs.to_pylist()[:_SHOWN]]
    example = files.column("file_path")[0].as_py()
    return ValidationException(
        f"Can't tell whether {files.num_rows:,} files are orphans ({example}): metadata names the "
        f"same places under another scheme or authority ({'; '.join(shown)}); nothing was deleted. "
        "Say which are equal by equal_schemes and equal_authorities, or set prefix_mismatch_mode "
        "to IGNORE to keep such files, to DELETE only if they are surely different places"
    )
