"""Links are followed as the operating system follows them, each folder once."""

import os
from pathlib import Path

import pytest

from iceberg_spark.io.places import RealPaths


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a" / "b" / "c").mkdir(parents=True)
    (tmp_path / "to_b").symlink_to(tmp_path / "a" / "b")
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone").symlink_to("/no/such/place")
    return tmp_path


@pytest.mark.parametrize("below", [
    "", "a/b/c", "to_b/c", "a/up/a/b", "a/up/to_b/c/new/er", "loop/x", "gone/x", "no/such",
    "a//b", "a/./b", "a/b/../b/c", "to_b/../b", "a/b/", "a\0b",
])  # fmt: skip
def test_a_path_leads_where_the_operating_system_says(tree: Path, below: str) -> None:
    paths, path = RealPaths(), f"{tree}/{below}"
    expected = path if "\0" in path else os.path.realpath(path)
    assert paths.of(path).rstrip("/") == paths.of(path).rstrip("/") == expected.rstrip("/")


def test_the_root_and_relative_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert RealPaths().of("/") == "/"
    assert RealPaths().of("x") == str(tmp_path / "x")


def test_a_folder_is_asked_for_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    islink = os.path.islink
    monkeypatch.setattr(os.path, "islink", lambda path: asked.append(path) or islink(path))
    paths = RealPaths()
    for name in ("b/c", "b/d", "b/e"):
        paths.of(f"{tree}/a/{name}")
    assert len(asked) == len(set(asked))
