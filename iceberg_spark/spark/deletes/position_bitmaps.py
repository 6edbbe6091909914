"""Deleted positions of data files as bits in 64-bit words, loaded by the driver.

`find_files_with_deletes` bounds the positions and the bits that one frame may ask for; anything
larger is read by tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.io.allowed_places import storage_server
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.read.process_cache import process_cache
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.deletes.limits import KEYS, POSITIONS
from iceberg_spark.spec.data_file import DataFileContent

Words: TypeAlias = npt.NDArray[np.int64]


def position_words(io: FileIO, tasks: Sequence[FileScanTask]) -> list[Words]:
    """Return words by data file: bit `p & 63` of word `p >> 6` says that row `p` is deleted.

    They are as many as a file's last deleted row asks for, and are kept: 500,000 positions
    take 9 ms, as long as the query's plan. Raises CorruptFileError,
    NoSuchFileError or StorageError naming a delete file.
    """
    cache = process_cache()

    def load(task: FileScanTask) -> Words:
        files = [f for f in task.delete_files if f.content is DataFileContent.POSITION_DELETES]
        names = tuple(
            (file.key, file.file_size_in_bytes, storage_server(io, file.file_path))
            for file in files
        )

        def read_words() -> tuple[Words, int]:
            deleted = deleted_positions(io, task, files, cache)
            words = deleted.below(task.record_count).range_words()
            return words, words.nbytes

        words: Words = cache.get_or_load(("position words", task.file_path, names), read_words)
        return words

    if len(tasks) == 1:
        return [load(tasks[0])]  # to start a thread takes longer than to read a short file
    with ThreadPoolExecutor(POSITIONS.readers, thread_name_prefix="position-deletes") as pool:
        return list(pool.map(load, tasks))


@dataclass(frozen=True, slots=True, eq=False)
class IntegerBits:
    """Bits of 64 times `first_word` and the integers after it; `has_null`: one value is NULL."""

    first_word: int
    words: Words
    has_null: bool


def integer_bits(column: Any) -> IntegerBits | None:
    """Return integers or dates as bits; None if too few of the bits would be set.

    `integer_bits(pa.array([64, 66]))` has `first_word` 1 and one word, 0b101.
    """
    has_null = column.null_count > 0
    column = column.drop_null() if has_null else column
    if not len(column):
        return None
    column = column.cast(pa.int32()) if pa.types.is_date(column.type) else column
    integers = column.to_numpy(zero_copy_only=False).astype(np.int64)
    first_word, last_word = int(integers.min()) >> 6, int(integers.max()) >> 6
    if 8 * (last_word - first_word) > KEYS.bitmap_bytes_per_key * len(integers) + 4096:
        return None
    words = PositionSet.from_positions(integers - (first_word << 6)).range_words()
    return IntegerBits(first_word, words, has_null)
