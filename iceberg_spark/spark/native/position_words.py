"""Deleted positions of data files as bits in 64-bit words, loaded by the driver.

`dirty_files` bounds the positions and the bits that one frame may ask for; anything larger is
read by tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.io.file_io import FileIO
from iceberg_spark.read.delete_cache import process_cache
from iceberg_spark.read.position_deletes import deleted_positions
from iceberg_spark.scan.task import FileScanTask
from iceberg_spark.spec.data_file import DataFileContent

READERS = 4
"""Threads that read delete files; decoding releases the GIL, stores take their time."""


def position_words(io: FileIO, tasks: Sequence[FileScanTask]) -> Any:
    """Return a list<int64> array: bit `p & 63` of word `p >> 6` says that row `p` is deleted.

    One list for each data file, as long as its last deleted position asks for. Raises
    CorruptFileError, NoSuchFileError or StorageError naming a delete file.
    """
    cache = process_cache()

    def load(task: FileScanTask) -> npt.NDArray[np.int64]:
        files = [f for f in task.delete_files if f.content is DataFileContent.POSITION_DELETES]
        return _words(deleted_positions(io, task.file_path, files, cache))

    with ThreadPoolExecutor(READERS, thread_name_prefix="position-deletes") as pool:
        parts = list(pool.map(load, tasks))
    offsets = np.zeros(len(parts) + 1, np.int32)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    words = np.concatenate([np.zeros(0, np.int64), *parts])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(words))


def _words(positions: npt.NDArray[np.int64] | None) -> npt.NDArray[np.int64]:
    if positions is None:
        return np.zeros(0, np.int64)
    return bit_words(positions, 0)


def bit_words(numbers: npt.NDArray[np.int64], first: int) -> npt.NDArray[np.int64]:
    """Return words in which the bit of each number, counted from `first`, is set.

    `numbers` are sorted and none is less than `first`.
    """
    bits = np.zeros((int(numbers[-1] - first) // 64 + 1) * 64, np.bool_)
    bits[numbers - first] = True
    words: npt.NDArray[np.int64] = np.packbits(bits, bitorder="little").view("<i8")
    return words
