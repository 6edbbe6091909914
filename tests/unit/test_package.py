"""The package's front: names are found when used, and type checkers see the same ones."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import iceberg_spark as ice

STUB = Path(ice.__file__).with_name("__init__.pyi")


def stubbed() -> dict[str, str]:
    """The stub's names with the modules they come from."""
    found = {}
    for node in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            found |= {str(each.asname): str(node.module) for each in node.names}
    return found


def test_the_stub_has_every_public_name_and_no_other():
    assert sorted(stubbed()) == sorted(ice.__all__) == dir(ice)


@pytest.mark.parametrize(("name", "module"), stubbed().items())
def test_a_name_is_what_the_stub_says(name: str, module: str):
    assert getattr(ice, name) is getattr(import_module(module), name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'nope'"):
        ice.nope  # noqa: B018


def test_the_package_has_a_version_and_ships_its_types():
    assert ice.__version__
    assert STUB.with_name("py.typed").exists()
