"""What the driver reads of a group's deletes before Spark reads a row, and numbers of its files.

`find_files_with_deletes` bounds the positions and the bits that one frame may ask for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.deletes.files_with_deletes import DirtyFiles
from iceberg_spark.spark.deletes.limits import POSITIONS
from iceberg_spark.spark.deletes.position_bitmaps import Words, position_words

BITS, FIRST_WORD = "__iceberg_bits", "__iceberg_first_word"
"""How many of a file's rows have a bit that says whether they are deleted, and its first word."""
WORDS = "__iceberg_words"
FILE_NUMBER = "__iceberg_file_number"
FILE_SEQUENCE, FILE_SCOPE = "__iceberg_sequence", "__iceberg_scope"


@dataclass(frozen=True, slots=True, eq=False)
class LoadedDeletes:
    """Deletes of a group of files.

    `values` are numbers that each file has: columns that the relation needs. `words` are the bits
    of all files one after the other; where they are too many for a part of an expression, `lists`
    has those of each file, by FILE_NUMBER.
    """

    dirty: DirtyFiles
    values: Mapping[str, Any]
    words: Words | None = None
    lists: Any = None


def load_deletes(
    dirty: DirtyFiles, plan: ScanPlan, io: FileIO, *, padded: bool = False
) -> LoadedDeletes:
    """Read the positions of a group, and say what differs from file to file.

    With `padded` each file has as many bits as the others, where few bytes hold them: where a value
    of a file is an expression, that is one less. Raises CorruptFileError, NoSuchFileError or
    StorageError naming a delete file.
    """
    values: dict[str, Any] = {}
    files = plan.files.take(pa.array(dirty.rows))
    if any(deletes.by_sequence for deletes in dirty.equality):
        values[FILE_SEQUENCE] = files.column("data_sequence_number").combine_chunks()
    if any(deletes.by_scope for deletes in dirty.equality):
        values[FILE_SCOPE] = pa.array(dirty.scopes)
    if not dirty.has_positions:
        return LoadedDeletes(dirty, values)
    counts, parts = _bits(files, dirty, plan, io)
    most = int(counts.max())
    if padded and most * len(counts) * 8 <= POSITIONS.few_bytes:
        parts = [np.pad(part, (0, most - len(part))) for part in parts]
        counts = np.full(len(files), most)
    starts, joined = np.cumsum([0, *counts]), np.concatenate(parts)
    values[BITS] = pa.array(counts * 64)
    if joined.nbytes <= POSITIONS.few_bytes:
        values[FIRST_WORD] = pa.array(starts[:-1].astype(np.int32))
        return LoadedDeletes(dirty, values, words=joined)
    values[FILE_NUMBER] = pa.array(np.arange(len(files), dtype=np.int32))
    lists = pa.ListArray.from_arrays(pa.array(starts, pa.int32()), pa.array(joined))
    return LoadedDeletes(dirty, values, lists=lists)


def _bits(
    files: pa.Table, dirty: DirtyFiles, plan: ScanPlan, io: FileIO
) -> tuple[Words, list[Words]]:
    """Return the number of words of each file, and these; a file without deletes has none."""
    deleted = np.flatnonzero(pc.list_value_length(files.column("delete_rows")).to_numpy())
    words = position_words(io, plan.tasks_at(dirty.rows[deleted]))
    parts = [np.empty(0, np.int64)] * len(files)
    for index, part in zip(deleted.tolist(), words, strict=True):
        parts[index] = part
    return np.array([len(part) for part in parts], np.int64), parts
