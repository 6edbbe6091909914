"""Which engine reads which table of the matrix, and why it does not read the rest.

Nothing is skipped: `test_engines.py` asserts that every refusal written here still happens, so a
new version of an engine that learns more makes a test fail and this table shrink.
"""

from collections.abc import Callable
from dataclasses import dataclass

import duckdb
import pyarrow as pa
import pyiceberg

from tests.oracle import duckdb_reader, pyiceberg_tables
from tests.oracle.java_tables import Case


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why an engine cannot be asked: `error` is what it raises, None if it gives wrong rows."""

    reason: str
    error: str | None


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine beside Java: how it reads, what it refuses, which columns it gets wrong."""

    name: str
    version: str
    read: Callable[[str], pa.Table]
    refusal: Callable[[Case], Refusal | None]
    wrong_columns: dict[str, str]


def _duckdb_refusal(case: Case) -> Refusal | None:
    match case:
        case Case(file_format="orc" | "avro"):
            return Refusal("reads Parquet data files only", "only supports 'parquet'")
        case Case(deletes="equality" | "both", partitioning=partitioning) if (
            partitioning != "unpartitioned"
        ):
            return Refusal("fails on partitioned equality deletes", "Comparison on NULL values")
        case Case(deletes="both"):
            return Refusal("drops rows whose equality columns are NULL", None)
        case _:
            return None


def _pyiceberg_refusal(case: Case) -> Refusal | None:
    match case:
        case Case(deletes="equality" | "both"):
            return Refusal("has no equality deletes", "does not yet support equality deletes")
        case Case(file_format="avro", deletes="position"):
            return Refusal("reads no Avro delete files", "Delete file format not supported")
        case Case(file_format="avro"):
            return Refusal("reads no Avro data files", "Unsupported file format")
        case _:
            return None


_NULL_AS_EMPTY = "a NULL list or map of structs reads as an empty one"
DUCKDB = Engine("DuckDB", duckdb.__version__, duckdb_reader.read, _duckdb_refusal, {})
PYICEBERG = Engine(
    "PyIceberg",
    pyiceberg.__version__,
    pyiceberg_tables.read,
    _pyiceberg_refusal,
    {"ls": _NULL_AS_EMPTY, "md": _NULL_AS_EMPTY},
)
ENGINES = (DUCKDB, PYICEBERG)
