"""Libraries that take or give Spark's frames work with the tables of an enabled session."""

from collections.abc import Iterator
from typing import Any

import great_expectations as gx
import pandera.pyspark as pa
import pyspark.pandas as ps
import pytest
from chispa import assert_df_equality
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StringType
from sqlframe.spark import SparkDataFrameReader
from sqlframe.spark import SparkSession as SqlFrameSession

TABLE = "lake.frames.t"


@pytest.fixture
def table(lake: SparkSession) -> Iterator[str]:
    lake.sql("CREATE NAMESPACE lake.frames")
    lake.sql(f"CREATE TABLE {TABLE} (id int, s string)")
    lake.sql(f"INSERT INTO {TABLE} VALUES (1, 'a'), (2, 'b'), (3, 'a')")
    yield TABLE
    lake.sql(f"DROP TABLE {TABLE}")
    lake.sql("DROP NAMESPACE lake.frames")


def test_pandas_api_on_spark(lake: SparkSession, table: str) -> None:
    frame = ps.read_table(table)
    assert frame.groupby("s").id.sum().sort_index().to_dict() == {"a": 4, "b": 2}
    frame[frame.id > 1].to_spark().writeTo(table).append()
    assert sorted(ps.sql(f"SELECT id FROM {table}").id.tolist()) == [1, 2, 2, 3, 3]


def test_sqlframe(lake: SparkSession, table: str) -> None:
    session: Any = SqlFrameSession.builder.config("spark", lake).getOrCreate()
    reader: SparkDataFrameReader = session.read
    frame = reader.table(table).where("id > 1").groupBy("s").count()
    assert sorted(tuple(row) for row in frame.collect()) == [("a", 1), ("b", 1)]


def test_great_expectations(lake: SparkSession, table: str) -> None:
    context = gx.get_context(mode="ephemeral")
    source = context.data_sources.add_spark("spark")
    whole = source.add_dataframe_asset("t").add_batch_definition_whole_dataframe("all")
    batch = whole.get_batch({"dataframe": lake.table(table)})
    expected = gx.expectations.ExpectColumnValuesToBeInSet
    assert batch.validate(expected(column="s", value_set=["a", "b"])).success
    assert not batch.validate(expected(column="s", value_set=["a"])).success


class Rows(pa.DataFrameModel):
    """What rows of the table are."""

    id: IntegerType = pa.Field(gt=0)
    s: StringType = pa.Field(isin=["a"])


def test_pandera(lake: SparkSession, table: str) -> None:
    valid = Rows.validate(lake.table(table).where("s = 'a'"))
    assert (valid.count(), valid.pandera.errors) == (2, {})
    assert "DATA" in Rows.validate(lake.table(table)).pandera.errors


def test_chispa(lake: SparkSession, table: str) -> None:
    expected = lake.createDataFrame([(3, "a"), (2, "b"), (1, "a")], "id int, s string")
    assert_df_equality(lake.table(table), expected, ignore_row_order=True)
