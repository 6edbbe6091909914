"""Deleted positions of data files as bits in 64-bit words, loaded by the driver.

`find_files_with_deletes` bounds the positions and the bits that one frame may ask for; anything
larger is read by tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from iceberg_spark.io.allowed_places import stored_at
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.bounded_cache import process_cache
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spark.deletes.limits import POSITIONS
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
            (file.key, file.file_size_in_bytes, stored_at(io, file.file_path)) for file in files
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
