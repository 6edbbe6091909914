"""Which texts of views are carried over between Spark and Trino, and why others are not."""

import pytest

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.spark.sql.portable_query import portable_query
from iceberg_spark.spark.sql.references import parse_query
from iceberg_spark.spark.sql.view_dialects import normalize_tree, text_from_trino, trino_text
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)

COLUMNS = {
    "id": IntegerType(),
    "n": LongType(),
    "price": DecimalType(10, 2),
    "f": FloatType(),
    "x": DoubleType(),
    "s": StringType(),
    "ok": BooleanType(),
    "d": DateType(),
    "ts": TimestampType(),
    "tz": TimestamptzType(),
    "b": BinaryType(),
    "tags": ListType(20, StringType(), element_required=False),
    "Odd Name": StringType(),
}
OTHER = {"id": IntegerType(), "name": StringType(), "d": DateType()}
PORTABLE = (
    "SELECT id, s FROM t",
    "SELECT * FROM t",
    "SELECT x.* FROM t AS x",
    "SELECT id AS a, n + 1, -id, `Odd Name` FROM t",
    "SELECT f, x, b, tags, tz FROM t WHERE f IS NULL OR x IS NOT NULL",
    "SELECT id FROM t WHERE id > 1 AND n <= 3000000000 OR NOT ok",
    "SELECT id FROM t WHERE price >= 1.50 AND price < 100",
    "SELECT id FROM t WHERE id > 1.5",
    "SELECT id FROM t WHERE d >= DATE '2024-06-01'",
    "SELECT id FROM t WHERE d BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'",
    "SELECT id FROM t WHERE s = 'it\\'s' OR s <> \"b\"",
    "SELECT id FROM t WHERE s LIKE 'a%' AND NOT s LIKE '_b'",
    "SELECT id FROM t WHERE id IN (1, 2, 3) AND s NOT IN ('x', 'y')",
    "SELECT id FROM t WHERE id IN (1, NULL)",
    "SELECT id FROM t WHERE NOT (id = 1) AND (ok)",
    "SELECT id FROM t WHERE s <=> 'a' OR id IS DISTINCT FROM 2",
    "SELECT id FROM t WHERE ok = (id = 2)",
    "SELECT id * 2 + n, id - 1, n % 3, abs(id) FROM t",
    "SELECT x * 2, x + id, x - 1e1 FROM t",
    "SELECT id * (n + 1) FROM t",
    "SELECT coalesce(s, 'none'), coalesce(id, n), coalesce(f, f) FROM t",
    "SELECT nullif(id, 2), nullif(s, 'a') FROM t",
    "SELECT CASE WHEN id > 1 THEN 'big' WHEN ok THEN 'ok' ELSE 'small' END FROM t",
    "SELECT CASE id WHEN 1 THEN n ELSE 0 END, CASE WHEN ok THEN d END FROM t",
    "SELECT if(ok, id, 0), if(id = 1, NULL, s) FROM t",
    "SELECT substring(s, 2, 1), substr(s, 1) FROM t",
    "SELECT id FROM t WHERE startswith(s, 'a')",
    "SELECT count(*) FROM t",
    "SELECT count(*) AS c, count(s), count(DISTINCT s), sum(id), sum(n), sum(x) FROM t",
    "SELECT avg(id), avg(n), avg(x), min(d), max(ts), min(tz), max(s), min(price) FROM t",
    "SELECT s, count(*) FROM t GROUP BY s",
    "SELECT s, d, sum(id) AS total FROM t GROUP BY 1, 2 HAVING count(*) > 0",
    "SELECT s FROM t GROUP BY s HAVING max(id) > 1 AND min(n) < 100",
    "SELECT DISTINCT s, ok, d, price FROM t",
    "SELECT id, s FROM t ORDER BY s DESC, id LIMIT 2",
    "SELECT id AS k, s FROM t ORDER BY s NULLS LAST, k DESC LIMIT 3",
    "SELECT s FROM t UNION SELECT name FROM u",
    "SELECT id AS k FROM t UNION ALL SELECT n FROM t UNION ALL SELECT 7",
    "(SELECT s FROM t) UNION ALL (SELECT name FROM u)",
    "SELECT t.id, u.name FROM t JOIN u ON t.id = u.id",
    "SELECT a.id, b.id FROM t AS a LEFT JOIN u AS b ON a.id = b.id AND b.name = 'one'",
    "SELECT a.id, b.id FROM t a RIGHT JOIN u b ON a.id = b.id",
    "SELECT a.id, b.id FROM t a FULL OUTER JOIN u b ON a.id = b.id AND a.d = b.d",
    "SELECT a.id, b.name FROM t a CROSS JOIN u b",
    "SELECT a.id, b.name FROM t a, u b WHERE a.id = b.id",
    "SELECT q.k, count(*) FROM (SELECT id AS k FROM t WHERE ok) AS q GROUP BY q.k",
    "SELECT q.a FROM (SELECT id, s FROM t) AS q (a, b) WHERE q.b = 'a'",
    "WITH big AS (SELECT id, s FROM t WHERE id > 1) SELECT * FROM big",
    "WITH a AS (SELECT id FROM t), b AS (SELECT id FROM a) SELECT b.id FROM a JOIN b ON a.id = 1",
    "WITH t AS (SELECT id FROM t WHERE id > 1) SELECT id FROM t",
    "SELECT * FROM (WITH c AS (SELECT name FROM u) SELECT name FROM c) AS w",
    "SELECT id FROM db.t -- a comment",
    "SELECT 1 AS one, 'a' AS s, TRUE AS t, DATE '2024-02-29' AS d, 1e3 AS e",
    "SELECT ts, tz FROM t WHERE ts = ts AND tz >= tz",
)
"""Texts of views for Spark that are carried over."""

REFUSED = {
    "SELECT id / 2 FROM t": "the division /",
    "SELECT upper(s) FROM t": "the function upper",
    "SELECT length(s) FROM t": "the function length",
    "SELECT my_function(s) FROM t": "the function my_function",
    "SELECT datediff(d, d) FROM t": "the function",
    "SELECT element_at(tags, 1), tags[0] FROM t": "the function|BRACKET",
    "SELECT s RLIKE 'a.*' FROM t": "the function regexp_like",
    "SELECT s || 'x' FROM t": "the operator",
    "SELECT CAST(id AS BIGINT) FROM t": "a cast",
    "SELECT 10L AS a": "a number with a suffix",
    "SELECT id FROM t WHERE d > '2024-06-01'": "compares date with string: write DATE",
    "SELECT id FROM t WHERE ts > TIMESTAMP '2024-06-01 00:00:00'": "a cast",
    "SELECT id FROM t WHERE d = DATE '2024-02-30'": "not a day",
    "SELECT id FROM t WHERE s = 1": "compares string with int",
    "SELECT id FROM t WHERE x > 1": "compares double with int",
    "SELECT id FROM t WHERE f = f": "compares float with float",
    "SELECT id FROM t WHERE ts = tz": "compares timestamp with timestamptz",
    "SELECT DISTINCT x FROM t": "groups or orders by x of type double",
    "SELECT x, count(*) FROM t GROUP BY x": "groups or orders by x",
    "SELECT x, count(*) FROM t GROUP BY 1": "groups or orders by x",
    "SELECT count(DISTINCT x) FROM t": "groups or orders",
    "SELECT max(x) FROM t": "groups or orders by x",
    "SELECT x FROM t ORDER BY x LIMIT 1": "groups or orders by x",
    "SELECT x FROM t UNION SELECT x FROM t": "groups or orders by x",
    "SELECT sum(price) FROM t": "sum of type decimal",
    "SELECT avg(price) FROM t": "avg of type decimal",
    "SELECT sum(f) FROM t": "sum of type float",
    "SELECT price + 1 FROM t": "calculates with decimal",
    "SELECT f * 2 FROM t": "calculates with float",
    "SELECT d + 1 FROM t": "calculates with date",
    "SELECT x % 2 FROM t": "calculates with double",
    "SELECT 0.5 AS a": "the number 0.5",
    "SELECT NULL AS a": "NULL without a type",
    "SELECT coalesce(id, s) FROM t": "types int and string",
    "SELECT coalesce(price, 1) FROM t": "types decimal.* and int",
    "SELECT id FROM t ORDER BY id": "ORDER BY or LIMIT alone",
    "SELECT id FROM t LIMIT 1": "ORDER BY or LIMIT alone",
    "SELECT id FROM t ORDER BY id + 1 LIMIT 1": "ORDER BY has something other",
    "SELECT id FROM t ORDER BY n LIMIT 1": "ORDER BY has something other",
    "SELECT -id AS id FROM t GROUP BY id HAVING id > 1": "HAVING uses id",
    "SELECT id + 1 AS a FROM t GROUP BY a": "a is not a column",
    "SELECT id + 1 FROM t GROUP BY id + 1": "GROUP BY has an expression",
    "SELECT id AS a, a + 1 FROM t": "a is not a column",
    "SELECT s, count(*) FROM t GROUP BY ROLLUP (s)": "(?i)rollup",
    "SELECT row_number() OVER (ORDER BY id) FROM t": "the function row_number|a window",
    "SELECT id FROM t JOIN u USING (id)": "JOIN with using",
    "SELECT id FROM t NATURAL JOIN u": "JOIN with method",
    "SELECT t.id FROM t LEFT SEMI JOIN u ON t.id = u.id": "SEMI JOIN",
    "SELECT a.id FROM t a, u b RIGHT JOIN u c ON b.id = c.id": "RIGHT JOIN behind a comma",
    "SELECT id FROM t, u": "id is ambiguous",
    "SELECT id FROM t WHERE id IN (SELECT id FROM u)": "IN with query",
    "SELECT (SELECT max(id) FROM u) FROM t": "SUBQUERY",
    "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u)": "the function exists|EXISTS",
    "SELECT id FROM t EXCEPT SELECT id FROM u": "EXCEPT",
    "SELECT id FROM t TABLESAMPLE (10 PERCENT)": "TABLESAMPLE|sample",
    "SELECT explode(tags) FROM t": "the function explode",
    "SELECT /*+ BROADCAST(t) */ id FROM t": "SELECT with hint",
    "SELECT id FROM t WHERE s LIKE 'a\\\\%'": "backslash",
    "SELECT id FROM t WHERE s LIKE s": "pattern of LIKE",
    "SELECT 'a\\nb' AS a": "control character",
    "SELECT substring(s, 0, 2) FROM t": "positions of substring",
    "SELECT substring(s, id) FROM t": "positions of substring",
    "SELECT uid FROM v": "type uuid",
    "SELECT * FROM v": "type uuid",
    "SELECT current_date() AS a": "the function current_date",
    "SELECT id = 1 = ok FROM t": "in brackets",
    "SELECT id FROM Orders": "in lower case",
    "SELECT * EXCEPT (id) FROM t": "STAR with",
    "SELECT id FROM VALUES (1) AS q (id)": "VALUES",
    "SELECT id FROM t WHERE ok IS TRUE": "IS with something other",
    "SELECT id FROM t WHERE n > 99999999999999999999": "the number",
    "SELECT id FROM t WHERE id": "not a boolean",
}
"""Texts for Spark that are not carried over, with the reason."""

REFUSED_OF_TRINO = {
    "SELECT id FROM t WHERE n > 1_000": "the number 1_000",
    "SELECT user FROM v": "the function user",
    "SELECT current_date AS a": "the function current_date",
    "SELECT id / 2 FROM t": "the division /",
    "SELECT date_diff('day', d, d) FROM t": "the function",
    "SELECT tags[1] FROM t": "BRACKET",
    "SELECT regexp_like(s, 'a') FROM t": "the function regexp_like",
    "SELECT CAST(s AS bigint) FROM t": "a cast",
    "SELECT id FROM t WHERE price > CAST('1.50' AS DECIMAL)": "a cast",
    "SELECT id FROM t WHERE price > DECIMAL '15'": "a cast",
    "SELECT TRY_CAST(s AS bigint) FROM t": "a cast",
    "SELECT id FROM t WHERE ts > TIMESTAMP '2024-06-01 00:00:00'": "DATATYPE|a cast",
    "SELECT id FROM t FETCH FIRST 1 ROW ONLY": "FETCH|parsed",
    "SELECT id FROM t WHERE s = 'a\\b'": "backslash",
    "SELECT id FROM t CROSS JOIN UNNEST(tags) AS q (tag)": "the function unnest",
    "SELECT greatest(id, n) FROM t": "the function greatest",
    "SELECT s || 'x' FROM t": "the operator|the function concat",
    "SELECT id = 1 IS NULL FROM t": "compares int with boolean|put it in brackets",
    "SELECT id FROM": "parsed",
    "DROP TABLE t": "DROP",
}


def columns_of(parts: tuple[str, ...]) -> Schema:
    if parts[-1] == "Orders":
        raise UnsupportedError("Trino reads the name Orders in lower case")
    named = {"t": COLUMNS, "u": OTHER, "v": {"uid": UUIDType(), "user": StringType()}}[parts[-1]]
    fields = enumerate(named.items(), start=1)
    return Schema(*(NestedField(i, name, kind, required=False) for i, (name, kind) in fields))


def full_name(parts: tuple[str, ...]) -> tuple[str, ...]:
    return ("lake", "db", parts[-1])


def names_for(text: str) -> list[str]:
    outputs = portable_query(normalize_tree(parse_query(text)), columns_of).outputs
    return [f"c{number}" for number in range(len(outputs))]


def for_trino(text: str) -> str:
    return trino_text(text, SPARK, columns_of, full_name, names_for(text))


@pytest.mark.parametrize("text", PORTABLE)
def test_a_text_comes_back_from_trino(text: str):
    back = text_from_trino(for_trino(text), SPARK, columns_of)
    assert "`lake`.`db`." in back or "FROM t" not in text
    assert back in text_from_trino(for_trino(back), SPARK, columns_of)


def refusal_of(text: str) -> str:
    try:
        text_from_trino(for_trino(text), SPARK, columns_of)
    except UnsupportedError as error:
        return str(error)
    return ""


def test_a_test_above_a_comparison_is_carried_over_or_refused():
    """Earlier versions of sqlglot read it in another order: brackets are needed then."""
    assert refusal_of("SELECT id = 1 IS NULL FROM t") in {
        "",
        "a predicate is an operand: put it in brackets",
    }


@pytest.mark.parametrize("text", REFUSED)
def test_what_may_differ_is_refused(text: str):
    with pytest.raises(UnsupportedError, match=REFUSED[text]):
        for_trino(text)


@pytest.mark.parametrize("text", REFUSED_OF_TRINO)
def test_what_may_differ_in_trinos_text_is_refused(text: str):
    with pytest.raises(UnsupportedError, match=REFUSED_OF_TRINO[text]):
        text_from_trino(text, SPARK, columns_of)


def test_a_view_without_other_names_keeps_its_text():
    text = trino_text("SELECT id, S FROM t", SPARK, columns_of, full_name, ["ID", "s"])
    assert text == 'SELECT "id", "S" FROM "lake"."db"."t" AS "t"'


def test_brackets_around_joins_are_read():
    """Trino writes them when it stores a view."""
    text = (
        "SELECT a.id FROM ((t a LEFT JOIN u b ON (a.id = b.id)) INNER JOIN (SELECT id FROM u) c"
        " ON (a.id = c.id)) WHERE a.ok"
    )
    assert text_from_trino(text, SPARK, columns_of) == (
        "SELECT `a`.`id` FROM `t` AS `a` LEFT JOIN `u` AS `b` ON (`a`.`id` = `b`.`id`)"
        " INNER JOIN (SELECT `id` FROM `u`) AS `c` ON (`a`.`id` = `c`.`id`) WHERE `a`.`ok`"
    )
    right = "SELECT t.id FROM (t INNER JOIN (u LEFT JOIN v ON (u.name = v.uid)) ON (t.id = u.id))"
    with pytest.raises(UnsupportedError, match="TABLE with joins"):
        text_from_trino(right, SPARK, columns_of)


def test_nulls_keep_their_place():
    text = for_trino("SELECT s FROM t ORDER BY s LIMIT 1")
    assert 'ORDER BY "s" NULLS FIRST LIMIT 1' in text
    back = text_from_trino("SELECT s FROM t ORDER BY s LIMIT 1", SPARK, columns_of)
    assert back == "SELECT `s` FROM `t` ORDER BY `s` NULLS LAST LIMIT 1"


@pytest.mark.parametrize(
    "dialect",
    [
        Dialect(ansi=False),
        Dialect(raw_texts=True),
        Dialect(case_sensitive=True),
        Dialect(changed=("spark.sql.legacy.x",)),
    ],
)
def test_a_session_with_other_sql_carries_nothing_over(dialect: Dialect):
    with pytest.raises(UnsupportedError, match="the session changes"):
        trino_text("SELECT id FROM t", dialect, columns_of, full_name, ["id"])
    with pytest.raises(UnsupportedError, match="the session changes"):
        text_from_trino("SELECT id FROM t", dialect, columns_of)


def test_double_quotes_are_names_where_the_session_says_so():
    text = 'SELECT "Odd Name" FROM t'
    dialect = Dialect(quoted_names=True)
    there = trino_text(text, dialect, columns_of, full_name, ["odd name"])
    assert there.startswith('SELECT "Odd Name"')
    assert trino_text(text, SPARK, columns_of, full_name, ["a"]).startswith(
        "SELECT * FROM (SELECT 'Odd"
    )
    assert text_from_trino(text, dialect, columns_of) == "SELECT `Odd Name` FROM `t`"


def test_deep_texts_are_refused():
    text = "SELECT " + "(" * 300 + "id" + ")" * 300 + " FROM t"
    with pytest.raises(UnsupportedError, match=r"deep|parsed"):
        text_from_trino(text.replace("(", "-(" * 9).replace(")", ")" * 9), SPARK, columns_of)
