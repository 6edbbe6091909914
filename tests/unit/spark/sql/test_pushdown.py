"""What a query's text lets a table's scan leave out: by join, clause and name."""

import pytest
from sqlglot import exp

from iceberg_spark.errors import InvalidExpressionError, InvalidInputError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.parse import predicate
from iceberg_spark.spark.sql.pushdown import QueryTree, conditions, needed_columns
from iceberg_spark.spark.sql.references import (
    TableReference,
    is_rewritten,
    parse_query,
    table_references,
)

COLUMNS = ("id", "day", "s")


def reference(text: str, name: str = "c.d.t") -> tuple[QueryTree, TableReference]:
    tree = parse_query(text)
    return QueryTree.of(tree, text), next(
        one for one in table_references(tree, text) if one.name == name
    )


def references(text: str) -> tuple[QueryTree, dict[str, TableReference]]:
    tree = parse_query(text)
    return QueryTree.of(tree, text), {one.name: one for one in table_references(tree, text)}


def taken(text: str, name: str = "c.d.t") -> list[str]:
    tree, one = reference(text, name)
    return [condition.text for condition in conditions(tree, one, COLUMNS).taken]


def left_out(text: str) -> list[str]:
    return list(conditions(*reference(text), COLUMNS).left_out)


def columns(text: str) -> tuple[str, ...] | None:
    tree, one = reference(text)
    return needed_columns(tree, one, COLUMNS)


@pytest.mark.parametrize(
    "text",
    [
        "select * from c.d.t where id > 5",
        "select * from c.d.t as x where x.id > 5 and other = 3",
        "select * from c.d.t, u where t.id > 5 and u.id = t.id",
        "select * from u join c.d.t on u.k = t.id and t.id > 5",
        "select * from c.d.t join u on u.k = t.id and t.id > 5",
        "select * from c.d.t left join u on u.k = t.id where t.id > 5",
        "select * from u left join c.d.t on u.k = t.id and t.id > 5",
        "select * from u right join c.d.t on u.k = t.id where t.id > 5",
        "select * from c.d.t left semi join u on u.k = t.id and t.id > 5",
        "select * from u left semi join c.d.t on u.k = t.id and t.id > 5",
        "select * from u left anti join c.d.t on u.k = t.id and t.id > 5",
        "select * from c.d.t left anti join u on u.k = t.id where t.id > 5",
        "select 1 where exists (select 1 from c.d.t where t.id > 5 and u.k = t.id)",
        "with x as (select * from c.d.t where id > 5) select * from x",
        "select * from c.d.t where c.d.t.id > 5",
        "select * from c.d.t where (id > 5 and (day = 3 or other = 2))",
        "select * from c.d.t where id > 5 union all select 1, 2",
    ],
)
def test_a_condition_that_every_row_must_meet_is_pushed_down(text: str) -> None:
    assert any(one.endswith("id > 5") for one in taken(text)), taken(text)


@pytest.mark.parametrize(
    "text",
    [
        "select * from u left join c.d.t on u.k = t.id where t.id is null",
        "select * from c.d.t right join u on u.k = t.id where t.id is null",
        "select * from c.d.t full join u on u.k = t.id and t.id > 5 where t.id > 5",
        "select * from u full join c.d.t on u.k = t.id and t.id > 5",
        "select * from c.d.t left join u on u.k = t.id and t.id > 5",
        "select * from u right join c.d.t on u.k = t.id and t.id > 5",
        "select * from c.d.t left anti join u on u.k = t.id and t.id > 5",
        "select * from u join c.d.t on u.k = t.id right join v on v.k = u.k where t.id > 5",
        "select * from c.d.t where id > 5 or u > 3",
        "select * from c.d.t tablesample (10 percent) where id > 5",
        "select * from c.d.t group by id having id > 5",
        "select (select max(id) from u where u.id > 5) from c.d.t",
        "select * from c.d.t where id > u.x",
    ],
)
def test_a_condition_that_may_keep_other_rows_is_not_pushed_down(text: str) -> None:
    assert taken(text) == []


def test_a_condition_with_a_subquery_is_named() -> None:
    assert left_out("select * from c.d.t where id in (select k from u)") == [
        "id IN (SELECT k FROM u)"
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select id from c.d.t where day > 1", ("id", "day")),
        ("select x.ID from c.d.t x", ("id",)),
        ("select count(*) from c.d.t", ()),
        ("select max(s.f) from c.d.t", ("s",)),
        ("select u.id from c.d.t join u using (day)", ("id", "day")),
        ("with x as (select id from c.d.t) select * from x", ("id",)),
        ("select * from c.d.t", None),
        ("select t.* from c.d.t", None),
        ("select struct(*) from c.d.t", None),
        ("select id from c.d.t natural join u", None),
        ("select * from (select id from c.d.t)", ("id",)),
        ("select id from c.d.t pivot (max(day) for s in (1, 2))", None),
        ("select identifier('i' || 'd') from c.d.t", None),
    ],
)
def test_columns_are_left_out_only_if_their_names_stand_nowhere(text, expected) -> None:
    assert columns(text) == expected


@pytest.mark.parametrize(
    ("clause", "version", "timestamp"),
    [
        ("version as of 12", "12", None),
        ("for version as of 'eoy'", "eoy", None),
        ("timestamp as of '2020-01-01'", None, "'2020-01-01'"),
        (
            "for timestamp as of date_sub(date '2020-01-02', 1)",
            None,
            "date_sub(date '2020-01-02', 1)",
        ),
        ("timestamp as of timestamp '2020-01-01'", None, "timestamp '2020-01-01'"),
    ],
)
def test_as_of_is_read_and_stands_in_the_span(clause, version, timestamp) -> None:
    text = f"select * from c.d.t {clause} as x where x.id = 1"
    _, one = reference(text)
    assert (one.version, one.timestamp, one.alias) == (version, timestamp, "x")
    assert text[one.start : one.end] == f"c.d.t {clause}"


def test_quoted_names_and_paths_have_their_quotes_in_the_span() -> None:
    text = "select 1 from `pyiceberg-lite`.`/a b/t` p, `/x`"
    first, second = table_references(parse_query(text), text)
    assert (first.parts, second.parts) == (("pyiceberg-lite", "/a b/t"), ("/x",))
    assert text[first.start : first.end] == "`pyiceberg-lite`.`/a b/t`"


@pytest.mark.parametrize("text", ["delete from c.d.t", "select from where", "drop table x"])
def test_what_is_no_query_is_refused(text: str) -> None:
    with pytest.raises(InvalidInputError):
        parse_query(text)


@pytest.mark.parametrize(
    "text",
    [
        "select * from c.d.t join v as day on day.id = t.id where day.s = 1",
        "select * from c.d.t join x.day on t.id = 1 + t.id where day.s = 1",
        "select * from c.d.t, lateral view_of(t.id) as day(s) where day.s = 1",
        "select * from c.d.t lateral view explode(s) day as z where day.s = 1",
        "select * from c.d.t as x(s, day, id) where s = 1",
        "select * from c.d.t join u using (s) where s = 1",
        "select * from c.d.t natural join u where s = 1",
    ],
)
def test_a_name_that_may_belong_to_another_relation_is_not_pushed_down(text: str) -> None:
    assert not any("s = 1" in one for one in taken(text)), taken(text)


def test_a_struct_is_pushed_down_if_no_relation_has_its_name() -> None:
    assert taken("select * from c.d.t join u on u.k = t.id where day.s = 1") == ["day.s = 1"]
    assert taken("select * from c.d.t join v as day on day.k = t.id where t.day.s = 1") == [
        "t.day.s = 1"
    ]


def test_case_tells_aliases_apart_where_the_session_says_so() -> None:
    tree, one = reference("select * from c.d.t as T join u as t on t.k = T.id where t.s = 1")
    assert conditions(tree, one, COLUMNS, case_sensitive=True).taken == ()


@pytest.mark.parametrize(
    "text",
    [
        "select (select struct(o.*)) from c.d.t o",
        "select x.id from c.d.t as x(id, a, b)",
        "select v.id from c.d.t o, lateral (select o.*) v",
        "select count(o.*) from c.d.t o",
        "select day from c.d.t natural join u",
    ],
)
def test_all_columns_are_kept_if_some_may_be_read_without_their_name(text: str) -> None:
    assert columns(text) is None


def test_a_table_expression_hides_a_location_of_its_name() -> None:
    text = "with `/w/t` as (select 1 as id) select * from `/w/t`"
    assert table_references(parse_query(text), text) == []


def test_names_in_double_quotes_are_read_as_the_session_reads_them() -> None:
    text = 'select "day" from c.d.t where "s" = \'x\''
    names = Dialect(quoted_names=True)
    tree = parse_query(text, names)
    one = table_references(tree, text, names)[0]
    assert needed_columns(QueryTree.of(tree, text), one, COLUMNS) == ("day", "s")
    assert [each.text for each in conditions(QueryTree.of(tree, text), one, COLUMNS).taken] == [
        "`s` = 'x'"
    ]


@pytest.mark.parametrize("text", ["from c.d.t |> where id = 1", "select '${x}' from c.d.t"])
def test_a_query_that_spark_rewrites_is_recognized(text: str) -> None:
    assert is_rewritten(text, SPARK)
    assert not is_rewritten("select id from c.d.t where s || 'x' = '|>'", SPARK)


def test_a_thousand_alternatives_are_a_shallow_predicate() -> None:
    """Each step down a predicate is one of Python's, which has an end at a thousand."""
    where = " OR ".join(f"id = {number}" for number in range(1500))
    (one,) = conditions(*reference(f"SELECT * FROM c.d.t WHERE {where}"), COLUMNS).taken
    assert len(list(one.node.find_all(exp.EQ))) == 1500
    level, depth = [one.node], 0
    while level:
        depth += 1
        level = [child for node in level for child in node.iter_expressions()]
    assert depth < 20


def test_a_variants_field_is_no_column_of_a_table_called_as_the_variant() -> None:
    """`v:id` asks column `v` for a field, though the table is called `v` and has a column `id`."""
    text = "SELECT s FROM c.d.t v WHERE v:id IS NOT NULL AND v:id::int > 3 AND day IS NOT NULL"
    tree = parse_query(text)
    query, one = QueryTree.of(tree, text), table_references(tree, text)[0]
    names = ["v", "id", "s", "day"]
    is_field, cast, plain = (one.node for one in conditions(query, one, names).taken)
    for node in (is_field, cast):
        with pytest.raises(InvalidExpressionError):
            predicate(node, text, SPARK)
    assert predicate(plain, text, SPARK)
    needed = needed_columns(query, one, names)
    assert needed is None or "v" in needed


def test_conditions_that_a_tree_keeps_are_those_of_columns_and_case() -> None:
    """Between two runs of one text columns come and go, and the session's settings change."""
    tree, one = reference("select * from c.d.t where id > 5 and Day = 3")

    def found(columns: tuple[str, ...], *, case: bool = False) -> list[str]:
        return [each.text for each in conditions(tree, one, columns, case_sensitive=case).taken]

    assert found(COLUMNS) == ["id > 5", "Day = 3"]
    assert found(COLUMNS, case=True) == ["id > 5"]
    assert found(("day", "s")) == ["Day = 3"]
