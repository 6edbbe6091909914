"""Positions packed by the task that found them, so that one row for each file is shuffled.

A path of a hundred characters next to each position would be most of the shuffled bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.spark.adapt.task_payload import Payload
from iceberg_spark.spark.row_level.limits import ROW_LEVEL
from iceberg_spark.spark.session.in_worker import in_worker

PACKED = "number int, file string, rows binary"
"""What comes of packing: the number of the file's group, its path, and its rows' other columns."""
_OPTIONS = pa.ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True, slots=True)
class PackTask:
    """The function of every task. The first column is the path."""

    numbers: Payload[Mapping[str, int]]

    @in_worker
    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield packed rows. Raises KeyError for a file that is not a target."""
        numbers = self.numbers.opened()
        held: list[pa.RecordBatch] = []
        count = 0
        for batch in batches:
            if not batch.num_rows:
                continue
            path = pc.dictionary_encode(batch.column(0))
            held.append(batch.set_column(0, batch.schema.names[0], path))
            count += batch.num_rows
            if count >= ROW_LEVEL.held_rows:
                yield _packed(held, numbers)
                held, count = [], 0
        if held:
            yield _packed(held, numbers)


def _packed(batches: list[pa.RecordBatch], numbers: Mapping[str, int]) -> pa.RecordBatch:
    table = pa.Table.from_batches(batches).unify_dictionaries().combine_chunks()
    paths: Any = table.column(0).chunk(0)
    codes = paths.indices.to_numpy()
    rows = table.drop_columns(table.column_names[:1])
    if np.any(codes[1:] < codes[:-1]):
        order = np.argsort(codes, kind="stable")
        rows, codes = rows.take(pa.array(order)), codes[order]
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    ends = np.r_[starts[1:], len(codes)]
    names = [paths.dictionary[code].as_py() for code in codes[starts].tolist()]
    parts = [
        _bytes(rows.slice(start, end - start))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]
    return pa.record_batch(
        [
            pa.array([numbers[name] for name in names], pa.int32()),
            pa.array(names, pa.string()),
            pa.array(parts, pa.binary()),
        ],
        names=["number", "file", "rows"],
    )


def _bytes(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_OPTIONS) as stream:
        stream.write_table(rows)
    stream_bytes: bytes = sink.getvalue().to_pybytes()
    return stream_bytes


def unpacked(data: pa.Buffer) -> pa.Table:
    """Return packed rows."""
    return pa.ipc.open_stream(data).read_all()
