"""Filters on the days that java.sql.Date lacks (5 to 14 October 1582) keep their rows."""

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table

DAYS = [dt.date(1582, 10, day) for day in (3, 4, 5, 9, 10, 14, 15, 16, 24, 25)]
TIMES = [dt.datetime.combine(day, dt.time(12, 30)) for day in DAYS]
COLUMNS = {
    "d": (pa.date32(), DAYS, "date'{}'"),
    "t": (pa.timestamp("us", "UTC"), TIMES, "timestamp'{}Z'"),
    "n": (pa.timestamp("us"), TIMES, "timestamp_ntz'{}'"),
}
OPERATORS = {
    "=": lambda one, other: one == other,
    "<>": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """A file with a row group for each day."""
    rows = pa.table(
        {
            "id": pa.array(range(len(DAYS)), pa.int64()),
            **{name: pa.array(values, kind) for name, (kind, values, _) in COLUMNS.items()},
        }
    )
    pq.write_table(rows, tmp_path / "f.parquet", row_group_size=1)
    table = ice.create_table(str(tmp_path / "t"), "id bigint, d date, t timestamp, n timestamp_ntz")
    table.add_files([str(tmp_path / "f.parquet")])
    return table


def ids(frame: Any) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


@pytest.mark.parametrize("name", COLUMNS)
def test_filters_on_days_that_javas_calendar_lacks_return_their_rows(
    any_spark: Any, table: Table, name: str
) -> None:
    _, values, literal = COLUMNS[name]
    engine = None if "connect" in type(any_spark).__module__ else "native"
    frame = table.scan().to_df(any_spark, engine=engine)
    for value in (values[2], values[4], values[5], values[6]):
        text = literal.format(value)
        for operator, holds in OPERATORS.items():
            expected = [at for at, other in enumerate(values) if holds(other, value)]
            condition = f"{name} {operator} {text}"
            assert ids(frame.where(condition)) == expected, condition
        assert ids(frame.where(f"{name} in ({text}) or id = 0")) == [0, values.index(value)]
    of_scan = table.scan(row_filter=f"{name} = {literal.format(values[4])}")
    assert ids(of_scan.to_df(any_spark, engine=engine)) == [4]


def test_an_update_of_such_a_day_changes_its_row(spark: Any, table: Table) -> None:
    assert table.update({"id": "id + 100"}, "d = date'1582-10-10'").updated == 1
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [*range(4), *range(5, 10), 104]


@pytest.mark.parametrize(("day", "groups"), [(3, 1), (10, len(DAYS)), (24, 1)])
def test_only_filters_on_such_days_read_all_row_groups(
    spark: Any, table: Table, day: int, groups: int
) -> None:
    frame = table.scan().to_df(spark, engine="native").where(f"d = date'1582-10-{day:02}'")
    frame.collect()
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    assert scan.metrics().apply("numOutputRows").value() == groups
