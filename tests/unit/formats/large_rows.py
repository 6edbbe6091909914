"""Rows of a megabyte for tests of memory."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROW_BYTES = 1024 * 1024
COLUMNS = pa.schema([("id", pa.int64()), ("c", pa.binary())])


def large_batches(rows: int) -> pa.RecordBatchReader:
    """Rows of a random megabyte, a batch each, made as they are asked for."""
    return pa.RecordBatchReader.from_batches(COLUMNS, _batches(rows))


def large_file(path: str, *, dictionary: bool, rows: int) -> None:
    """Write one row group, as a dictionary of two values or plain, a page for each row."""
    values = [bytes([at % 2]) * ROW_BYTES for at in range(2)] * (rows // 2)
    pq.write_table(
        pa.table([pa.array(range(rows), pa.int64()), pa.array(values)], schema=COLUMNS),
        path,
        compression="none",
        use_dictionary=["c"] if dictionary else False,
        dictionary_pagesize_limit=2**30,
        write_batch_size=1,
    )


def peak_megabytes() -> int:
    """The most memory that this process had: `getrusage` begins with what its parent had."""
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert peak is not None
    return int(peak[1]) // 1024


def _batches(rows: int) -> Iterator[pa.RecordBatch]:
    chance = np.random.default_rng(1)
    for at in range(rows):
        values = [pa.array([at], pa.int64()), pa.array([chance.bytes(ROW_BYTES)])]
        yield pa.record_batch(values, schema=COLUMNS)
