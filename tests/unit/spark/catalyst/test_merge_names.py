"""What the columns of a merge stand behind in its texts."""

from dataclasses import replace
from typing import Any

import pytest

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spark.catalyst.column_texts import MergeNames

FRAME: Any = None
COLUMNS = frozenset({"id", "v", "db", "x.y"})
NAMES = MergeNames(FRAME, "s", "own", ("cat", "db", "t"), COLUMNS, str.lower)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("cat.db.t.id", "t.id"), ("db.t.id", "t.id"), ("CAT.Db.T.ID", "t.ID"),
        ("db.t.v.inner", "t.v.inner"), ("t.id", "t.id"), ("id", "id"), ("db.t", "db.t"),
        ("db.t.none", "db.t.none"), ("other.t.id", "other.t.id"), ("s.id", "s.id"),
    ],
)  # fmt: skip
def test_a_column_of_the_target_stands_behind_its_last_name(given: str, expected: str) -> None:
    assert ".".join(NAMES.of_target(given.split("."))) == expected


def test_case_counts_where_the_session_says_so() -> None:
    strict = replace(NAMES, fold=str)
    assert strict.of_target(["db", "T", "id"]) == ("db", "T", "id")
    assert strict.of_target(["db", "t", "id"]) == ("t", "id")


def test_a_column_of_the_source_stands_behind_the_alias() -> None:
    assert NAMES.of_source(["id"]) == ("s", "id")
    assert NAMES.of_source(["p", "a"]) == ("s", "p", "a")
    assert NAMES.of_source(["OWN", "id"]) == ("s", "id")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("v", "v"), ("t.v", "`v`"), ("DB.T.v", "`v`"), ("cat.db.t.v.a", "`v`.`a`"),
        ("`t`.`v`", "`v`"), ("x.y", "x.y"), ("t.`x.y`", "`x.y`"), ("v.a", "v.a"),
        ("db.a", "db.a"), ("a.v", "a.v"),
    ],
)  # fmt: skip
def test_an_assigned_column_is_without_the_tables_name(given: str, expected: str) -> None:
    assert NAMES.assigned({given: "1"}) == {expected: "1"}


def test_a_column_gets_one_value() -> None:
    with pytest.raises(InvalidSchemaError, match="twice"):
        NAMES.assigned({"t.v": "1", "db.t.v": "2"})
