"""Columns qualified with full names, next to relations with the same short name."""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError

Run = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def run(any_spark: Any, sql_home: Path) -> Iterator[Run]:
    """A statement's rows in order; `st.d.t` has 1, 2, 3, `st.e.t` 2, 3, 4 and the view t has 2.

    `st.e.facts` has a struct `t` whose `id` is 3.
    """

    def does(text: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in ice.sql(any_spark, text).collect())

    does("CREATE NAMESPACE st.e")
    does("CREATE TABLE st.d.t AS SELECT id, id * 10 AS v FROM VALUES (1), (2), (3) AS x(id)")
    does("CREATE TABLE st.e.t AS SELECT id, id * 100 AS v FROM VALUES (2), (3), (4) AS x(id)")
    does("CREATE TABLE st.e.facts AS SELECT 1 AS id, named_struct('id', 3) AS t")
    any_spark.sql("SELECT 2 AS id").createOrReplaceTempView("t")
    yield does
    any_spark.catalog.dropTempView("t")


OF_ONE_TABLE = {
    "EXISTS (SELECT 1 FROM st.e.t WHERE st.e.t.id = st.d.t.id)": [2, 3],
    "EXISTS (SELECT 1 FROM t WHERE t.id = st.d.t.id) AND t.v > 0": [2],
    "EXISTS (SELECT 1 FROM st.e.facts WHERE t.id = st.d.t.id)": [3],
    "NOT EXISTS (SELECT 1 FROM st.e.t WHERE t.id = d.t.id)": [1],
    "EXISTS (SELECT 1 FROM st.e.facts x WHERE x.t.id = st.d.t.id AND x.id < d.t.id)": [3],
    "EXISTS (SELECT 1 FROM st.e.t x WHERE x.id = st.d.t.id AND x.id = t.id + 0)": [2, 3],
    "id IN (SELECT st.e.t.id FROM st.e.t WHERE st.e.t.v = 10 * st.d.t.v)": [2, 3],
    "v = (SELECT max(st.d.t.v) FROM st.d.t)": [3],
}


def test_a_full_name_qualifies_columns_of_its_table(run: Run) -> None:
    for condition, ids in OF_ONE_TABLE.items():
        found = run(f"SELECT id FROM st.d.t WHERE {condition}")
        assert found == [(id,) for id in ids], condition
    for condition in list(OF_ONE_TABLE)[:3]:
        left = run(f"SELECT id FROM st.d.t WHERE NOT ({condition})")
        run(f"DELETE FROM st.d.t WHERE {condition}")
        assert run("SELECT id FROM st.d.t") == left != [], condition
        run("INSERT OVERWRITE st.d.t VALUES (1, 10), (2, 20), (3, 30)")


def test_full_names_distinguish_tables_with_the_same_short_name(run: Run, any_spark: Any) -> None:
    joined = "FROM st.d.t JOIN st.e.t ON st.d.t.id = st.e.t.id"
    assert run(f"SELECT d.t.*, st.e.t.v + 1 {joined}") == [(2, 20, 201), (3, 30, 301)]
    assert ice.sql(any_spark, f"SELECT d.t.v, st.e.t.v + 1 {joined}").columns == ["v", "(v + 1)"]
    found = "(SELECT max(v) FROM st.e.t WHERE st.e.t.id = st.d.t.id)"
    assert run(f"SELECT id, {found} FROM st.d.t WHERE t.id < 3") == [(1, None), (2, 200)]
    run(f"UPDATE st.d.t SET st.d.t.v = {found} + t.v WHERE t.id > 1")
    assert run("SELECT * FROM st.d.t") == [(1, 10), (2, 220), (3, 330)]
    run("""MERGE INTO st.d.t USING st.e.t ON st.d.t.id = st.e.t.id
           WHEN MATCHED THEN UPDATE SET v = st.e.t.v WHEN NOT MATCHED THEN INSERT *""")
    assert run("SELECT * FROM st.d.t") == [(1, 10), (2, 200), (3, 300), (4, 400)]


def test_a_star_excludes_metadata_columns_of_a_renamed_table(run: Run) -> None:
    there = "EXISTS (SELECT 1 FROM st.e.t WHERE st.e.t.id = st.d.t.id AND st.d.t._pos >= 0)"
    assert run(f"SELECT * FROM st.d.t WHERE {there}") == [(2, 20), (3, 30)]


AMBIGUOUS = [
    # the columns of a subquery in FROM, such as a `t`, cannot be determined
    "EXISTS (SELECT 1 FROM (SELECT 2 AS id) x WHERE x.id = st.d.t.id AND t.v > 0)",
    "EXISTS (SELECT 1 FROM (SELECT 2 AS id) AS d WHERE d.t.id = 2)",
]


def test_an_ambiguous_qualifier_is_refused(run: Run) -> None:
    for verb, condition in product(("SELECT *", "DELETE"), AMBIGUOUS):
        with pytest.raises(InvalidInputError, match=r"give st\.d\.t an alias"):
            run(f"{verb} FROM st.d.t WHERE {condition}")
    assert len(run("SELECT * FROM st.d.t")) == 3
