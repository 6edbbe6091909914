"""SQL predicates: what is taken, and what is refused by name."""

from decimal import Decimal

import pytest

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.literals import DateLiteral, TimeLiteral, TimestampLiteral, plain
from iceberg_spark.expr.nodes import (
    And,
    Comparison,
    Constant,
    In,
    IsNaN,
    IsNull,
    Not,
    Op,
    Or,
    Reference,
    StartsWith,
)
from iceberg_spark.expr.parse import parse_predicate

A = Reference("a")


@pytest.mark.parametrize(
    ("sql", "op"),
    [("a < 5", "<"), ("a <= 5", "<="), ("a > 5", ">"), ("a >= 5", ">="), ("a = 5", "="),
     ("a == 5", "="), ("a != 5", "!="), ("a <> 5", "!=")],
)  # fmt: skip
def test_comparisons(sql, op):
    assert parse_predicate(sql) == Comparison(Op(op), A, 5)


@pytest.mark.parametrize(
    ("sql", "op"), [("5 < a", ">"), ("5 <= a", ">="), ("5 > a", "<"), ("5 >= a", "<="),
                    ("5 = a", "="), ("5 != a", "!=")],
)  # fmt: skip
def test_a_literal_on_the_left_is_flipped(sql, op):
    assert parse_predicate(sql) == Comparison(Op(op), A, 5)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("-5", -5), ("1L", 1), ("1S", 1), ("1e3", 1000.0), ("123.45", Decimal("123.45")),
        ("1.5BD", Decimal("1.5")), ("1.5D", 1.5), ("0.1F", 0.10000000149011612),
        ("'it''s'", "it's"), (r"'it\'s'", "it's"), ("\"x\"", "x"), ("'x' 'y'", "xy"),
        (r"r'\d'", r"\d"), ("X'00fF'", b"\x00\xff"), ("x'F'", b"\x0f"), ("NULL", None),
        ("DATE '2024-02-29'", DateLiteral(19782)),
        ("cast('2024-02-29' as date)", DateLiteral(19782)),
        ("TIME '00:00:01.5'", TimeLiteral(1_500_000_000)),
        ("TIMESTAMP '1970-01-01 00:00:01'", TimestampLiteral(10**9)),
        ("TIMESTAMP '1970-01-01T00:00:01+01:00'", TimestampLiteral(10**9, "+01:00")),
        ("TIMESTAMP '1970-01-01 00:00:01 Europe/Berlin'", TimestampLiteral(10**9, "Europe/Berlin")),
        ("TIMESTAMP_NTZ '1970-01-01'", TimestampLiteral(0, is_local=True)),
        ("cast('5' as bigint)", 5), ("true", True),
    ],
)  # fmt: skip
def test_literals(text, value):
    found = plain(parse_predicate(f"a = {text}").value)
    assert found == value
    assert type(found) is type(value)


def test_membership_and_ranges():
    assert parse_predicate("a IN (1, NULL)") == In(A, (1, None))
    assert parse_predicate("a NOT IN (1)") == Not(In(A, (1,)))
    between = And((Comparison(Op.GE, A, 1), Comparison(Op.LE, A, 2)))
    assert parse_predicate("a BETWEEN 1 AND 2") == between
    assert parse_predicate("a NOT BETWEEN 1 AND 2") == Not(between)


def test_null_and_nan_tests():
    assert parse_predicate("a IS NULL") == IsNull(A)
    assert parse_predicate("isnull(a)") == IsNull(A)
    assert parse_predicate("a IS NOT NULL") == Not(IsNull(A))
    assert parse_predicate("isnan(a)") == IsNaN(A)


def test_null_safe_equality_is_never_null():
    both = And((Comparison(Op.EQ, A, 5), IsNull(A, negated=True)))
    assert parse_predicate("a <=> 5") == both
    assert parse_predicate("5 <=> a") == both
    assert parse_predicate("a <=> NULL") == IsNull(A)
    assert parse_predicate("a IS DISTINCT FROM 5") == Not(both)


@pytest.mark.parametrize(
    ("sql", "node"),
    [
        ("a LIKE 'x%'", StartsWith(A, "x")),
        ("a LIKE 'x%%'", StartsWith(A, "x")),
        ("a LIKE 'x'", Comparison(Op.EQ, A, "x")),
        (r"a LIKE '10\%%'", StartsWith(A, "10%")),
        ("a LIKE '10!%%' ESCAPE '!'", StartsWith(A, "10%")),
        ("a LIKE '%%x' ESCAPE '%'", None),
        ("a NOT LIKE 'x%'", Not(StartsWith(A, "x"))),
        ("a NOT LIKE 'x!_' ESCAPE '!'", Not(Comparison(Op.EQ, A, "x_"))),
        ("startswith(a, 'x')", StartsWith(A, "x")),
    ],
)
def test_like_takes_prefixes(sql, node):
    assert parse_predicate(sql) == (node or Comparison(Op.EQ, A, "%x"))


def test_boolean_columns_and_constants():
    flag = Comparison(Op.EQ, A, True)
    assert parse_predicate("a") == flag
    assert parse_predicate("NOT a") == Not(flag)
    assert parse_predicate("a IS TRUE") == And((flag, IsNull(A, negated=True)))
    assert parse_predicate("true") == Constant(True)
    assert parse_predicate("1 = 1 AND 'a' > 'b'") == And((Constant(True), Constant(False)))


def test_nested_and_quoted_names():
    assert parse_predicate("a.b.c = 1").term == Reference("a.b.c")
    assert parse_predicate("a.b.c.d.e.f = 1").term == Reference("a.b.c.d.e.f")
    assert parse_predicate("`odd name`.`x-y` = 1").term == Reference("odd name.x-y")


def test_long_chains_are_one_node():
    chain = parse_predicate(" OR ".join(f"a = {i}" for i in range(3000)))
    assert isinstance(chain, Or) and len(chain.children) == 3000


@pytest.mark.parametrize(
    ("sql", "part"),
    [
        ("a = b", "a = b"), ("a + 1 = 2", "a + 1"), ("lower(a) = 'x'", "LOWER(a)"),
        ("a LIKE '%x'", "prefix pattern"), ("a LIKE 'x_'", "prefix pattern"),
        ("a ILIKE 'x%'", "ILIKE"), ("a RLIKE 'x'", "RLIKE"), ("a LIKE ANY ('x%')", "ANY"),
        ("a IN (SELECT 1)", "SELECT 1"), ("a IN (b)", "a IN (b)"), ("a[0] = 1", "a[0]"),
        ("a BETWEEN SYMMETRIC 1 AND 2", "BETWEEN"), ("a = current_date()", "CURRENT_DATE"),
        ("a = 1; DROP TABLE t", "DROP TABLE t"), ("cast(a as date) = 1", "CAST(a AS DATE)"),
        ("a = 'x' COLLATE utf8_lcase", "COLLATE"), ("NULL", "NULL"), ("5", "5"), ("a =", "a ="),
        ("", "parsed"), ("a = 'x", "parsed"), ("a = cast('x' as int)", "'x'"),
        ("a = DATE '2024-02-30'", "2024-02-30"), ("a = TIMESTAMP 'x'", "'x'"),
        ("a = TIMESTAMP '2024-01-01 00:00:00 Mars/Base'", "Mars/Base"), ("a = X'GG'", "GG"),
        (r"a LIKE 'x\\y%'", "may only stand before"), ("a = -'x'", "sign"),
    ],
)  # fmt: skip
def test_anything_else_is_refused_by_name(sql, part):
    with pytest.raises(InvalidExpressionError) as raised:
        parse_predicate(sql)
    assert part in str(raised.value)


def test_too_deep_a_predicate_says_so():
    with pytest.raises(InvalidExpressionError, match="nested too deeply"):
        parse_predicate("(" * 5000 + "a = 1" + ")" * 5000)
