"""What the core understands of conditions that Spark evaluates."""

import pytest

from iceberg_spark.expr.build import as_unbound
from iceberg_spark.expr.parse_condition import Equality, conjuncts, equalities


@pytest.mark.parametrize(
    ("sql", "found", "exact"),
    [
        ("a = 5", ["a = 5"], True),
        ("a = 5 and (b > 3 and c like 'x%')", ["a = 5", "b > 3", "c like 'x%'"], True),
        ("a = 5 and upper(b) = 'X'", ["a = 5"], False),
        ("a = 5 or upper(b) = 'X'", [], False),
        ("not (a = 5 and rand() > 1)", [], False),
        ("not (", [], False),
    ],
)
def test_conjuncts_that_are_predicates_are_found(sql: str, found: list[str], exact: bool):
    assert conjuncts(sql) == (tuple(as_unbound(each) for each in found), exact)


def test_only_conjuncts_of_one_table_are_its_own():
    sql = "t.id = s.id and t.a.b in (1, 2) and s.c = 3 and d = 4 and t.`x y` is null and t.e > s.e"
    found, exact = conjuncts(sql, "t")
    assert found == (as_unbound("a.b in (1, 2)"), as_unbound("`x y` is null"))
    assert not exact


def test_equalities_give_a_column_and_what_it_equals():
    sql = (
        "t.id = s.id and upper(s.k) <=> t.k and t.b.c = s.x + 1 "
        "and t.a = 5 and s.z = t.id + 1 and t.q = s.q + t.w"
    )
    assert equalities(sql, "t", "s") == (
        Equality("id", "s.id", False),
        Equality("k", "UPPER(s.k)", True),
        Equality("b.c", "s.x + 1", False),
    )
