"""Defaults of columns on both engines: reads, frames that lack the column, merges."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.api.table import Table

COLUMNS = {
    "i": ("int", -5),
    "l": ("bigint", 1 << 40),
    "f": ("float", 0.1),
    "d": ("double", 0.1),
    "bo": ("boolean", True),
    "de": ("decimal(9, 2)", Decimal("3.10")),
    "dt": ("date", "1969-12-31"),
    "ts": ("timestamp_ntz", "2024-02-29 12:30:01.123456"),
    "tz": ("timestamp", "2024-02-29 12:30:01.123456+00:00"),
    "s": ("string", "it's \\ é"),
    "b": ("binary", b"\x00\xff"),
}
NESTED = {
    "u": ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
    "fx": ("fixed[2]", b"ab"),
    "li": ("array<int>", [1, None]),
    "m": ("map<string, decimal(3, 1)>", {"it's": 1.5}),
    "st": ("struct<x: int, `y y`: string>", {"x": 0, "y y": "q"}),
    "e": ("array<string>", []),
}


def make(tmp_path: Path, columns: dict[str, tuple[str, Any]], **properties: str) -> Table:
    """A table with a row from before its columns with defaults."""
    made = {"format-version": "3", **properties}
    table = ice.create_table(str(tmp_path / "t"), "id bigint not null", properties=made)
    table.append(pa.table({"id": [1]}))
    with table.update_schema() as update:
        for name, (kind, given) in columns.items():
            update.add_column(name, kind, required=name == "i", default_value=given)
    return table.refresh()


def assert_equal_rows(table: Table, spark: Any, ids: int) -> None:
    """All rows have the first one's values but for the id; both engines and pure Python agree."""
    read = table.refresh().scan().to_df(spark).toArrow()
    rows = sorted(read.to_pylist(), key=lambda row: row["id"])
    assert [row.pop("id") for row in rows] == list(range(1, ids + 1))
    assert all(row == rows[0] for row in rows)
    again = table.scan().to_df(spark, engine="arrow").toArrow().to_pylist()
    again.sort(key=lambda row: row.pop("id"))
    assert again == rows


@pytest.mark.parametrize("columns", [COLUMNS, COLUMNS | NESTED], ids=["native", "arrow"])
def test_a_frame_that_lacks_columns_gets_their_defaults(
    any_spark: Any, tmp_path: Path, columns: dict[str, tuple[str, Any]]
) -> None:
    table = make(tmp_path, columns)
    rows = any_spark.range(2, 4)
    table.append(rows)
    rows.selectExpr("id + 2 as id").write.format("pyiceberg-lite").mode("append").save(
        table.location()
    )
    assert_equal_rows(table, any_spark, 5)
    frame = table.scan().to_df(any_spark)
    assert frame.where("i = -5 and s like 'it%' and de = 3.1 and tz is not null").count() == 5
    assert frame.where("i is null or dt > date'1970-01-01'").count() == 0
    assert table.scan("i = -5").to_df(any_spark).where("b = X'00ff'").count() == 5


def test_rows_that_a_merge_inserts_get_defaults(spark: Any, tmp_path: Path) -> None:
    table = make(tmp_path, COLUMNS | NESTED)
    table.update_spec().add_field("s").commit()
    source = spark.range(1, 3)
    table.refresh().merge(source, "t.id = s.id").when_not_matched_insert({"id": "s.id"}).execute()
    source = spark.range(1, 4)
    table.refresh().merge(source, "t.id = s.id").when_not_matched_insert_all().execute()
    assert_equal_rows(table, spark, 3)
    table.refresh().update({"s": "'other'"}, where="id = 1 and i = -5 and u like 'f79%'")
    assert table.refresh().scan("s = 'other' and l = 1099511627776").count() == 1


def test_a_schema_that_is_merged_keeps_defaults_and_fills_them(spark: Any, tmp_path: Path) -> None:
    table = make(tmp_path, COLUMNS)
    rows = spark.range(2, 3).selectExpr("id", "'new' as more")
    rows.write.format("pyiceberg-lite").mode("append").option("mergeSchema", "true").save(
        table.location()
    )
    read = table.refresh().scan(selected_fields=("id", "i", "more")).to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in read) == [(1, -5, None), (2, -5, "new")]
