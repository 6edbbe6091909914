"""What Spark's Python processes start with."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import iceberg_spark
from iceberg_spark.spark.session.in_worker import in_worker

SPARK = Path(iceberg_spark.__file__).parent / "spark"
OF_A_READER_OR_WRITER = {"partitions", "read", "write", "commit"}
OF_A_SOURCE = {"schema", "reader", "writer"}


def test_archives_that_modules_came_from_are_not_listed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "some.zip"
    with ZipFile(archive, "w") as made:
        made.writestr("in_an_archive/__init__.py", "")
        made.writestr("in_an_archive/first.py", "")
        made.writestr("in_an_archive/second.py", "")
    monkeypatch.syspath_prepend(str(archive))
    __import__("in_an_archive.first")
    places = [str(archive), str(archive / "in_an_archive")]
    assert all(place in sys.path_importer_cache for place in places)
    in_worker(lambda: None)()
    assert not any(place in sys.path_importer_cache for place in places)
    __import__("in_an_archive.second")  # is still found


def test_all_that_workers_call_first_is_marked() -> None:
    lacking = []
    for path in SPARK.rglob("*.py"):
        for made in ast.walk(ast.parse(path.read_text())):
            if isinstance(made, ast.ClassDef):
                lacking += [f"{path.name}: {made.name}.{each}" for each in _unmarked(made)]
    assert lacking == []


def _unmarked(made: ast.ClassDef) -> list[str]:
    bases = {ast.unparse(base) for base in made.bases}
    first = {"__call__"}
    if bases & {"DataSourceReader", "DataSourceArrowWriter", "DataSourceWriter"}:
        first |= OF_A_READER_OR_WRITER
    if "DataSource" in bases:
        first |= OF_A_SOURCE
    return [
        each.name
        for each in made.body
        if isinstance(each, ast.FunctionDef)
        and each.name in first
        and not any(ast.unparse(mark) == "in_worker" for mark in each.decorator_list)
    ]
