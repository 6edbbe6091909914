"""The project's Python files as syntax trees, and what the architecture tests ask of them."""

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("iceberg_spark", "pyspark_pyiceberg_lite")
FOLDERS = (*PACKAGES, "benchmarks", "demo", "scripts", "tests")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One file: its path below the repository, text and tree."""

    path: str
    text: str

    @property
    def tree(self) -> ast.Module:
        """Not to be changed: every rule is asked of the same tree."""
        return parsed(self.text)

    @property
    def module(self) -> str:
        parts = Path(self.path).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


parsed = cache(ast.parse)
"""Each file once: some ten rules walk it."""


@cache
def files(*folders: str) -> tuple[SourceFile, ...]:
    return tuple(
        SourceFile(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
    )


def against(rule: Callable[[SourceFile], object], of: Iterable[SourceFile]) -> dict[str, object]:
    """What a rule found, by the path of each file that breaks it: a rule is one test."""
    return {file.path: found for file in of if (found := rule(file))}


def functions(tree: ast.AST) -> Iterator[FunctionNode]:
    return (node for node in ast.walk(tree) if isinstance(node, FunctionNode))


def long_functions(tree: ast.AST, most: int) -> list[str]:
    lengths = ((f.name, (f.end_lineno or f.lineno) - f.lineno + 1) for f in functions(tree))
    return [f"{name} has {lines} lines" for name, lines in lengths if lines > most]


def imports_in_functions(tree: ast.AST) -> list[str]:
    return [
        f"{function.name} imports on line {node.lineno}"
        for function in functions(tree)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]


def imported_modules(tree: ast.AST) -> set[str]:
    """Whole names: `from a.b import c` gives a.b."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found.update(name.name for name in names)
            case ast.ImportFrom(module=str(module)):
                found.add(module)
    return found


@cache
def names_used(tree: ast.AST) -> frozenset[str]:
    """Every bare name, attribute and imported name."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                found.add(name)
    return frozenset(found)
