"""Polars, with its planner from the package polars-iceberg."""

from collections.abc import Iterator
from contextlib import contextmanager

import polars as pl
import pyarrow as pa

from scripts.engine_matrix.worker import Read


@contextmanager
def open_reader(folder: str) -> Iterator[Read]:  # noqa: ARG001 - one signature for all readers
    """Yield a function from a metadata file to the table's rows."""
    yield read


def read(metadata: str) -> pa.Table:
    """Read the current rows."""
    return pl.scan_iceberg(metadata).collect().to_arrow()
