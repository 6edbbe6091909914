"""The page about settings and options of Java's runtime has the tables of the code."""

from iceberg_spark.spec.runtime_names import READ_OPTIONS, SESSION_SETTINGS, WRITE_OPTIONS
from scripts.runtime_settings import PAGE, insert_report


def test_the_page_is_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert insert_report(page) == page, "make settings"


def test_a_name_is_listed_once_in_its_table() -> None:
    for names in (SESSION_SETTINGS, READ_OPTIONS, WRITE_OPTIONS):
        assert len({name.name for name in names}) == len(names)
