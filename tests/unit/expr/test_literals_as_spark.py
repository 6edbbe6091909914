"""Literals whose meaning Spark decides: the values here are what Spark 4.1 gives for them."""

from decimal import Decimal

import pytest

from iceberg_spark.errors import InvalidExpressionError
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.build import as_unbound, col
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.expr.literals import DateLiteral, TimestampLiteral, plain
from iceberg_spark.expr.nodes import Comparison
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.expr.parse_condition import conjuncts
from iceberg_spark.expr.to_text import quote_references, to_text
from tests.builders import field, schema, struct

TABLE = schema(
    ("i", "int"), ("l", "long"), ("f", "float"), ("d", "double"), ("w", "decimal(38, 2)"),
    ("s", "string"), ("t", "date"), ("n", "timestamp"), ("z", "timestamptz"), ("u", "uuid"),
    ("o", "boolean"),
)  # fmt: skip


def value(literal: str, dialect: Dialect | None = None) -> object:
    found = parse_predicate(f"x = {literal}", dialect or Dialect())
    assert isinstance(found, Comparison)
    return plain(found.value)


def bound(text: str, dialect: Dialect | None = None, zone: str | None = "Europe/Berlin") -> str:
    return to_text(bind(TABLE, parse_predicate(text, dialect or Dialect()), time_zone=zone), None)


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        (r"'a\'b'", "a'b"), ("'a''b'", "a'b"), ("'a\"\"b'", 'a""b'), ('"a""b"', 'a"b'),
        ("\"a''b\"", "a''b"), (r"'a\nb'", "a\nb"), (r"'a\0b'", "a\0b"), (r"'\u0041'", "A"),
        (r"'\101'", "A"), (r"'\%\_\q'", r"\%\_q"), (r"r'a\nb'", r"a\nb"), ('r"a\\"', "a\\"),
        ("'a' 'b'", "ab"), (r"'\Z\b\t\r'", "\x1a\b\t\r"), (r"'\U0001F600'", "\U0001f600"),
        (r"'\077x'", "?x"), (r"'\u12'", "u12"), ("'\U0001f600\\'x'", "\U0001f600'x"),
        ("'$\\{x}'", "${x}"),
    ],
)  # fmt: skip
def test_texts_are_read_as_spark_reads_them(literal: str, expected: str) -> None:
    assert value(literal) == expected


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("cast(date'2024-01-01' as string)", "2024-01-01"), ("string(true)", "true"),
        ("cast(1.50 as string)", "1.50"), ("cast(5 as string)", "5"),
        ("cast(1.255 as decimal(3, 2))", Decimal("1.26")), ("1.5BD", Decimal("1.5")),
        ("cast('1.255' as decimal(3, 2))", Decimal("1.26")), ("cast(12.5 as decimal)", Decimal(13)),
        ("cast(1.1D as decimal(5, 3))", Decimal("1.100")), ("cast(-5.7 as int)", -5),
        ("cast(16777217 as float)", 16777216.0), ("cast(true as int)", 1), ("int('5')", 5),
        ("cast(X'6162' as string)", "ab"), ("cast('abcdef' as varchar(3))", "abcdef"),
        ("cast('yes' as boolean)", True),
        ("cast('abc' as char(5))", "abc"), ("cast(' 5 ' as int)", 5),
        ("cast(timestamp_ntz'2024-01-01 10:00' as date)", DateLiteral(19723)),
        ("timestamp_ntz'1970-01-01 00:00:00+01:00'", TimestampLiteral(0, is_local=True)),
    ],
)  # fmt: skip
def test_casts_of_literals_give_what_spark_gives(literal: str, expected: object) -> None:
    found = value(literal)
    assert (type(found), str(found), found) == (type(expected), str(expected), expected)


@pytest.mark.parametrize(
    "literal",
    [
        "cast('1_0' as int)", "cast('5.7' as int)", "cast('\u0663' as int)", "cast(300 as tinyint)",
        "cast(1234.5 as decimal(3, 1))", "1e400", "cast(1e10 as string)", "'${x}'", "r'\\''",
        "cast(timestamp'2024-01-01' as string)", "cast(timestamp'2024-01-01' as date)",
        "123456789012345678901234567890123456789", "'\\ud83d'",
        "cast('2024' as date format 'yyyy')", "5; drop", "concat_ws('-', 'a', 'b')",
        "concat('a', 'b')",
    ],
)  # fmt: skip
def test_what_depends_on_more_than_the_text_is_refused(literal: str) -> None:
    with pytest.raises(InvalidExpressionError):
        value(literal)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("l = 9007199254740992D", "l >= 9007199254740992 AND l <= 9007199254740993"),
        ("l = 9007199254740993", "l = 9007199254740993"),
        (
            "l in (9007199254740993, 1D)",
            "l = 1 OR (l >= 9007199254740992 AND l <= 9007199254740993)",
        ),
        ("w < 1e30", "w < 999999999999999949515880660992.00"),
        ("w = '0.1'", "w = 0.10"), ("w = 0.1D", "w = 0.10"), ("l < 0.5D", "l <= 0"),
        ("d = 9007199254740993", "d = 9007199254740992.0"), ("l > 1e300", "false"),
        ("t < timestamp'2024-03-31 00:00:00'", "t < DATE '2024-03-31'"),
        ("t = timestamp'2024-03-30 23:00:00Z'", "t = DATE '2024-03-31'"),
        ("n = timestamp_ntz'2024-03-31 02:30:00'", "n = TIMESTAMP '2024-03-31 02:30:00'"),
        ("n = date'2024-03-31'", "n = TIMESTAMP '2024-03-31 00:00:00'"),
        ("u = '00000000-0000-0000-0000-00000000000a'",) * 2,
    ],
)  # fmt: skip
def test_columns_are_compared_in_the_type_that_spark_takes(text: str, expected: str) -> None:
    assert bound(text) == expected


@pytest.mark.parametrize(
    ("moment", "instant"),
    [
        ("9998-07-01 00:00:00", "9998-06-30 22:00:00"),
        ("9999-07-01 00:00:00", "9999-06-30 22:00:00"),
        ("9999-12-31 00:00:00", "9999-12-30 23:00:00"),
        ("0001-07-01 00:00:00", "0001-06-30 23:06:32"),
    ],
)
def test_the_ends_of_time_have_the_offsets_of_their_season(moment: str, instant: str) -> None:
    assert bound(f"z < timestamp'{moment}'") == f"z < TIMESTAMP '{instant}+00:00'"


@pytest.mark.parametrize(
    "text",
    [
        "n < timestamp'2024-03-31 03:15:00'", "i = 'x'", "o = 1",
        "o = X'61'", "i like '5'", "t like '2024-01-01'", "i in (1, '2')",
        "t in (date'2024-01-01', '2024-01-02')",
        "u = '00000000-0000-0000-0000-00000000000A'", "f = 16777217", "l = '9223372036854775808'",
        "z < timestamp'2024-01-01 00:00:00+19:00'",
    ],
)  # fmt: skip
def test_comparisons_that_a_session_may_decide_otherwise_are_refused(text: str) -> None:
    with pytest.raises(InvalidExpressionError):
        bound(text)


def test_without_ansi_mode_texts_meet_no_numbers() -> None:
    loose = Dialect(ansi=False)
    assert bound("s = '5' and t >= '2024-01-01'", loose) == "s = '5' AND t >= DATE '2024-01-01'"
    for text in (
        "i = '5'",
        "d = '5'",
        "t in ('2024-01-01')",
        "i = cast(5 as string)",
        "l = 5F",
        "s <=> cast(null as int)",
    ):
        with pytest.raises(InvalidExpressionError):
            bound(text, loose)


def test_names_in_double_quotes_are_names_where_the_session_says_so() -> None:
    assert bound("\"s\" <> 'x'", Dialect(quoted_names=True)) == "s != 'x'"
    assert conjuncts("\"s\" <> 'x'", None, Dialect(quoted_names=True))[1]


def test_a_backslash_is_itself_where_the_session_says_so() -> None:
    assert value(r"'a\tb'", Dialect(raw_texts=True)) == r"a\tb"
    with pytest.raises(InvalidExpressionError):
        value("'a''b'", Dialect(raw_texts=True))


def test_nothing_is_read_under_a_setting_that_may_change_it() -> None:
    odd = Dialect(changed=("spark.sql.legacy.odd",))
    with pytest.raises(InvalidExpressionError, match=r"spark\.sql\.legacy\.odd"):
        parse_predicate("a = 1", odd)
    assert conjuncts("a = 1", None, odd) == ((), False)


@pytest.mark.parametrize(
    "built",
    [
        col("d") > 0.1, col("d").is_in([float("nan")]), col("d") < float("inf"),
        col("s") == "a\\t'${x}",
        col("s").starts_with("a%_\\'"), col("l") == 1e16,
    ],
)  # fmt: skip
def test_built_predicates_survive_their_text(built: object) -> None:
    node = as_unbound(built)
    again = parse_predicate(to_text(node, None))
    assert to_text(bind(TABLE, again), None) == to_text(bind(TABLE, node), None)


def test_built_predicates_name_columns_with_dots_as_sql_does() -> None:
    odd = schema(("a.b", "long"), ("s", struct(field(3, "x y", "long"))))
    built = as_unbound((col("a.b") > 1) & (col("s.x y") < 2))
    assert to_text(quote_references(built, odd), None) == "`a.b` > 1 AND s.`x y` < 2"
    assert to_text(bind(odd, quote_references(built, odd)), None) == to_text(bind(odd, built), None)
