"""DuckDB, with its Iceberg extension from PyPI."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from scripts.engine_matrix.worker import Read
from tests.oracle.duckdb_reader import connect


@contextmanager
def open_reader(folder: str) -> Iterator[Read]:  # noqa: ARG001 - one signature for all readers
    """Yield a function from a metadata file to the table's rows."""
    with connect() as connection:

        def read(metadata: str) -> pa.Table:
            relation = connection.sql(f"SELECT * FROM iceberg_scan('{metadata}')")
            pairs = zip(relation.columns, relation.types, strict=True)
            columns = ", ".join(_expression(name, str(kind)) for name, kind in pairs)
            return relation.project(columns).to_arrow_table()

        yield read


def _expression(name: str, kind: str) -> str:
    """Return a column, a variant as JSON and a geometry as WKB."""
    if kind == "VARIANT":
        return f'CAST("{name}" AS JSON) AS "{name}"'
    if kind.startswith("GEOMETRY"):
        return f'ST_AsWKB("{name}") AS "{name}"'
    return f'"{name}"'
