"""Joins of frames of `spark.read` leave out files of a large table, and never its rows."""

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.read import joined_keys
from iceberg_spark.read.row_keys import JoinLimits

DAYS = 400


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sales of 400 days in files of 30 days each, and one of no day; days, and their months."""
    place = tmp_path_factory.mktemp("joined")
    columns = "sold int, amount bigint"
    sales = ice.create_table(str(place / "sales"), columns, partition_by=["truncate(30, sold)"])
    sold = [*range(DAYS), None]
    sales.append(pa.table({"sold": pa.array(sold, pa.int32()), "amount": range(DAYS + 1)}))
    days = ice.create_table(str(place / "days"), "day int, month int, name string")
    days.append(
        pa.table(
            {
                "day": pa.array([*range(DAYS), None], pa.int32()),
                "month": pa.array([*(n // 40 for n in range(DAYS)), 2], pa.int32()),
                "name": [str(n % 7) for n in range(DAYS + 1)],
            }
        )
    )
    return place


@pytest.fixture
def enabled(
    spark: SparkSession, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SparkSession]:
    """A session with views of both tables, where no table is too small to be pruned."""
    monkeypatch.setattr(joined_keys, "JOINS", JoinLimits(pruned_bytes=0))
    ice.enable(spark)
    for name in ("sales", "days"):
        load(spark, warehouse, name).createOrReplaceTempView(name)
    yield spark
    for name in ("sales", "days"):
        spark.catalog.dropTempView(name)
    ice.disable(spark)


def load(spark: SparkSession, warehouse: Path, name: str) -> DataFrame:
    return spark.read.format("pyiceberg-lite").load(str(warehouse / name))


def sales_files(frame: DataFrame) -> int:
    return len({one for one in frame.inputFiles() if "/sales/" in one})


QUERIES = {
    "select * from sales join days on sold = day where month = 2": 2,
    "select * from sales, days where day = sold and month in (0, 9)": 4,
    "select * from sales left semi join days on sold = day and month = 2": 2,
    "select * from days left join sales on sold = day where month = 2": 2,
    "select * from sales right join days on sold = day and month = 2": 14,
    "select * from sales right join days on sold = day where month = 2": 2,
    "select * from sales where sold in (select day from days where month = 2)": 2,
    "select * from sales join days on sold = day where name = '3' and day < 5": 1,
    "select * from sales join days on sold = day where month = 77": 0,
    "select sold as s, amount from sales join days on sold = day where month = 2": 2,
    "select * from (select sold as s, amount + 1 from sales) join days on s = day "
    "where month = 2": 2,
    "select * from (select sold, sum(amount) from sales group by sold) join days on sold = day "
    "where month = 2": 2,
    "select s, count(*) from (select sold as s from sales) join (select day as d from days "
    "where month = 2) on s = d group by s": 2,
    "select * from sales join days on sold = day where month is not null": 14,
    "select * from sales left join days on sold = day and month = 2": 15,
    "select * from sales left anti join days on sold = day and month = 2": 15,
    "select * from sales full join days on sold = day and month = 2": 15,
    "select * from sales join days on sold <=> day where month = 2": 15,
    "select * from sales join days on sold + 1 = day where month = 2": 14,
    "select * from sales join days on sold = day or amount = 3 where month = 2": 15,
    "select * from (select sold, row_number() over (order by amount desc) as r from sales) "
    "join days on sold = day where month = 2": 15,
    "select * from (select * from sales order by amount limit 90) join days on sold = day "
    "where month = 2": 15,
    "select * from (select count(*) as n, max(sold % 999) as m from sales) join days on m = day "
    "where month = 9": 15,
    "select * from (select amount, max(sold) as m from sales group by amount) join days "
    "on m = day where month = 2": 15,
    "select * from (select sold from sales union all select day from days) join days on sold = day "
    "where month = 2": 14,
    "select * from sales join (select day * 2 as day from days where month = 2) on sold = day": 14,
    "select * from sales join (select max(day) as day from days where month = 2) on sold = day": 14,
    "select a.* from sales a join sales b on a.sold = b.sold join days on a.sold = day "
    "where month = 2": 2,
    "select * from sales join (select day, row_number() over (order by day) as r from days "
    "where month = 2) on sold = day where r = 1": 2,
    "select * from sales join (select day from days where month = 2 order by day limit 3) "
    "on sold = day": 2,
    "select * from sales join (select day from days where month = 2 union all select 399) "
    "on sold = day": 14,
    "select * from (select explode(array(sold, 1)) as s from sales) join days on s = day "
    "where month = 2": 15,
    "select sold, count(*) from (select * from sales join days on sold = day where month = 2) "
    "group by rollup(sold)": 2,
    # a scan of a subquery that stays is of the same table
    "with s as (select * from sales) select s.*, (select max(amount) from s) from s join days "
    "on sold = day where month = 2": 2,
    "select s.*, (select max(amount) from sales) from sales s join days on sold = day "
    "where month = 2": 2,
    "with d as (select * from days) select * from sales join d on sold = day where month = 2 "
    "and month < (select max(month) from d)": 2,
}
"""Queries, and how many of the 15 files of sales they need: 14 have a day."""


@pytest.mark.parametrize("query", QUERIES)
def test_a_joins_keys_leave_out_files_of_a_frame(
    enabled: SparkSession, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    found = enabled.sql(query)
    assert sales_files(found) == QUERIES[query]
    monkeypatch.setattr(joined_keys, "JOINS", JoinLimits(read_bytes=0))
    whole = enabled.sql(query)
    assert sales_files(whole) >= max(QUERIES[query], 1 if "day < 5" in query else 14)
    assert sorted(map(str, found.collect())) == sorted(map(str, whole.collect()))


def test_a_frames_own_join_leaves_out_files(enabled: SparkSession, warehouse: Path) -> None:
    sales, days = load(enabled, warehouse, "sales"), load(enabled, warehouse, "days")
    second = days.where("month = 2")
    joined = sales.join(second, sales.sold == second.day)
    assert sales_files(joined) == 2 and joined.count() == 40
    assert sales_files(sales.join(second, sales.sold == days.day, "left")) == 15
    named = second.withColumnRenamed("day", "sold")
    assert sales_files(sales.join(named, "sold")) == 2
    assert sales_files(sales.join(named, ["sold"], how="leftsemi")) == 2
    assert sales_files(sales.join(days, sales.sold == days.day)) == 14
    assert joined.select(sales["amount"]).agg(sf.sum("amount")).first()[0] == sum(range(80, 120))
    assert sales_files(sales) == 15 and sales.count() == 401


def test_keys_of_deleted_rows_are_none_but_where_they_are_shown(
    enabled: SparkSession, tmp_path: Path, warehouse: Path
) -> None:
    days = ice.create_table(
        str(tmp_path / "days"),
        "day int, month int",
        properties={"write.delete.mode": "merge-on-read"},
    )
    days.append(
        pa.table({"day": pa.array([5, 200], pa.int32()), "month": pa.array([1, 1], pa.int32())})
    )
    days.delete("day = 200")
    sales = load(enabled, warehouse, "sales")
    reader = enabled.read.format("pyiceberg-lite")
    live = reader.load(str(tmp_path / "days")).where("month = 1")
    assert sales_files(sales.join(live, sales.sold == live.day)) == 1
    shown = (
        reader.option("metadata-columns", "_deleted")
        .load(str(tmp_path / "days"))
        .where("month = 1")
    )
    every = sales.join(shown, sales.sold == shown.day)
    assert sorted(row.sold for row in every.collect()) == [5, 200]


def test_rows_that_came_since_are_in_a_frame_that_is_made_again(
    enabled: SparkSession, warehouse: Path, tmp_path: Path
) -> None:
    days = ice.create_table(str(tmp_path / "days"), "day int, month int")
    text = "select sold from sales join {days} on sold = day where month = 1"
    sold = []
    for day in (7, 250):
        days.refresh()
        row = {"day": pa.array([day], pa.int32()), "month": pa.array([1], pa.int32())}
        days.append(pa.table(row))
        frame = enabled.read.format("pyiceberg-lite").load(str(tmp_path / "days"))
        found = enabled.sql(text, days=frame)
        sold.append((sales_files(found), sorted(row.sold for row in found.collect())))
    assert sold == [(1, [7]), (2, [7, 250])]


@pytest.mark.slow
def test_random_joins_have_the_rows_of_sparks_own_tables(
    enabled: SparkSession, tmp_path: Path
) -> None:
    draw = random.Random(11)
    for name in ("sales", "days"):
        enabled.table(name).coalesce(1).write.parquet(str(tmp_path / name))
        enabled.read.parquet(str(tmp_path / name)).createOrReplaceTempView(f"plain_{name}")
    try:
        for text in [_query(draw) for _ in range(20)]:
            plain = text.replace(" sales", " plain_sales").replace(" days", " plain_days")
            wanted = sorted(map(str, enabled.sql(plain).collect()))
            assert sorted(map(str, enabled.sql(text).collect())) == wanted, text
    finally:
        for name in ("sales", "days"):
            enabled.catalog.dropTempView(f"plain_{name}")


def _query(draw: random.Random) -> str:
    sales = draw.choice(
        [
            "(select sold, amount from sales )",
            "(select sold, amount from sales where amount > 50 )",
            "(select sold, sum(amount) as amount from sales group by sold)",
            "(select sold, amount from sales order by amount limit 123)",
            "(select max(sold) as sold, amount % 50 as amount from sales group by amount % 50)",
            "(select sold, count(*) over (partition by amount % 3) as amount from sales )",
            "(select a.sold, b.day as amount from sales a left join days b on a.amount = b.day)",
        ]
    )
    days = draw.choice(
        [
            "(select day, month from days where month = 3)",
            "(select day, month from days where name = '2' and month > 7)",
            "(select day, max(month) as month from days where month < 2 group by day)",
            "(select day, month from days where month = 1 union all select 5, 5)",
            "(select b.sold as day, a.month from days a left join sales b on a.day = b.amount )",
        ]
    )
    kind = draw.choice(["join", "left join", "right join", "full join"])
    more = draw.choice(["", " and month > 0", " and amount > 90", " or month = 3"])
    where = draw.choice(["", " where month = 3", " where amount < 200", " where day is null"])
    return f"select * from {sales} s {kind} {days} d on sold = day{more}{where}"
