"""The generated tables of the documentation are those that the code gives."""

from types import ModuleType

import pytest

from scripts import (
    catalog_properties_page,
    error_conditions_page,
    procedures_page,
    runtime_settings,
)


@pytest.mark.parametrize(
    "page", [catalog_properties_page, error_conditions_page, procedures_page, runtime_settings]
)
def test_page_is_up_to_date(page: ModuleType) -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.insert_report(text) == text, "make settings"
