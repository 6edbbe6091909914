"""A file of variants that DuckDB shredded."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
from pyspark.sql.types import VariantVal

import iceberg_spark as ice

ROWS = """select i::bigint id, case when i % 5 = 0 then null when i % 7 = 0 then 'text'::variant
    when i % 11 = 0 then {'a': 'odd', 's': 5}::variant
    else {'a': i::int, 's': 'x' || i, 'd': 1.25::decimal(5, 2), 'l': [1, i], 'o': {'q': i % 2 = 0},
          't': timestamp '2024-01-01 00:00:00', 'y': date '2024-02-29', 'f': 0.5::float}::variant
    end v from range(50) t(i)"""
SHREDDED = """{v: 'STRUCT(a INTEGER, s VARCHAR, d DECIMAL(5, 2), l INTEGER[], o STRUCT(q BOOLEAN),
    t TIMESTAMP)'}"""


def expected(number: int) -> object:
    if number % 5 == 0:
        return None
    if number % 7 == 0:
        return "text"
    if number % 11 == 0:
        return {"a": "odd", "s": 5}
    return {
        "a": number,
        "s": f"x{number}",
        "d": Decimal("1.25"),
        "l": [1, number],
        "o": {"q": number % 2 == 0},
        "t": dt.datetime.fromisoformat("2024-01-01"),
        "y": dt.date(2024, 2, 29),
        "f": 0.5,
    }


def test_what_duckdb_shredded_is_put_together(tmp_path: Path) -> None:
    file = str(tmp_path / "x.parquet")
    duckdb.sql(f"copy ({ROWS}) to '{file}' (format parquet, shredding {SHREDDED})")
    assert "typed_value" in str(pq.ParquetFile(file).schema)
    place = str(tmp_path / "t")
    table = ice.create_table(place, "id bigint, v variant", properties={"format-version": "3"})
    table.add_files([file])
    rows = table.refresh().scan().to_arrow().to_pylist()
    shown = {
        row["id"]: row["v"] and VariantVal(row["v"]["value"], row["v"]["metadata"]).toPython()
        for row in rows
    }
    assert shown == {number: expected(number) for number in range(50)}
