"""AS OF clauses in all of Spark's spellings."""

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.spark.sql.options_clauses import options_clauses
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.references import parse_query, selecting, table_references


@pytest.mark.parametrize(
    "words", ["VERSION", "FOR VERSION", "SYSTEM_VERSION", "FOR SYSTEM_VERSION"]
)
def test_a_version_is_named_in_four_ways(words: str) -> None:
    text = f"SELECT 'SYSTEM_VERSION AS OF' AS x FROM c.d.t {words} AS OF 'b' WHERE x = 1"
    (found,) = table_references(parse_query(text), text)
    assert (found.version, found.timestamp) == ("b", None)
    assert text[found.start : found.end] == f"c.d.t {words} AS OF 'b'"


@pytest.mark.parametrize("words", ["TIMESTAMP", "FOR TIMESTAMP", "SYSTEM_TIME", "for system_time"])
def test_a_moment_is_named_in_four_ways(words: str) -> None:
    text = f"SELECT x FROM c.d.t {words} AS OF date_sub(now(), 1) AS y JOIN u"
    found, other = table_references(parse_query(text), text)
    assert (found.version, found.timestamp, found.alias) == (None, "date_sub(now(), 1)", "y")
    assert other.parts == ("u",)


@pytest.mark.parametrize(
    "moment",
    [
        "now() - INTERVAL 1 DAY", "current_timestamp() - INTERVAL '1' DAY + INTERVAL 2 HOURS",
        "DATE '2024-01-01' - INTERVAL 1 YEAR 6 MONTHS", "INTERVAL '1-2' YEAR TO MONTH + now()",
        "now() - (INTERVAL 1 DAY)", "now() + INTERVAL -1 DAY",
        "'2024' || '-01-01'", "'2024-01-01'::timestamp", "CASE WHEN true THEN now() END",
        "now() - INTERVAL 1 DAY * 2", "array(now())[0]", ":t", "CAST(:t AS TIMESTAMP)",
        "INTERVAL + '1' DAY + now()", "'2024-01-01'", "timestamp_millis(1 - 2) - INTERVAL '1 day'",
    ],
)  # fmt: skip
def test_a_moment_may_be_a_sum(moment: str) -> None:
    text = f"SELECT x FROM c.d.t TIMESTAMP AS OF {moment} t JOIN u"
    found, _ = table_references(parse_query(text), text)
    assert (found.timestamp, found.alias) == (moment, "t")
    assert text[found.start : found.end] == f"c.d.t TIMESTAMP AS OF {moment}"


def test_columns_may_be_called_as_these_words_are() -> None:
    text = "SELECT system_version AS of, system_time AS of FROM c.d.t"
    tree = parse_query(text)
    assert [one.name for one in table_references(tree, text)] == ["c.d.t"]
    assert {one.name for one in tree.selects[0].find_all(type(tree.selects[0].this))} == {
        "system_version"
    }


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("TABLE c.d.t", "SELECT * FROM c.d.t"),
        (" table `x` ORDER BY 1", " SELECT * FROM `x` ORDER BY 1"),
        ("SELECT table FROM t", "SELECT table FROM t"),
        ("SELECT DISTINCT table x FROM t", "SELECT DISTINCT table x FROM t"),
        ("SELECT 1 UNION ALL TABLE c.t", "SELECT 1 UNION ALL SELECT * FROM c.t"),
        (
            "WITH a AS (TABLE t) TABLE a MINUS (TABLE `b`)",
            "WITH a AS (SELECT * FROM t) SELECT * FROM a MINUS (SELECT * FROM `b`)",
        ),
        ("FROM t |> UNION ALL TABLE u", "FROM t |> UNION ALL SELECT * FROM u"),
        ("SELECT x IN (TABLE t), table.a", "SELECT x IN (SELECT * FROM t), table.a"),
        ("SELECT * FROM f(TABLE t), g(TABLE(t))", "SELECT * FROM f(TABLE t), g(TABLE(t))"),
        ("SELECT s IN ('TABLE' 'x')", "SELECT s IN ('TABLE' 'x')"),
        ("SELECT 'TABLE t', (table AS x)", "SELECT 'TABLE t', (table AS x)"),
        ("table", "table"),
    ],
)
def test_a_query_may_be_a_table_alone(text: str, meant: str) -> None:
    assert selecting(text, SPARK) == meant


@pytest.mark.parametrize("version", [":v", "?"])
def test_a_version_may_be_a_parameter(version: str) -> None:
    text = f"SELECT x FROM c.d.t VERSION AS OF {version} t JOIN u"
    found, _ = table_references(parse_query(text), text)
    assert (found.timestamp, found.alias) == (version, "t")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT parse_json('{}'):a::int FROM t",
        "SELECT v:a.b[0]::int, v:`x y`:z FROM t WHERE v:a::int = :n LIMIT :m",
        "WITH RECURSIVE r(n) MAX RECURSION LEVEL 20 AS (SELECT 1 FROM t) SELECT * FROM r",
        "SELECT * FROM t WHERE a !< 1 AND a !> 2",
        "SELECT * FROM t VERSION AS OF 'x' PIVOT (sum(x) FOR y IN (1, 2)) WHERE true",
        "SELECT from, for FROM t WHERE range = 1 AND range < 3 ORDER BY map",
        "SELECT CASE WHEN when > 1 THEN then ELSE create END FROM t GROUP BY limit, offset",
        "SELECT cast(x AS map<string, int>), a LIKE like FROM t WHERE for IN (1) AND x = NULL",
        "SELECT * FROM t AS pivot UNPIVOT (sales FOR quarter IN (q1, q2))",
        "SELECT v:['a b'], v:[0].id, parse_json('[1]'):[0]::int FROM t WHERE v:['x'].y::int = 3",
        "SELECT CAST(g AS GEOMETRY(ANY)), g::GEOGRAPHY(ANY) FROM t",
        "SELECT corr(DISTINCT x, y), any_value(g, false) OVER w, shuffle(a, 5) FROM t",
        "SELECT first_value(x, true) OVER (ORDER BY y) FROM t WHERE shuffle(a, 5)[0] = 1",
    ],
)
def test_what_sqlglot_lacks_of_spark_is_read(text: str) -> None:
    (found,) = table_references(parse_query(text), text)
    assert text[found.start : found.name_end] == "t"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT a FROM t |> LIMIT 10", "t"),
        ("SELECT * FROM t ORDER BY a |> UNION ALL SELECT * FROM u |> LIMIT 3", "t u"),
        ("FROM t |> SET a = 1, b = (SELECT max(x) FROM k)", "t k"),
        ("FROM t |> EXCEPT SELECT 1", "t"),
        ("FROM t |> UNION ALL FROM u", "t u"),
        (
            (
                "WITH c AS (FROM t), d(x) AS (SELECT 1 FROM w |> LIMIT 3) FROM c |> SET b = 1 "
                "|> JOIN u AS v USING (a) |> AGGREGATE sum(a) AS q GROUP BY b AS z, k |> DROP z "
                "|> AS n |> JOIN d ON true"
            ),
            "t w u",
        ),
        ("SELECT * FROM (FROM t |> SET x = 1 |> AGGREGATE GROUP BY x) s JOIN k", "t k"),
        (
            (
                "FROM t |> PIVOT (sum(x) FOR y IN (1, 2)) |> SET z = 1 |> TABLESAMPLE (10 PERCENT) "
                "|> EXTEND 1 AS x |> WHERE a IN (SELECT b FROM u |> SELECT b |> SET b = 2)"
            ),
            "t u",
        ),
    ],
)
def test_tables_are_found_behind_pipes(text: str, names: str) -> None:
    found = table_references(parse_query(text), text)
    assert [text[one.start : one.name_end] for one in found] == names.split()


def test_a_cte_is_called_as_the_session_tells_names_apart() -> None:
    text = "WITH T AS (SELECT 1) SELECT * FROM t"
    assert table_references(parse_query(text), text) == []
    (found,) = table_references(parse_query(text), text, Dialect(case_sensitive=True))
    assert found.parts == ("t",)


@pytest.mark.parametrize("behind", ["", " AS y", " TABLESAMPLE (5 ROWS) y"])
def test_options_stand_behind_a_name_and_its_version(behind: str) -> None:
    clause = "WITH (`snapshot-id` = 5, 'a.b' = 'x)', c d -- )\n)"
    text = f"WITH w AS (SELECT 1) SELECT * FROM c.d.t VERSION AS OF 'b' {clause}{behind}, w"
    found, _ = (*table_references(parse_query(text), text), None)
    assert found.options == (("snapshot-id", "5"), ("a.b", "x)"), ("c", "d"))
    assert text[found.name_end : found.end].strip() == f"VERSION AS OF 'b' {clause}"
    assert (found.version, found.alias) == ("b", "y" if behind else None)


def test_options_are_those_of_the_table_that_they_stand_behind() -> None:
    text = "SELECT * FROM c.d.t JOIN c.d.u WITH (a = 1) ON t.x = u.x JOIN c.d.v WITH (a = 2)"
    found = table_references(parse_query(text), text)
    assert [one.options for one in found] == [(), (("a", "1"),), (("a", "2"),)]


@pytest.mark.parametrize("text", ["SELECT * FROM c.d.t WITH (a = 1, a = 2)",
                                  "SELECT * FROM c.d.t WITH (a = 1) VERSION AS OF 5",
                                  "SELECT * FROM c.d.t WITH (a = )x"])  # fmt: skip
def test_options_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        table_references(parse_query(text), text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id FROM c.d.t WHERE id IN (2, with(1))",
        "SELECT id FROM c.d.t WHERE id IN (2, with(id = 1))",
        "SELECT with(_pos) FROM c.d.t",
        "SELECT s.with(1), with(a.b), with('x') FROM c.d.t",
        "SELECT with.a FROM c.d.t AS with(a, b) WHERE with.a = 1",
        "SELECT t.id FROM c.d.t JOIN range(3) AS with(a) ON with.a = t.id",
        "WITH RECURSIVE w(a, b) AS (SELECT 1, 2) SELECT 'WITH (a = 1)' FROM c.d.t -- WITH (a = 1)",
    ],
)
def test_a_function_or_an_alias_called_with_is_no_clause(text: str) -> None:
    assert options_clauses(text, SPARK) == ()


def test_options_that_are_no_tables_prune_nothing() -> None:
    """They are left out of the tree, of which conditions are read."""
    text = "SELECT id FROM (SELECT * FROM c.d.t) WITH (a = 1) WHERE id = 5"
    assert ParsedQuery.of(text, SPARK).is_rewritten
    assert not ParsedQuery.of("SELECT id FROM c.d.t WITH (a = 1) WHERE id = 5", SPARK).is_rewritten


def test_a_number_among_options_may_be_written_as_parameters_are() -> None:
    text = "SELECT * FROM c.d.t WITH (a = 7143204722549867923L, b = -5S)"
    (found,) = table_references(parse_query(text), text)
    assert found.options == (("a", "7143204722549867923"), ("b", "-5"))


def test_names_among_options_keep_what_ends_like_a_number() -> None:
    text = "SELECT * FROM c.d.t WITH (branch = 'v2Latest', tag = '5L', a = v5Lx)"
    (found,) = table_references(parse_query(text), text)
    assert found.options == (("branch", "v2Latest"), ("tag", "5L"), ("a", "v5Lx"))


def test_a_text_that_cannot_be_parsed_is_shown_where_the_parser_stops() -> None:
    text = "SELECT a, b FROM c.d.t PIVOT (ceil(sum(a)), avg(b) + 1 FOR d IN (1))"
    with pytest.raises(InvalidInputError, match=r"Expecting FOR \(line 1, near '.*PIVOT \(ceil"):
        parse_query(text)
