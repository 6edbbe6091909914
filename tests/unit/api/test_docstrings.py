"""The reference describes each argument of a public method, and its examples run."""

import inspect

import pytest

from tests.docstrings import (
    described_methods,
    examples,
    needs_spark,
    run,
    undescribed_parameters,
)

EXAMPLES = {name: text for name, text in examples().items() if not needs_spark(name, text)}


def test_each_public_method_has_an_example() -> None:
    assert described_methods().keys() - examples().keys() == set()


def test_examples_are_a_section_that_the_pages_render_as_code() -> None:
    """Under `Example:` the site shows the three signs before a line as quotations."""
    texts = {name: inspect.getdoc(method) or "" for name, method in described_methods().items()}
    assert [name for name, text in texts.items() if "\nExamples:\n    >>> " not in text] == []


def test_each_argument_of_a_public_method_is_described() -> None:
    missing = {name: undescribed_parameters(method) for name, method in described_methods().items()}
    assert {name: arguments for name, arguments in missing.items() if arguments} == {}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_the_example_of_a_method_runs(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__PROD__WAREHOUSE", str(tmp_path / "warehouse"))
    run(EXAMPLES[name], tmp_path)
