"""Ibis works on the tables of an enabled session."""

from collections.abc import Iterator
from typing import Any

import ibis
import pandas as pd
import pytest
from ibis.common.exceptions import TableNotFound
from pyspark.sql import SparkSession

WHERE = ("lake", "shop")
ROWS = pd.DataFrame({"id": [1, 2, 3], "region": ["a", "b", "a"], "price": [1.5, 2.5, 3.5]})


@pytest.fixture
def ibis_connection(lake: SparkSession) -> Iterator[Any]:
    lake.sql("CREATE NAMESPACE lake.shop")
    connection = ibis.pyspark.connect(lake)
    connection.create_table("sales", ROWS, database=WHERE)
    yield connection
    for table in connection.list_tables(database=WHERE):
        connection.drop_table(table, database=WHERE)
    lake.sql("DROP NAMESPACE lake.shop")


def values(expression: Any, *keys: str) -> list[tuple[Any, ...]]:
    frame = expression.order_by(*keys).execute()
    return [tuple(row) for row in frame.itertuples(index=False)]


def test_tables_and_databases_are_listed(ibis_connection: Any) -> None:
    assert "lake" in ibis_connection.list_catalogs()
    assert ibis_connection.list_databases(catalog="lake") == ["shop"]
    assert ibis_connection.list_tables(database=WHERE) == ["sales"]
    assert ibis_connection.get_schema("sales", catalog="lake", database="shop") == ibis.schema(
        {"id": "int64", "region": "string", "price": "float64"}
    )
    ibis_connection.create_database("other", catalog="lake")
    ibis_connection.drop_database("other", catalog="lake")


@pytest.mark.parametrize("database", [WHERE, "lake.shop"])
def test_a_table_is_found_by_its_database(ibis_connection: Any, database: Any) -> None:
    assert ibis_connection.table("sales", database=database).count().execute() == 3


def test_tables_are_created_replaced_and_dropped(ibis_connection: Any) -> None:
    sales = ibis_connection.table("sales", database=WHERE)
    empty = ibis.schema({"id": "int64", "name": "string"})
    ibis_connection.create_table("empty", schema=empty, database=WHERE)
    ibis_connection.create_table("some", sales.filter(sales.id > 1), database=WHERE)
    parted = ibis_connection.create_table("parted", ROWS, database=WHERE, partition_by="region")
    assert ibis_connection.table("empty", database=WHERE).schema() == empty
    assert ibis_connection.table("some", database=WHERE).count().execute() == 2
    assert parted.count().execute() == 3
    ibis_connection.create_table("some", ROWS, database=WHERE, overwrite=True, format="iceberg")
    assert ibis_connection.table("some", database=WHERE).count().execute() == 3
    ibis_connection.drop_table("some", database=WHERE)
    ibis_connection.drop_table("some", database=WHERE, force=True)
    with pytest.raises(TableNotFound):
        ibis_connection.table("some", database=WHERE)


def test_rows_are_inserted_overwritten_merged_and_removed(ibis_connection: Any) -> None:
    sales = ibis_connection.table("sales", database=WHERE)
    ibis_connection.insert("sales", ROWS.assign(id=ROWS.id + 2), database=WHERE)
    assert [row[0] for row in values(sales, "id")] == [1, 2, 3, 3, 4, 5]
    ibis_connection.insert("sales", ROWS, database=WHERE, overwrite=True)
    new = pd.DataFrame({"id": [3, 4], "region": ["c", "c"], "price": [0.5, 0.5]})
    ibis_connection.upsert("sales", new, on="id", database=WHERE)
    assert values(sales, "id") == [(1, "a", 1.5), (2, "b", 2.5), (3, "c", 0.5), (4, "c", 0.5)]
    ibis_connection.truncate_table("sales", database=WHERE)
    assert sales.count().execute() == 0


def test_joins_windows_and_groups(ibis_connection: Any) -> None:
    sales = ibis_connection.table("sales", database=WHERE)
    names = ibis.memtable(pd.DataFrame({"region": ["a", "b"], "name": ["Alps", "Bay"]}))
    joined = sales.join(names, "region").select("id", "name")
    assert values(joined, "id") == [(1, "Alps"), (2, "Bay"), (3, "Alps")]
    total = sales.price.sum().over(group_by="region")
    row = ibis.row_number().over(group_by="region", order_by="id")
    assert values(sales.select("id", total=total, row=row), "id") == [
        (1, 5.0, 0),
        (2, 2.5, 0),
        (3, 5.0, 1),
    ]
    grouped = sales.group_by("region").agg(n=sales.count())
    assert values(grouped, "region") == [("a", 2), ("b", 1)]


def test_rows_come_as_arrow_and_by_sql(ibis_connection: Any) -> None:
    sales = ibis_connection.table("sales", database=WHERE)
    assert sales.to_pyarrow().num_rows == 3
    assert sum(batch.num_rows for batch in sales.to_pyarrow_batches()) == 3
    counted = ibis_connection.sql("SELECT count(*) AS n FROM lake.shop.sales")
    assert counted.execute().n.tolist() == [3]
    ibis_connection.create_view("sales_view", sales, overwrite=True)
    assert ibis_connection.table("sales_view").count().execute() == 3
    ibis_connection.drop_view("sales_view")
    assert sales.cache().count().execute() == 3
