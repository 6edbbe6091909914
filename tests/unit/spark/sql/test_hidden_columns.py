"""Metadata columns of a query's tables: where they are named, and out of every star."""

import pytest

from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.sql.hidden_columns import Hidden, hidden_columns, stars_without
from iceberg_spark.spark.sql.pushdown import QueryTree
from iceberg_spark.spark.sql.qualifiers import apply_edits
from iceberg_spark.spark.sql.references import parse_query, table_references


def named(text: str, *beside: str, own: tuple[str, ...] = ("id",), version: int = 3) -> list[str]:
    """Return the metadata columns that a query names of its table c.d.t, which is its first."""
    tree = parse_query(text)
    first, *_ = (one for one in table_references(tree, text) if one.name == "c.d.t")
    found = hidden_columns(
        QueryTree.of(tree, text),
        first,
        own,
        has_lineage=version == 3,
        case_sensitive=False,
        other_columns=lambda: frozenset(beside),
    )
    return list(found)


def hidden(text: str, *columns: str) -> str:
    """Return a query that keeps columns of all tables in the catalog c out of its stars."""
    found = table_references(parse_query(text), text)
    ours = [Hidden(one, columns) for one in found if one.parts[0] == "c"]
    return apply_edits(text, 0, len(text), stars_without(text, found, ours, SPARK))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT _file FROM c.d.t",
        "SELECT t._FILE FROM c.d.t",
        "SELECT c.d.t._file FROM c.d.t",
        "SELECT x.id FROM c.d.t AS x WHERE x._file = 'f'",
        "SELECT id FROM c.d.t ORDER BY _file",
        "SELECT max(_file) OVER (ORDER BY id) FROM c.d.t",
        "SELECT _file AS _file FROM c.d.t",
        "SELECT * FROM c.d.t WHERE EXISTS (SELECT 1 FROM u WHERE u.f = t._file)",
        "WITH w AS (SELECT _file FROM c.d.t) SELECT * FROM w",
        "SELECT _file FROM c.d.t JOIN u USING (id)",
        "SELECT t._file, s._file FROM c.d.t JOIN (SELECT id, _file FROM u) s USING (id)",
    ],
)
def test_a_column_that_the_query_names_is_there(text: str) -> None:
    assert named(text) == ["_file"]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM c.d.t",
        "SELECT '_file' FROM c.d.t",
        "SELECT id AS _file FROM c.d.t ORDER BY _file",
        "SELECT _file FROM c.d.t LATERAL VIEW explode(array(1)) e AS _file",
        "SELECT _file FROM c.d.t, (SELECT _file FROM u)",
        "SELECT u._file FROM c.d.t JOIN u USING (id)",
        "SELECT _file FROM (SELECT * FROM c.d.t)",
        "SELECT _deleted FROM c.d.t",
        "SELECT _file FROM c.d.t NATURAL JOIN u",
        "SELECT _file FROM c.d.t PIVOT (count(id) FOR k IN (1))",
    ],
)
def test_a_name_that_may_be_another_column_is_not_a_metadata_column(text: str) -> None:
    assert named(text) == []


def test_columns_of_tables_go_first() -> None:
    assert named("SELECT _file, _pos FROM c.d.t", own=("id", "_FILE")) == ["_pos"]
    assert named("SELECT _file, t._pos FROM c.d.t JOIN u", "_file", "_pos") == ["_pos"]


def test_row_ids_are_there_from_version_3_on() -> None:
    text = "SELECT _row_id, _last_updated_sequence_number, _partition.a, _spec_id FROM c.d.t"
    of_all = ["_spec_id", "_partition"]
    assert named(text, version=2) == of_all
    assert named(text) == [*of_all, "_row_id", "_last_updated_sequence_number"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT *, _pos FROM c.d.t", "SELECT * EXCEPT (`t`._pos), _pos FROM c.d.t"),
        ("SELECT x.* FROM c.d.t x", "SELECT x.* EXCEPT (`x`._pos) FROM c.d.t x"),
        ("SELECT D.t.* FROM c.d.t", "SELECT D.t.* EXCEPT (`t`._pos) FROM c.d.t"),
        ("SELECT u.*, id * 2 FROM c.d.t, u", "SELECT u.*, id * 2 FROM c.d.t, u"),
        ("SELECT /*+ X(t) */ * FROM c.d.t", "SELECT /*+ X(t) */ * EXCEPT (`t`._pos) FROM c.d.t"),
        ("SELECT * EXCEPT (a) FROM c.d.t", "SELECT * EXCEPT (`t`._pos, a) FROM c.d.t"),
        ("SELECT count(*), 2 * id FROM c.d.t", "SELECT count(*), 2 * id FROM c.d.t"),
        ("SELECT count(t.*) FROM c.d.t", "SELECT count(t.*) FROM c.d.t"),
        ("SELECT struct(*) FROM c.d.t", "SELECT struct(* EXCEPT (`t`._pos)) FROM c.d.t"),
        (
            "SELECT * FROM c.d.t x JOIN c.d.t y",
            "SELECT * EXCEPT (`x`._pos, `y`._pos) FROM c.d.t x JOIN c.d.t y",
        ),
        ("SELECT * FROM u LEFT ANTI JOIN c.d.t", "SELECT * FROM u LEFT ANTI JOIN c.d.t"),
        (
            "SELECT * FROM (SELECT * FROM c.d.t) -- * of both",
            "SELECT * FROM (SELECT * EXCEPT (`t`._pos) FROM c.d.t) -- * of both",
        ),
        (
            "SELECT * FROM c.d.t EXCEPT (SELECT * FROM u)",
            "SELECT * EXCEPT (`t`._pos) FROM c.d.t EXCEPT (SELECT * FROM u)",
        ),
        ("FROM c.d.t SELECT *", "FROM c.d.t SELECT * EXCEPT (`t`._pos)"),
        ("SELECT '*' AS `*` FROM c.d.t", "SELECT '*' AS `*` FROM c.d.t"),
    ],
)
def test_no_star_takes_a_metadata_column(text: str, expected: str) -> None:
    assert hidden(text, "_pos") == expected
