"""A column under its table's whole name keeps the table's own name only."""

import pytest

from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.sql.qualifiers import prefixes
from iceberg_spark.spark.sql.text_edits import edited

TABLE = ("c", "d", "t")


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("c.d.t.id = 1 AND d.t.id = t.id", "t.id = 1 AND t.id = t.id"),
        ("`c`.D.`T`.id", "`T`.id"),
        ("c . d /* x */ . t . id", "t . id"),
        ("count(c.d.t.*)", "count(t.*)"),
        ("NOT c.d.t.a OR c.d.t.b", "NOT t.a OR t.b"),
        ("x.c.d.t.id", "x.c.d.t.id"),
        ("c.d.t", "c.d.t"),
        ("d.u.id + c.t.id", "d.u.id + c.t.id"),
        ("'c.d.t.id' || \"d.t.x\"", "'c.d.t.id' || \"d.t.x\""),
        ("t.d.t.id", "t.d.t.id"),
        ("c.d.t.d.t.x", "t.d.t.x"),
    ],
)
def test_catalog_and_namespace_go_where_a_column_follows(text: str, cut: str) -> None:
    assert edited(text, 0, len(text), prefixes(text, [TABLE], SPARK)) == cut
