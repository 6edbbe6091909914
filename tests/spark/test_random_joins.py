"""Joins drawn at random have the rows that they have without filters by keys."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.keyed_tables import (
    ALL,
    BY_SPARK,
    broadcasting,
    enabled_for,
    filters,
    in_order,
    limit,
    named,
    without,
)


@pytest.fixture
def shuffled(spark: SparkSession, keyed_warehouse: Path) -> Iterator[SparkSession]:
    with enabled_for(spark, keyed_warehouse), broadcasting(spark, "-1"):
        yield spark


COLUMNS = {
    "nations": ("n", "name"),
    "customers": ("c", "n"),
    "orders": ("o", "c", "code"),
    "lines": ("o", "code"),
}
CONDITIONS = {
    "nations": ("name = 'n2'", "n < 4", "name like '%3'"),
    "customers": ("n = 3", "c between 10 and 20", "n is not null"),
    "orders": ("day < date '1970-01-04'", "code = '\u00e43'", "code like '%5'", "c > 60"),
    "lines": ("amount < 90", "code = ''", "o in (3, 5, 300)"),
}
KINDS = ("join", "join", "left join", "right join", "full join", "left semi join", "left anti join")


def random_query(rows: random.Random) -> str:
    """Return a query of two to four relations, some of them groups, with a subquery or two."""
    tables = [rows.choice(list(COLUMNS)) for _ in range(rows.randint(2, 4))]
    text, shown = "", [0]
    for at, table in enumerate(tables):
        source = f" {table}"
        if rows.random() < 0.2:
            columns = ", ".join(COLUMNS[table])
            source = f"(select {columns}, count(*) k from {table} group by {columns})"
        if at == 0:
            text = f"select count(*), min(x0.{COLUMNS[table][0]}) from {source} x0"
            continue
        kind = rows.choice(KINDS)
        other = rows.choice(shown)
        common = [one for one in COLUMNS[table] if one in COLUMNS[tables[other]]]
        mine = rows.choice(common or COLUMNS[table])
        theirs = mine if common else rows.choice(COLUMNS[tables[other]])
        if (mine in ("code", "name")) != (theirs in ("code", "name")):
            mine = theirs = ""
        on = f"x{at}.{mine} = x{other}.{theirs}" if mine else f"x{at}.{COLUMNS[table][0]} is null"
        text += f" {kind} {source} x{at} on {on}"
        shown += [] if "semi" in kind or "anti" in kind else [at]
    place = rows.choice(shown)
    conditions = [f"x{place}.{COLUMNS[tables[place]][0]} is not null"]
    for _ in range(rows.randint(1, 2)):
        inner = rows.choice(["customers", "orders", "lines"])
        key = COLUMNS[inner][0]
        negated = rows.choice(("", "", "not "))
        own = COLUMNS[tables[place]][0]
        conditions.append(
            f"{negated}exists (select 1 from {inner} y where y.{key} = x{place}.{own}"
            f" and y.{rows.choice(CONDITIONS[inner])})"
        )
    return named(f"{text} where {' and '.join(conditions)}")


def test_random_joins_have_the_rows_without_filters(
    shuffled: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEYED_QUERIES says how many, KEYED_SEED which."""
    rows = random.Random(int(os.environ.get("KEYED_SEED", "11")))
    filtered = 0
    for number in range(int(os.environ.get("KEYED_QUERIES", "12"))):
        limit(monkeypatch, BY_SPARK if number % 2 else ALL)
        text = random_query(rows)
        expected = without(shuffled, text, monkeypatch)
        frame = shuffled.sql(text)
        filtered += bool(filters(frame))
        assert in_order(frame) == expected, text
    assert filtered > 2
