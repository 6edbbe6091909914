"""Whatever happened to a table: Spark's own reader gives the rows that ours gives."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import random_tables
from tests.oracle.compare import assert_same_rows
from tests.row_model import found


@pytest.mark.slow
@settings(random_tables.WITH_SPARK, max_examples=8)
@given(history=random_tables.histories, choice=st.data())
def test_a_random_table_reads_the_same_by_both_engines(
    spark: Any, history: list[random_tables.Step], choice: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        built = random_tables.build(f"{folder}/t", Path(folder), history)
        table = built.table
        frame = table.scan().to_df(spark)
        rows = table.scan().to_arrow()
        assert_same_rows(rows, frame.toArrow(), what="all rows")
        if built.model.known:
            assert found(table.schema(), rows) == built.model.expected(table.schema())
        text = choice.draw(st.sampled_from(random_tables.filters(table)))
        expected = table.scan(text).to_arrow()
        assert_same_rows(expected, table.scan(text).to_df(spark).toArrow(), what=text)
        assert_same_rows(expected, frame.where(text).toArrow(), what=f"later {text}")
        marked = table.scan(text, metadata_columns=("_deleted", "_pos", "_spec_id"))
        assert_same_rows(marked.to_arrow(), marked.to_df(spark).toArrow(), what="deleted ones too")
