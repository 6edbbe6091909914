"""Names with dots between them, wherever they stand in a text."""

import pytest

from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.sql.qualifiers import apply_edits, paths


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("c.d.t.id = 1 AND d.t.id = t.id", ["c.d.t.id", "d.t.id", "t.id"]),
        ("`c`.D.`T`.id", ["c.D.T.id"]),
        ("c . d /* x */ . t . id", ["c.d.t.id"]),
        ("count(c.d.t.*)", ["c.d.t.*"]),
        ("'c.d.t.id' || \"d.t.x\"", []),
        ("c.system.bucket(4, t.id)", ["t.id"]),
        ("id + 1", []),
    ],
)
def test_names_of_several_parts_are_found_and_no_called_functions(
    text: str, found: list[str]
) -> None:
    assert [one.text for one in paths(text, SPARK)] == found


def test_what_stands_before_a_tables_own_name_is_cut_or_all_of_it_replaced() -> None:
    text = "1 < `c` . d.`T`.id"
    (path,) = paths(text, SPARK)
    assert apply_edits(text, 0, len(text), [path.cut_before(3)]) == "1 < `T`.id"
    assert apply_edits(text, 0, len(text), [path.behind(3, "c.d.T")]) == "1 < `c.d.T`.id"
