"""Whatever happened to a table: Java and both of our engines read the rows that it should hold."""

import tempfile
import uuid
from pathlib import Path

from hypothesis import given, settings
from pyspark.sql import SparkSession

from tests import random_tables
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import location, read
from tests.oracle.product import read_both
from tests.row_model import found


@settings(random_tables.WITH_SPARK, max_examples=5)
@given(history=random_tables.histories)
def test_a_random_table_reads_as_java_reads_it(
    java: SparkSession, history: list[random_tables.Step]
) -> None:
    path = location(java, f"random_{uuid.uuid4().hex}")
    with tempfile.TemporaryDirectory() as folder:
        built = random_tables.build(path, Path(folder), history)
        rows = read_both(java, path)
        if built.model.known:
            schema = built.table.schema()
            assert found(schema, rows) == built.model.expected(schema)
        try:
            expected = read(java, path)
        except Exception as error:
            # A key column that was dropped, and its name given again: Java reads neither.
            if "multiple fields for name" not in str(error):
                raise
        else:
            assert_same_rows(expected, rows)
