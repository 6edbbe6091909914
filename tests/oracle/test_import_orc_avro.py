"""ORC and Avro files that others wrote: taken in as Java does, and read by both."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.orc as po
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import frame, location, read
from tests.oracle.java_tables import create
from tests.oracle.product import read_both, read_spark

COLUMNS = {
    "id": pa.array([3, 1, None, -7], pa.int64()),
    "i": pa.array([2**31 - 1, -(2**31), None, 0], pa.int32()),
    "flag": [True, True, None, True],
    "day": [dt.date(1960, 1, 1), dt.date(2024, 2, 29), None, dt.date(1970, 1, 1)],
    "dec": pa.array([Decimal("1.50"), Decimal("-2.25"), None, Decimal(0)], pa.decimal128(9, 2)),
    "s": ["x" * 40, "zürich", "", None],
    "bin": [b"\xff", b"", None, b"a"],
    "st": [{"x": 1, "y": "a"}, {"x": None, "y": "b"}, {"x": -1, "y": None}, {"x": 5, "y": "c"}],
    "li": [[1, 2], [], None, [3]],
    "m": pa.array([[("k", 1.5)], [], None, [("q", None)]], pa.map_(pa.string(), pa.float64())),
}
GIVEN = pa.table(
    {**COLUMNS, "st": pa.array(COLUMNS["st"], pa.struct([("x", pa.int32()), ("y", pa.string())]))}
)
DDL = """id bigint, i int, flag boolean, day date, dec decimal(9,2), s string, bin binary,
st struct<x: int, y: string>, li array<bigint>, m map<string, double>"""
MEMBERS = "record_count, column_sizes, value_counts, null_value_counts, lower_bounds, upper_bounds"


def orc_by_spark(java: SparkSession, folder: Path) -> None:
    frame(java, GIVEN).coalesce(1).write.orc(str(folder))


def orc_by_arrow(_java: SparkSession, folder: Path) -> None:
    folder.mkdir()
    po.write_table(GIVEN, folder / "f.orc")


def avro(_java: SparkSession, folder: Path) -> None:
    """Write all but decimals and maps, whose Avro types say more than these tests need."""
    kinds = {
        "id": "long",
        "i": "int",
        "flag": "boolean",
        "day": {"type": "int", "logicalType": "date"},
        "s": "string",
        "bin": "bytes",
    }
    fields = [{"name": name, "type": ["null", kind]} for name, kind in kinds.items()]
    folder.mkdir()
    with (folder / "f.avro").open("wb") as file:
        rows = GIVEN.select(list(kinds)).to_pylist()
        fastavro.writer(file, {"type": "record", "name": "r", "fields": fields}, rows)


WRITERS = {"orc_spark": orc_by_spark, "orc_arrow": orc_by_arrow, "avro": avro}


@pytest.mark.parametrize("writer", WRITERS)
def test_what_java_takes_in_we_take_in_with_the_same_metrics(
    java: SparkSession, tmp_path: Path, writer: str
) -> None:
    folder, kind = tmp_path / "files", writer.partition("_")[0]
    WRITERS[writer](java, folder)
    mine, javas = f"taken_by_us_{writer}", f"taken_by_java_{writer}"
    for name in (mine, javas):
        create(java, name, DDL)
    ice.load_table(location(java, mine)).add_files(str(folder))
    java.sql(
        f"CALL j.system.add_files(table => 'db.{javas}', source_table => '`{kind}`.`{folder}`')"
    ).collect()
    expected = read(java, location(java, javas))
    assert expected.num_rows == 4
    for name in (mine, javas):
        path = location(java, name)
        assert_same_rows(expected, read(java, path), what="Java")
        assert_same_rows(expected, read_both(java, path), what="the Arrow scan")
        assert_same_rows(expected, read_spark(java, path), what="the Spark frame")
    assert metrics(java, mine) == metrics(java, javas)


def metrics(java: SparkSession, name: str) -> dict[str, Any]:
    """The metrics of a table's one file; a size of no bytes is one that the file does not say."""
    (row,) = java.sql(f"SELECT {MEMBERS} FROM j.db.{name}.files").collect()
    found = row.asDict()
    found["column_sizes"] = {at: size for at, size in (row.column_sizes or {}).items() if size}
    return found


def test_filters_lose_no_row_of_files_that_we_take_in(java: SparkSession, tmp_path: Path) -> None:
    create(java, "orc_filtered", DDL)
    orc_by_arrow(java, tmp_path / "files")
    path = location(java, "orc_filtered")
    ice.load_table(path).add_files(str(tmp_path / "files"))
    for condition in ("id < 0", "s = 'zürich'", "st.x IS NULL", "day < '1965-01-01'"):
        expected = frame(java, GIVEN).where(condition).toArrow()
        assert expected.num_rows
        found = read_both(java, path, row_filter=condition)
        assert_same_rows(expected, found, what=condition)


def test_timestamps_of_orc_that_java_does_not_read_are_refused(
    java: SparkSession, tmp_path: Path
) -> None:
    """Spark writes wall clocks of the JVM's zone for instants, and numbers for wall clocks."""
    for name, value in {
        "ts": "timestamp'2024-01-01 00:00:00'",
        "n": "timestamp_ntz'2024-01-01'",
    }.items():
        folder, table = tmp_path / name, f"orc_times_{name}"
        java.sql(f"SELECT {value} AS t").write.orc(str(folder))
        create(java, table, "t timestamp" if name == "ts" else "t timestamp_ntz")
        with pytest.raises(ice.errors.InvalidSchemaError, match="append their rows"):
            ice.load_table(location(java, table)).add_files(str(folder))
        java.sql(f"CALL j.system.add_files('db.{table}', '`orc`.`{folder}`')").collect()
        with pytest.raises(Exception, match="Can not promote"):
            read(java, location(java, table))


def test_wall_clocks_and_instants_of_orc_are_read_as_java_reads_them(
    java: SparkSession, tmp_path: Path
) -> None:
    moments = pa.array([1_704_110_400_000_005, None, -86_400_000_000])
    kinds = {"w": pa.timestamp("us"), "t": pa.timestamp("us", "UTC")}
    given = pa.table({name: moments.cast(kind) for name, kind in kinds.items()})
    (tmp_path / "files").mkdir()
    po.write_table(given, tmp_path / "files" / "f.orc")
    create(java, "orc_moments", "w timestamp_ntz, t timestamp")
    path = location(java, "orc_moments")
    ice.load_table(path).add_files(str(tmp_path / "files"))
    assert_same_rows(given, read_both(java, path), what="the Arrow scan")
    assert_same_rows(given, read(java, path), what="Java")
