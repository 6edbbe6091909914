"""The page about procedures has the parameters and columns of the code."""

from iceberg_spark.statements.procedures import PROCEDURES
from scripts.procedures_page import PAGE, PURPOSES, insert_report


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert insert_report(page) == page, "make settings"


def test_each_procedure_has_a_purpose() -> None:
    assert PURPOSES.keys() == PROCEDURES.keys()
