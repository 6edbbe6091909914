"""The same rows written by Java and by us: counts and bounds are the same bytes."""

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle import rows
from tests.oracle.java_api import frame, identifier, load, location, read
from tests.oracle.java_tables import create

COUNTS = ("value_counts", "null_value_counts", "nan_value_counts")
BOUNDS = ("lower_bounds", "upper_bounds")
MODES = {
    "default": {},
    "full": {"write.metadata.metrics.default": "full"},
    "counts": {"write.metadata.metrics.default": "counts"},
    "none": {"write.metadata.metrics.default": "none"},
    "short": {"write.metadata.metrics.default": "truncate(3)"},
    "per_column": {
        "write.metadata.metrics.default": "none",
        "write.metadata.metrics.column.s": "truncate(2)",
        "write.metadata.metrics.column.d": "full",
        "write.metadata.metrics.column.st.a": "counts",
        "write.metadata.metrics.column.bin": "full",
    },
}
# Avro files have no metrics but the record count, whatever the mode.
BY_MODE = [(name, mode) for name in ("parquet", "orc") for mode in MODES] + [("avro", "full")]
BY_EDGE_MODE = [(name, mode) for name, mode in BY_MODE if mode in ("default", "full", "short")]
Written = Callable[[str, str], tuple[str, str]]
_EDGE_DDL = """nan double, nanf float, empty string, zeros double, top string, cut string,
ff binary, low date, old timestamp, neg decimal(9,2), wide decimal(38,10), inf double,
one boolean"""


def edges(file_format: str) -> pa.Table:
    """One NULL row and values whose bounds are hard: all NaN, zeros, code points, 0xFF."""
    nothing = pa.array([None, None, None], pa.string())
    fraction = 0 if file_format == "orc" else 1  # in ORC we refuse fractions before 1970
    old = [datetime(1, 1, 1, tzinfo=UTC), None, datetime(1969, 12, 31, 23, 59, 59, fraction, UTC)]
    return pa.table(
        {
            "nan": pa.array([math.nan, None, math.nan], pa.float64()),
            "nanf": pa.array([math.nan, None, 1.0], pa.float32()),
            "empty": nothing,
            "zeros": pa.array([0.0, None, -0.0], pa.float64()),
            "top": pa.array(["\U0010ffff" * 20, None, "\U0010ffff" * 17]),
            "cut": pa.array(["é" * 15 + "\ud7ff" + "zz", None, "a" * 15 + "\U0010ffff" + "q"]),
            "ff": pa.array([b"\xff" * 20, None, b"\xff" * 15 + b"\x00\x01"]),
            "low": pa.array([date(1, 1, 1), None, date(1969, 12, 31)]),
            "old": pa.array(old, pa.timestamp("us", tz="UTC")),
            "neg": pa.array([Decimal("-9999999.99"), None, Decimal("0.01")], pa.decimal128(9, 2)),
            "wide": pa.array(
                [Decimal("-9999999999999999999999999999.9999999999"), None, Decimal(0)],
                pa.decimal128(38, 10),
            ),
            "inf": pa.array([-math.inf, None, math.inf], pa.float64()),
            "one": pa.array([False, None, True]),
        }
    )


def write_both(
    java: SparkSession, name: str, ddl: str, table: pa.Table, properties: dict[str, str]
) -> tuple[str, str]:
    """Write the rows by Java and by us into tables of the same schema; return both names."""
    names = f"{name}_ours", f"{name}_java"
    for each in names:
        create(java, each, ddl)
        listed = ", ".join(f"'{key}'='{value}'" for key, value in properties.items())
        java.sql(f"ALTER TABLE {identifier(each)} SET TBLPROPERTIES ({listed})")
    ice.load_table(location(java, names[0])).append(table)
    frame(java, table).coalesce(1).writeTo(identifier(names[1])).append()
    return names


@pytest.fixture(scope="module")
def written(java: SparkSession) -> Written:
    """Return a function to the names of two tables of all types, ours and Java's, made once."""

    @cache
    def write(file_format: str, mode: str) -> tuple[str, str]:
        properties = {"write.format.default": file_format, **MODES[mode]}
        given = rows.table(0, 46, file_format)
        return write_both(java, f"metrics_{file_format}_{mode}", rows.DDL, given, properties)

    return write


def metrics(java: SparkSession, name: str) -> dict[str, dict[str, Any]]:
    """Return the metrics of the only file: kind to column name to value."""
    files = read(java, f"{location(java, name)}#files")
    assert files.num_rows == 1
    schema = load(java, name).schema()
    found: dict[str, dict[str, Any]] = {}
    for kind in (*COUNTS, *BOUNDS):
        entries = files[kind][0].as_py() or []
        found[kind] = {schema.findColumnName(key): value for key, value in entries}
    return found


def assert_same_metrics(
    java: SparkSession, names: tuple[str, str], *, nested_counts: bool = True
) -> None:
    """`nested_counts=False`: leave out the counts of columns inside structs (see ORC below)."""
    ours, theirs = (metrics(java, name) for name in names)
    for found in () if nested_counts else (ours, theirs):
        for kind in ("value_counts", "null_value_counts"):
            found[kind] = {k: v for k, v in found[kind].items() if "." not in k}
    different = {
        f"{kind} of {column}": f"Java {theirs[kind].get(column)!r}, we {ours[kind].get(column)!r}"
        for kind in theirs
        for column in sorted(theirs[kind].keys() | ours[kind].keys())
        if theirs[kind].get(column) != ours[kind].get(column)
    }
    assert not different


@pytest.mark.parametrize(("file_format", "mode"), BY_MODE)
def test_metrics_of_every_type_equal_java(
    java: SparkSession, written: Written, file_format: str, mode: str
) -> None:
    names = written(file_format, mode)
    assert_same_metrics(java, names, nested_counts=file_format != "orc")


def test_orc_counts_of_struct_fields_include_null_parents_unlike_javas(
    java: SparkSession, written: Written
) -> None:
    """Java's ORC counts leave out rows whose struct is NULL, so its null count proves nothing."""
    ours, theirs = (metrics(java, name) for name in written("orc", "default"))
    absent = rows.table(0, 46)["st"].null_count
    assert (ours["value_counts"]["st.a"], ours["null_value_counts"]["st.a"]) == (46, absent)
    counts = theirs["value_counts"]["st.a"], theirs["null_value_counts"]["st.a"]
    assert counts == (46 - absent, 0)


@pytest.mark.parametrize(("file_format", "mode"), BY_EDGE_MODE)
def test_metrics_of_edge_values_equal_java(java: SparkSession, file_format: str, mode: str) -> None:
    properties = {"write.format.default": file_format, **MODES[mode]}
    name = f"edges_{file_format}_{mode}"
    assert_same_metrics(java, write_both(java, name, _EDGE_DDL, edges(file_format), properties))


def test_only_the_first_hundred_columns_have_metrics(java: SparkSession) -> None:
    columns = [f"c{n}" for n in range(105)]
    table = pa.table({name: pa.array([n], pa.int32()) for n, name in enumerate(columns)})
    ddl = ", ".join(f"{name} int" for name in columns)
    names = write_both(java, "wide", ddl, table, {"write.format.default": "parquet"})
    assert len(metrics(java, names[1])["lower_bounds"]) == 100
    assert_same_metrics(java, names)


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_readable_metrics_show_the_same_in_java(
    java: SparkSession, written: Written, file_format: str
) -> None:
    """Java decodes our bounds to the values that it decodes from its own."""
    shown = []
    for name in written(file_format, "default"):
        found = read(java, f"{location(java, name)}#files")["readable_metrics"][0].as_py()
        for column in found.values():
            column.pop("column_size", None)
        if file_format == "orc":  # their counts differ, see above
            found = {name: column for name, column in found.items() if "." not in name}
        shown.append(found)
    assert shown[0] == shown[1]
