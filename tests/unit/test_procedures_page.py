"""The page about procedures has the parameters and columns of the code."""

from iceberg_spark.statements.procedures import PROCEDURES
from scripts.procedures_page import MEANINGS, PAGE, PURPOSES, insert_report


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert insert_report(page) == page, "make settings"


def test_each_procedure_has_a_purpose() -> None:
    assert PURPOSES.keys() == PROCEDURES.keys()


def test_each_meaning_is_that_of_a_parameter() -> None:
    parameters = {
        name
        for procedure, described in PROCEDURES.items()
        for parameter in described.parameters
        for name in (parameter, f"{procedure}.{parameter}")
    }
    assert MEANINGS.keys() - parameters == set()
