"""iceberg_spark, with its Arrow engine."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

import iceberg_spark as ice
from scripts.engine_matrix.worker import Read


@contextmanager
def open_reader(folder: str) -> Iterator[Read]:  # noqa: ARG001 - one signature for all readers
    """Yield a function from a metadata file to the table's rows."""
    yield read


def read(metadata: str) -> pa.Table:
    """Read the current rows."""
    return ice.load_table(metadata).scan().to_arrow()
