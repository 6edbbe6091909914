"""What names in a view's text stand for, and texts whose tables can't all be seen."""

from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from iceberg_spark.catalog.memory import memory_catalog
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.sql import view_columns
from iceberg_spark.spark.sql.references import hidden_table, parse_query, table_references
from iceberg_spark.spark.sql.view_columns import ViewNames

NO_SESSION = cast(SparkSession, None)


@pytest.fixture(autouse=True)
def catalogs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view_columns, "is_ours", lambda _, name: name == "prod")
    monkeypatch.setattr(view_columns, "has_spark_catalog", lambda _, name: name == "theirs")


def names(**members: Any) -> ViewNames:
    given = {"default_catalog": "prod", "default_namespace": ("a", "b"), "path": ("c.db.v",)}
    return ViewNames(memory_catalog("c"), **{**given, **members})


def qualified(text: str, **members: Any) -> list[str]:
    found = table_references(parse_query(text), text)
    return [names(**members).qualified(one, NO_SESSION).name for one in found]


@pytest.mark.parametrize(
    ("table", "stands_for"),
    [
        ("t", "prod.a.b.t"),
        ("db.t", "prod.db.t"),
        ("x.y.t", "prod.x.y.t"),
        ("prod.db.t", "prod.db.t"),
        ("c.db.t", "c.db.t"),
        ("theirs.db.t", "theirs.db.t"),
        ("spark_catalog.default.t", "spark_catalog.default.t"),
    ],
)
def test_a_name_is_of_the_views_defaults_unless_it_begins_with_a_catalog(
    table: str, stands_for: str
):
    text = f"SELECT * FROM {table} WHERE id IN (SELECT id FROM {table})"
    assert qualified(text) == [stands_for, stands_for]


def test_a_common_table_expression_keeps_its_name():
    text = "WITH t AS (SELECT * FROM t) SELECT * FROM t JOIN u"
    assert qualified(text) == ["prod.a.b.t", "prod.a.b.u"]


def test_the_error_for_an_unknown_catalog_names_it():
    with pytest.raises(InvalidInputError, match="no catalog other is known"):
        qualified("SELECT * FROM t", default_catalog="other")


@pytest.mark.parametrize("table", ["`/data/t`", "parquet.`/data/t`", "`pyiceberg-lite`.`s3://a/t`"])
def test_a_location_in_a_view_is_refused(table: str):
    with pytest.raises(InvalidInputError, match="location"):
        qualified(f"SELECT * FROM {table}")


def test_a_view_made_of_itself_is_refused():
    with pytest.raises(InvalidInputError, match=r"c\.db\.v -> c\.db\.w -> c\.db\.v"):
        names(path=("c.db.v", "c.db.w", "c.db.v")).check_path()
    names(path=("c.db.v", "c.db.w")).check_path()
    with pytest.raises(InvalidInputError, match="more than 100 deep"):
        names(path=tuple(f"c.db.v{number}" for number in range(101))).check_path()


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("SELECT * FROM f(TABLE(t))", "TABLE("),
        ("SELECT * FROM a WHERE x = (TABLE u)", "TABLE u"),
        ("SELECT * FROM a WHERE x = (table `u`)", "table `u`"),
        ("SELECT * FROM STREAM(t)", "STREAM("),
        ("SELECT * FROM a JOIN stream t", "stream t"),
        ("SELECT table, stream FROM t", None),
        ("SELECT a.table t, `TABLE` u FROM a", None),
        ("SELECT table AS a FROM t WHERE table IN (1) AND stream IS NULL ORDER BY table", None),
        ("SELECT 'TABLE t' -- TABLE t\nFROM t", None),
        ("SELECT * FROM t", None),
    ],
)
def test_a_table_that_the_tree_may_not_show_is_found(text: str, hidden: str | None):
    assert hidden_table(text, SPARK) == hidden


@pytest.mark.parametrize("text", ["SELECT * FROM IDENTIFIER('t')", "SELECT * FROM f(TABLE(t))"])
def test_a_text_whose_tables_only_spark_sees_is_no_view(text: str):
    with pytest.raises(InvalidInputError, match=r"View c\.db\.v names a table by"):
        names().check_text(parse_query(text), text, SPARK)


def test_a_table_that_a_hint_names_is_no_table_of_the_query():
    text = "SELECT /*+ BROADCAST(c.d.t), MERGE(t) */ * FROM c.d.t"
    assert [one.start for one in table_references(parse_query(text), text)] == [text.rindex("c.d")]


def test_what_the_parser_asserts_is_a_refusal():
    with pytest.raises(InvalidInputError, match="can't be parsed"):
        parse_query("FROM t |> UNION ALL TABLE u")
