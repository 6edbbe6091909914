"""What a `repr` of catalogs and stores may show: no properties, for secrets are among them."""

import ast
from collections.abc import Iterator

from tests.architecture.source import SourceFile, against, files


def shown_properties(file: SourceFile) -> list[str]:
    """Fields of dataclasses that are mappings, and that the generated `repr` shows."""
    return [
        f"{node.name}.{ast.unparse(one.target)}"
        for node in ast.walk(file.tree)
        if isinstance(node, ast.ClassDef) and not has_own_repr(node)
        for one in mappings(node)
        if "repr=False" not in ast.unparse(one)
    ]


def has_own_repr(node: ast.ClassDef) -> bool:
    """Or one that is not generated, since it is no dataclass."""
    generated = any("dataclass" in ast.unparse(each) for each in node.decorator_list)
    return not generated or "__repr__" in {
        each.name for each in node.body if isinstance(each, ast.FunctionDef)
    }


def mappings(node: ast.ClassDef) -> Iterator[ast.AnnAssign]:
    for each in node.body:
        match each:
            case ast.AnnAssign(annotation=ast.Subscript(value=ast.Name(id="Mapping" | "dict"))):
                yield each


def test_dataclasses_of_catalogs_and_stores_show_no_properties():
    rooms = files("iceberg_spark/catalog", "iceberg_spark/io")
    assert len(rooms) > 50
    assert against(shown_properties, rooms) == {}


def test_shown_properties_are_found():
    text = (
        "@dataclass\nclass A:\n    a: dict[str, str]\n    b: Mapping[str, str] = field(repr=False)"
    )
    assert shown_properties(SourceFile("a.py", text)) == ["A.a"]
