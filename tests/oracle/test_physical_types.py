"""Decimals that other writers store in bytes, read by Java too."""

from decimal import Decimal
from pathlib import Path

from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import identifier, location, read
from tests.oracle.product import read_both
from tests.parquet_files import decimal_column, decimal_file

UNSCALED = [0, 1, -1, 10**17, -(10**17), None]


def test_decimals_in_fixed_bytes_are_what_java_reads(java: SparkSession, tmp_path: Path) -> None:
    columns = {f"d{width}": decimal_column("fixed", width, 18) for width in (8, 9, 12, 15, 16)}
    kinds = ", ".join(f"{name} decimal(18, 2)" for name in columns)
    java.sql(f"CREATE TABLE {identifier('fixed_decimals')} (id bigint, {kinds}) USING iceberg")
    path = location(java, "fixed_decimals")
    file = decimal_file(
        tmp_path / "f.parquet", UNSCALED, {k: v for k, v in columns.items() if v is not None}
    )
    table = ice.load_table(path)
    table.add_files([str(file)])
    assert_same_rows(read(java, path), read_both(java, path), what="added decimals")
    table.update({"id": "id + 10"}, "id < 3")
    changed = read(java, path).sort_by("id").to_pylist()
    expected = [None if n is None else Decimal(n).scaleb(-2) for n in UNSCALED]
    for name in columns:
        assert [row[name] for row in changed] == [*expected[3:], *expected[:3]]
