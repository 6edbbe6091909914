"""A process that runs a query twice and prints the second run's seconds of CPU, and its rows.

    python -m benchmarks.plain_python_client CONTENDER QUERY METADATA_FILE

It runs in the environments of the engine matrix, which have neither PySpark nor this library.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

Read: TypeAlias = Callable[["Query", str], Any]
"""Returns the rows of a query on the table of a metadata file, as an Arrow table."""


@dataclass(frozen=True, slots=True)
class Query:
    """A table of the section, a filter as (column, operator, number), and columns (all: None)."""

    table: str
    where: tuple[str, str, int] | None = None
    columns: tuple[str, ...] | None = None

    @property
    def text(self) -> str:
        """The filter as SQL, "" without one."""
        return "" if self.where is None else " ".join(map(str, self.where))


QUERIES: Mapping[str, Query] = {
    "full": Query("clean"),
    "3 columns": Query("clean", columns=("id", "price", "name")),
    "v = 7, scattered": Query("clean", ("v", "=", 7)),
    "id < 100000, clustered": Query("clean", ("id", "<", 100_000)),
    "5% deleted by position": Query("position"),
    "200 files of 1,000 rows": Query("small"),
}


def by_pyarrow(query: Query, metadata: str) -> Any:
    """Read the files themselves, which have no deletes."""
    dataset = importlib.import_module("pyarrow.dataset")
    row_filter = None
    if query.where is not None:
        column, operator, number = query.where
        field = dataset.field(column)
        row_filter = field == number if operator == "=" else field < number
    files = json.loads(Path(metadata).with_name("files.json").read_text())
    columns = None if query.columns is None else list(query.columns)
    return dataset.dataset(files).to_table(columns=columns, filter=row_filter)


def by_ours(query: Query, metadata: str) -> Any:
    """Read by a scan."""
    ice = importlib.import_module("iceberg_spark")
    scan = ice.load_table(metadata).scan(query.text or None)
    return (scan if query.columns is None else scan.select(*query.columns)).to_arrow()


def by_pyiceberg(query: Query, metadata: str) -> Any:
    """Read by PyIceberg's scan."""
    table = importlib.import_module("pyiceberg.table").StaticTable.from_metadata(metadata)
    filters = {} if query.where is None else {"row_filter": query.text}
    return table.scan(**filters, selected_fields=query.columns or ("*",)).to_arrow()


def by_polars(query: Query, metadata: str) -> Any:
    """Read by Polars' lazy scan."""
    polars = importlib.import_module("polars")
    frame = polars.scan_iceberg(metadata)
    if query.where is not None:
        column, operator, number = query.where
        value = polars.col(column)
        frame = frame.filter(value == number if operator == "=" else value < number)
    return (frame if query.columns is None else frame.select(query.columns)).collect().to_arrow()


def by_duckdb(query: Query, metadata: str) -> Any:
    """Read by DuckDB's extension."""
    connection = importlib.import_module("tests.oracle.duckdb_reader").connect()
    where = f" WHERE {query.text}" if query.text else ""
    columns = ", ".join(query.columns or ("*",))
    return connection.sql(
        f"SELECT {columns} FROM iceberg_scan('{metadata}'){where}"
    ).to_arrow_table()


def by_daft(query: Query, metadata: str) -> Any:
    """Read by Daft, which plans with PyIceberg."""
    daft = importlib.import_module("daft")
    table = importlib.import_module("pyiceberg.table").StaticTable.from_metadata(metadata)
    frame = daft.read_iceberg(table)
    if query.where is not None:
        frame = frame.where(query.text)
    return (frame if query.columns is None else frame.select(*query.columns)).to_arrow()


READERS: Mapping[str, Read] = {
    "pyarrow": by_pyarrow,
    "ours": by_ours,
    "pyiceberg": by_pyiceberg,
    "polars": by_polars,
    "duckdb": by_duckdb,
    "daft": by_daft,
}


def main(contender: str, query: str, metadata: str) -> None:
    """Run a query twice; print the CPU seconds of the second run, and its rows."""
    read = READERS[contender]
    read(QUERIES[query], metadata)
    before = time.process_time()
    table = read(QUERIES[query], metadata)
    print(json.dumps([time.process_time() - before, table.num_rows]))


if __name__ == "__main__":
    main(*sys.argv[1:])
