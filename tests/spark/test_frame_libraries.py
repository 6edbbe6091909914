"""Libraries that take or return DataFrames of Spark work with Iceberg tables.

The others are tests of `tests/clients`: they need packages that exclude ones of this environment.
"""

import warnings
from typing import Any

import pytest
from chispa import assert_df_equality

with warnings.catch_warnings():  # about an environment variable that the module sets itself
    warnings.simplefilter("ignore")
    import pyspark.pandas as ps

TABLE = "lake.d.t"


@pytest.fixture
def filled(lake: Any) -> Any:
    lake.sql("CREATE NAMESPACE lake.d")
    lake.sql(f"CREATE TABLE {TABLE} (id int, s string)")
    lake.sql(f"INSERT INTO {TABLE} VALUES (1, 'a'), (2, 'b'), (3, 'a')")
    return lake


@pytest.mark.filterwarnings("ignore::pyspark.pandas.utils.PandasAPIOnSparkAdviceWarning")
def test_pandas_api_on_spark_reads_and_writes_tables(filled: Any) -> None:
    frame = ps.read_table(TABLE)
    assert frame.groupby("s").id.sum().sort_index().to_dict() == {"a": 4, "b": 2}
    frame[frame.id > 1].to_spark().writeTo(TABLE).append()
    assert sorted(ps.sql(f"SELECT id FROM {TABLE}").id.tolist()) == [1, 2, 2, 3, 3]


def test_chispa_compares_tables(filled: Any) -> None:
    expected = filled.createDataFrame([(3, "a"), (2, "b"), (1, "a")], "id int, s string")
    assert_df_equality(filled.table(TABLE), expected, ignore_row_order=True)
