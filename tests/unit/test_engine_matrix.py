"""The page about other engines has the rows and columns of the script that writes it."""

from pathlib import Path

import pyarrow as pa
import pytest

from scripts.engine_matrix.__main__ import PAGE
from scripts.engine_matrix.compare import find_difference
from scripts.engine_matrix.engines import ENGINES
from scripts.engine_matrix.readers.this_library import read
from scripts.engine_matrix.report import Outcome, Verdict, insert_report, matrix_of, report
from scripts.engine_matrix.tables import ROWS, VARIANTS, Variant, newest_metadata


def test_the_page_has_a_cell_for_each_table_and_engine() -> None:
    matrix = matrix_of(PAGE.read_text(encoding="utf-8"))
    assert list(matrix) == [engine.title for engine in ENGINES]
    titles = [variant.title for variant in VARIANTS]
    assert {engine: list(column) for engine, column in matrix.items()} == dict.fromkeys(
        matrix, titles
    )


def test_the_page_says_that_this_library_reads_every_table() -> None:
    matrix = matrix_of(PAGE.read_text(encoding="utf-8"))
    assert set(matrix["this library"].values()) == {"yes"}


def test_names_of_tables_differ() -> None:
    assert len({variant.name for variant in VARIANTS}) == len(VARIANTS)


@pytest.mark.filterwarnings("ignore:.*brotli:UserWarning")
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda variant: variant.name)
def test_this_library_reads_every_table_of_the_matrix(tmp_path: Path, variant: Variant) -> None:
    location = variant.location(tmp_path)
    rows = variant.write(location)
    assert find_difference(rows, read(newest_metadata(location))) is None


def test_rows_differ_by_columns_number_and_values_but_not_by_order() -> None:
    assert find_difference(ROWS, ROWS.take([5, 0, 1, 2, 3, 4]).select(["name", "id"])) is None
    assert find_difference(ROWS, ROWS.select(["id"])) == "the columns id"
    assert find_difference(ROWS, ROWS.slice(1)) == "5 rows of 6"
    other = ROWS.set_column(1, "name", pa.array(["a", "b", "c", "d", "e", ""]))
    assert find_difference(ROWS, other) == "(3, 'c') for (3, None)"


def test_a_report_numbers_reasons_and_is_read_back_from_its_page() -> None:
    refused = Outcome(Verdict.REFUSED, "no such thing")
    outcomes = {
        "one": {"a": Outcome(Verdict.RIGHT), "b": refused},
        "two": {"a": refused, "b": Outcome(Verdict.WRONG, "returns nothing")},
    }
    text = report(outcomes, {"one": "1.0", "two": "2.0"})
    assert "1. two, one: `no such thing`\n2. two: `returns nothing`" in text
    page = insert_report("before", text)
    assert matrix_of(page) == {
        "one": {"a": "yes", "b": "refuses (1)"},
        "two": {"a": "refuses (1)", "b": "**wrong rows** (2)"},
    }
    assert insert_report(page, text) == page
