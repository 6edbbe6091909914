"""Tables made through the public functions, and what lies in their folders."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.requirements import requirements_for
from iceberg_spark.spec.transform_text import parse_partition_spec, parse_sort_order
from tests.builders import schema as schema_of

QUICK = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "5"}


def new_location() -> str:
    return f"memory://api/{uuid.uuid4().hex}"


def make(
    location: str | Path | None = None,
    schema: Any = "id bigint, k string",
    partition_by: Sequence[str] = (),
    **properties: str,
) -> Table:
    """An empty table, in memory unless it gets a location."""
    where = str(location) if location else new_location()
    named = {key.replace("_", "-"): value for key, value in properties.items()}
    return ice.create_table(where, schema, partition_by=partition_by, properties=QUICK | named)


def rows(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def ids(table: Table, **scan: Any) -> list[int]:
    """The column `id` of what a scan of the newest version returns, sorted."""
    return sorted(table.scan(**scan).to_arrow()["id"].to_pylist())


def files_below(folder: Path) -> set[str]:
    """Every file below a folder, by its path in it."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def data_files(table: Table) -> set[str]:
    """Every file in the table's data folder, committed or not."""
    return {info.path for info in table.io.list(f"{table.location()}/data")}


def make_anywhere(location: str | Path) -> Table:
    """An empty table of `id` and `k`, in a folder that making one through the API would refuse."""
    columns = schema_of(("id", "long"), ("k", "string"))
    spec, order = parse_partition_spec((), columns), parse_sort_order((), columns)
    updates = new_table_updates(
        columns, spec, order, location=str(location), properties=QUICK, format_version=2
    )
    FileSystemCatalog("c").commit(str(location), requirements_for(None, updates), updates, None)
    return ice.load_table(str(location))
