"""Modules that `LazyModule` names as text are imports like any other: the layers hold for them."""

import ast
from collections.abc import Iterator
from configparser import ConfigParser

import grimp
import pytest

from tests.architecture.source import ROOT, SourceFile, files

OURS = files("iceberg_spark")


def lazy_imports(file: SourceFile) -> Iterator[tuple[str, int]]:
    """The modules that a file names, and the line."""
    for node in ast.walk(file.tree):
        match node:
            case ast.Call(func=ast.Name("LazyModule"), args=[ast.Constant(str(named))]):
                yield named, node.lineno
            case ast.Call(func=ast.Name("LazyFunction"), args=[ast.Constant(str(named)), _]):
                yield named, node.lineno
            case ast.Call(func=ast.Name("LazyModule" | "LazyFunction")):
                raise AssertionError(f"{file.path}:{node.lineno} names no module as text")


def contract(name: str) -> dict[str, str]:
    parser = ConfigParser()
    parser.read(ROOT / ".importlinter")
    return dict(parser[f"importlinter:contract:{name}"])


def layers(lines: str) -> list[grimp.Layer]:
    """A contract's layers as grimp takes them; those that are not built yet are left out."""
    found = []
    for line in lines.split("\n"):
        names = [name.strip() for name in line.split("|") if "(" not in name and name.strip()]
        if names:
            found.append(grimp.Layer(*names, independent=True))
    return found


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Every import of the package, the lazy ones among them."""
    made = grimp.build_graph("iceberg_spark", cache_dir=None)
    for file in OURS:
        for named, line in lazy_imports(file):
            if named.startswith("iceberg_spark."):
                assert named in made.modules, f"{file.path}:{line} names {named}: not there"
                made.add_import(importer=file.module, imported=named)
    return made


def test_modules_are_named_lazily_at_all():
    named = {name for file in OURS for name, _ in lazy_imports(file)}
    assert {"pyspark.sql", "iceberg_spark.expr.parse", "polars"} <= named


@pytest.mark.parametrize("name", ["layers", "spark-layers"])
def test_lazy_imports_only_point_down(graph: grimp.ImportGraph, name: str):
    rules = contract(name)
    illegal = graph.find_illegal_dependencies_for_layers(
        layers(rules["layers"]), containers={rules["containers"].strip()}
    )
    assert [(each.importer, each.imported) for each in illegal] == []


def test_no_lazy_import_closes_a_cycle(graph: grimp.ImportGraph):
    closed = [
        " -> ".join(chain)
        for file in OURS
        for named, _ in lazy_imports(file)
        if named in graph.modules
        and (chain := graph.find_shortest_chain(importer=named, imported=file.module))
    ]
    assert closed == []


def test_a_lazy_import_upwards_is_found():
    made = grimp.ImportGraph()
    for module in ("a", "a.top", "a.bottom"):
        made.add_module(module)
    made.add_import(importer="a.bottom", imported="a.top")
    order = layers("top\nbottom\n(later)")
    assert len(made.find_illegal_dependencies_for_layers(order, containers={"a"})) == 1
    named = SourceFile("a/bottom.py", 'x = LazyModule("a.top")')
    assert list(lazy_imports(named)) == [("a.top", 1)]
