"""Daft, which plans with PyIceberg."""

from collections.abc import Iterator
from contextlib import contextmanager

import daft
import pyarrow as pa
from pyiceberg.table import StaticTable

from scripts.engine_matrix.worker import Read


@contextmanager
def open_reader(folder: str) -> Iterator[Read]:  # noqa: ARG001 - one signature for all readers
    """Yield a function from a metadata file to the table's rows."""
    yield read


def read(metadata: str) -> pa.Table:
    """Read the current rows."""
    return daft.read_iceberg(StaticTable.from_metadata(metadata)).to_arrow()
