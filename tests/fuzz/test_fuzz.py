"""The first changed files of `make fuzz` end in rows or in an error that names the file."""

from pathlib import Path

import pytest

from iceberg_spark.catalog.versions import newest_version
from tests.fuzz.engine import fuzz
from tests.fuzz.targets import CORPUS, CorpusIO, inputs, read_table

FIRST_INPUTS = 40


@pytest.mark.timeout(240)
def test_changed_files_end_in_rows_or_in_an_error_that_names_them():
    found = fuzz(0, FIRST_INPUTS, seconds=200)
    assert found.wrong == []
    assert found.count == FIRST_INPUTS


@pytest.mark.parametrize("table", sorted((CORPUS / "tables").iterdir()), ids=lambda one: one.name)
def test_the_tables_of_the_corpus_are_read(table: Path):
    found = newest_version(CorpusIO(table), "/t")
    assert found is not None
    read_table(table, "")


def test_the_corpus_is_small_and_has_every_decoder():
    files = [path for path in CORPUS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 300_000
    names = {Path(one.name).name.rpartition("-")[0] or one.name for one in inputs()}
    assert {"type", "transform", "predicate", "mapping", "update", "requirement"} <= names
    assert {path.suffix for path in files} >= {
        ".json",
        ".text",
        ".avro",
        ".parquet",
        ".orc",
        ".puffin",
    }
