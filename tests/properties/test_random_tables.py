"""Whatever happened to a table: it holds the rows that the rules of deletes leave."""

import tempfile
from pathlib import Path

from hypothesis import given, settings

from tests import random_tables
from tests.row_model import found


@settings(max_examples=20)
@given(history=random_tables.histories)
def test_a_random_table_holds_the_rows_of_its_history(history: list[random_tables.Step]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        built = random_tables.build(f"{folder}/t", Path(folder), history)
        if built.model.known:
            schema = built.table.schema()
            rows = built.table.scan().to_arrow()
            assert found(schema, rows) == built.model.expected(schema)
