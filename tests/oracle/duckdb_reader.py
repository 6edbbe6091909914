"""DuckDB reads Iceberg tables offline: its extensions come from PyPI packages."""

from importlib.resources import files

import duckdb
import pyarrow as pa

EXTENSIONS = ("avro", "httpfs", "iceberg")


def extension_file(name: str) -> str:
    """Return the path of `<name>.duckdb_extension` in its PyPI package, for this DuckDB."""
    package = files(f"duckdb_extension_{name}")
    found = package / "extensions" / f"v{duckdb.__version__}" / f"{name}.duckdb_extension"
    return str(found)


def connect() -> duckdb.DuckDBPyConnection:
    """Return a connection with the Iceberg extension and the UTC time zone, never downloading."""
    connection = duckdb.connect(
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False}
    )
    for name in EXTENSIONS:
        connection.load_extension(extension_file(name))
    return connection


def read(path: str) -> pa.Table:
    """Read the current rows of a table by its location or a metadata.json."""
    with connect() as connection:
        return connection.sql(f"SELECT * FROM iceberg_scan('{path}')").to_arrow_table()
