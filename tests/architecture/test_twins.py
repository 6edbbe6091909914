"""What the architecture calls twins is there, and so is the test that holds each pair together."""

import re

import pytest

from tests.architecture.source import ROOT

TABLE = (ROOT / "docs/architecture.md").read_text().partition("## Twins")[2]
ROWS = [re.findall(r"`([^`]+)`", line) for line in TABLE.splitlines() if line.count("`") >= 6]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_both_twins_and_their_test_are_there(row: list[str]):
    over_arrow, for_spark, test = row
    for module in (over_arrow, for_spark):
        assert (ROOT / f"iceberg_spark/{module}.py").is_file()
    path, _, name = test.partition("::")
    assert f"def {name}(" in (ROOT / path).read_text()


def test_there_are_twins():
    assert len(ROWS) >= 8
