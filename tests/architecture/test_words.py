"""Names and texts of the package are those of the field: the project has no language of its own."""

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator

import pytest

from tests.architecture.source import ROOT, SourceFile, against, files

BANNED_NAMES = frozenset(
    (
        *("asked", "at", "each", "found", "given", "kept", "known", "made"),
        *("one", "place", "said", "told", "wanted", "whole"),
    )
)
BANNED_PHRASES = re.compile(
    r"\b(of ours|of theirs|beside|anew|what is no|by turns)\b", re.IGNORECASE
)

BANNED_IN_DOCS = re.compile(
    BANNED_PHRASES.pattern
    + r"|\b(in turns|lies|as they are|as it is|(?:is|are|was|were|be) (?:told by|taken for))\b",
    re.IGNORECASE,
)
"""What the documentation avoids, too: translations word by word, which stop a reader."""
_PAGES_OF_THE_ROOT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile")


def bound_names(tree: ast.AST) -> Iterator[str]:
    """Names of variables, parameters, fields, functions and classes, where they are bound."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ClassDef(name=name) | ast.ExceptHandler(name=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


_IRREGULAR = frozenset(
    (
        *(
            "bound",
            "broken",
            "brought",
            "built",
            "chosen",
            "cut",
            "done",
            "drawn",
            "frozen",
            "held",
        ),
        *("left", "made", "met", "put", "seen", "sent", "shown", "split", "taken", "written"),
    )
)
_PARTICIPLES = frozenset(("cached", "required"))
"""Functions that may be named so: the cache of a session, and a member that JSON must have."""


def participles(tree: ast.Module) -> list[str]:
    """Functions of a module for other modules that have the name of a result, not of an action."""
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return [
        name
        for name in names
        if name not in _PARTICIPLES
        and ((name.endswith("ed") and len(name) > 4 and name.isalpha()) or name in _IRREGULAR)
    ]


PUBLIC = {
    ("iceberg_spark/scan/snapshot_choice.py", "given"),
    ("iceberg_spark/checkup/report.py", "found"),
}
"""Names of the public surface, which stay: `TableScan.given`, `doctor().findings[0].found`."""


def banned_names(tree: ast.AST) -> list[str]:
    return sorted({name for name in bound_names(tree) if name.strip("_").lower() in BANNED_NAMES})


def banned_phrases(text: str) -> list[str]:
    """Banned phrases in docstrings, messages and comments."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return [
        f"line {token.start[0]}: {match.group()}"
        for token in tokens
        if token.type in (tokenize.STRING, tokenize.COMMENT)
        for match in BANNED_PHRASES.finditer(token.string)
    ]


def documentation() -> dict[str, str]:
    """The texts that readers see, by their path: pages, and the cells of notebooks with text."""
    paths = [*(ROOT / name for name in _PAGES_OF_THE_ROOT), *(ROOT / "docs").rglob("*.md")]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        prose = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
        texts[path.relative_to(ROOT).as_posix()] = "\n".join(prose)
    return texts


def package_files() -> tuple[SourceFile, ...]:
    return files("iceberg_spark")


def test_name_says_what_it_holds() -> None:
    found = against(lambda file: banned_names(file.tree), package_files())
    allowed = {path: [name] for path, name in PUBLIC}
    assert {path: names for path, names in found.items() if names != allowed.get(path)} == {}


def test_function_is_a_verb_phrase() -> None:
    assert against(lambda file: participles(file.tree), package_files()) == {}


def test_participle_is_found_as_the_name_of_a_function() -> None:
    text = "def narrowed(): pass\ndef split(): pass\ndef _kept(): pass\ndef narrow_plan(): pass"
    assert participles(ast.parse(text)) == ["narrowed", "split"]


def test_text_has_no_banned_phrase() -> None:
    assert against(lambda file: banned_phrases(file.text), package_files()) == {}


def test_documentation_has_no_banned_phrase() -> None:
    found = {
        path: phrases
        for path, text in documentation().items()
        if (phrases := [match.group() for match in BANNED_IN_DOCS.finditer(text)])
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "def f(*, given): pass",
        "def told(): pass",
        "class C:\n    place: int",
        "[one for one in []]",
        "for at, x in []: pass",
        "match x:\n    case [known, *kept]: pass",
        "class C:\n    def __init__(self): self._wanted = 1",
    ],
)
def test_banned_name_is_found_wherever_it_is_bound(source: str) -> None:
    assert banned_names(ast.parse(source))


def test_attribute_and_keyword_of_other_libraries_may_have_any_name() -> None:
    assert banned_names(ast.parse("x = match.found\nf(given=1)")) == []


def test_banned_phrase_is_found_in_docstrings_messages_and_comments() -> None:
    text = '"""A file of ours."""\nraise ValueError("what is no number")\n# read anew\n'
    assert banned_phrases(text) == ["line 1: of ours", "line 2: what is no", "line 3: anew"]
