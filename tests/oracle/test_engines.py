"""The engines agree with each other before the product is asked, and refuse what is on record."""

from collections.abc import Callable

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.oracle import rows
from tests.oracle.compare import assert_same_rows, canonical_column, same_rows
from tests.oracle.engines import ENGINES, PYICEBERG, Engine
from tests.oracle.java_api import frame, identifier, location, read
from tests.oracle.java_tables import CASES, FIRST, SECOND, THIRD, Case, JavaTable, create

Tables = Callable[[Case], JavaTable]
by_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
by_engine = pytest.mark.parametrize("engine", ENGINES, ids=lambda e: f"{e.name}-{e.version}")


def test_java_returns_the_rows_it_was_given(java_table: Tables) -> None:
    given = pa.concat_tables([rows.table(*span) for span in (FIRST, SECOND, THIRD)])
    for case in CASES:
        if case.deletes == "none":
            assert_same_rows(given, java_table(case).rows, what=case.name)


def test_every_kind_of_delete_removes_rows(java_table: Tables) -> None:
    for case in CASES:
        left = java_table(case).rows.num_rows
        assert (left == THIRD[1]) == (case.deletes == "none"), case.name


@by_engine
@by_case
def test_an_engine_reads_java_or_refuses_as_recorded(
    java_table: Tables, engine: Engine, case: Case
) -> None:
    table, refusal = java_table(case), engine.refusal(case)
    if refusal is not None and refusal.error is not None:
        with pytest.raises(Exception, match=refusal.error):
            engine.read(table.path)
        return
    expected = table.rows.drop_columns(list(engine.wrong_columns))
    actual = engine.read(table.path).select(expected.column_names)
    if refusal is not None:
        assert not same_rows(expected, actual), f"{engine.name} no longer {refusal.reason}"
        return
    assert_same_rows(expected, actual, what=f"{engine.name} on {case.name}")


def test_pyiceberg_still_reads_null_lists_of_structs_as_empty(java_table: Tables) -> None:
    table = java_table(Case(2, "parquet", "unpartitioned", "none"))
    actual = PYICEBERG.read(table.path)
    for column in PYICEBERG.wrong_columns:
        assert None in canonical_column(table.rows[column])
        assert None not in canonical_column(actual[column])


def test_java_still_reads_orc_zeros_as_the_first_zero(java: SparkSession) -> None:
    create(java, "orc_zeros", "d double", write_format_default="orc")
    zeros = pa.table({"d": pa.array([-0.0, 0.0], pa.float64())})
    frame(java, zeros).coalesce(1).writeTo(identifier("orc_zeros")).append()
    actual = read(java, location(java, "orc_zeros"))
    assert canonical_column(actual["d"]) == canonical_column(pa.array([-0.0, -0.0]))
