"""What a query's text lets a table's scan leave out: by join, clause and name."""

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.sql.pushdown import conditions, needed_columns
from iceberg_spark.spark.sql.references import TableReference, parse_query, table_references

COLUMNS = ("id", "day", "s")


def reference(text: str, name: str = "c.d.t") -> tuple[object, TableReference]:
    tree = parse_query(text)
    return tree, next(one for one in table_references(tree, text) if one.name == name)


def taken(text: str, name: str = "c.d.t") -> list[str]:
    _, one = reference(text, name)
    return [condition.text for condition in conditions(one, COLUMNS).taken]


def left_out(text: str) -> list[str]:
    return list(conditions(reference(text)[1], COLUMNS).left_out)


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
def test_a_condition_that_every_row_must_meet_is_taken(text: str) -> None:
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
def test_a_condition_that_may_keep_other_rows_is_not_taken(text: str) -> None:
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
