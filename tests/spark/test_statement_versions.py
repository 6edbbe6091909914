"""What a statement sees of its own table is what it changes: one version, or an error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidExpressionError, InvalidInputError, ValidationException
from iceberg_spark.statements import merge_rows, row_changes

CHANGES = {
    "merge": """MERGE INTO st.d.t t USING (SELECT id, v + 1 AS v FROM st.d.t) s ON t.id = s.id
                WHEN MATCHED THEN UPDATE SET v = s.v""",
    "update": "UPDATE st.d.t SET v = (SELECT max(v) + 1 FROM st.d.t) WHERE id = 1",
    "delete": """DELETE FROM st.d.t WHERE id IN
                 (SELECT id FROM st.d.t GROUP BY id HAVING count(*) = 1)""",
}


def rows(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ice.sql(spark, text).collect()]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_commit_between_what_is_read_and_what_is_changed_is_found(
    spark: Any, sql_home: Path, monkeypatch: pytest.MonkeyPatch, change: str, mode: str
) -> None:
    """Java pins one version for a statement's target and subqueries, and checks from there."""
    modes = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
    rows(spark, f"CREATE TABLE st.d.t (id bigint, v bigint) TBLPROPERTIES ({modes})")
    rows(spark, "INSERT INTO st.d.t VALUES (1, 10), (2, 20)")
    module = merge_rows if change == "merge" else row_changes
    inner: Callable[..., Any] = module.with_subquery_views

    @contextmanager
    def late(*given: Any) -> Iterator[Any]:
        with inner(*given) as values:
            monkeypatch.setattr(module, "with_subquery_views", inner)
            ice.load_table("st.d.t").update({"v": "v + 100"}, where="id = 1")
            yield values

    monkeypatch.setattr(module, "with_subquery_views", late)
    with pytest.raises(ValidationException):
        rows(spark, CHANGES[change])
    assert rows(spark, "SELECT * FROM st.d.t ORDER BY id") == [(1, 110), (2, 20)]
    rows(spark, CHANGES[change])
    left = {
        "merge": [(1, 111), (2, 21)],
        "update": [(1, 111), (2, 20)],
        "delete": [],
    }
    assert rows(spark, "SELECT * FROM st.d.t ORDER BY id") == left[change]


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize("change", ["merge", "update", "delete"])
def test_a_commit_to_another_partition_in_between_is_no_conflict(
    spark: Any, sql_home: Path, monkeypatch: pytest.MonkeyPatch, change: str, mode: str
) -> None:
    """Both land: what was changed was seen, and what came is of other rows."""
    modes = ", ".join(f"'write.{verb}.mode' = '{mode}'" for verb in ("delete", "update", "merge"))
    columns = "(id bigint, v bigint, p int) PARTITIONED BY (p)"
    rows(spark, f"CREATE TABLE st.d.t {columns} TBLPROPERTIES ({modes})")
    rows(spark, "INSERT INTO st.d.t VALUES (1, 10, 1), (2, 20, 2)")
    module = merge_rows if change == "merge" else row_changes
    inner: Callable[..., Any] = module.with_subquery_views

    @contextmanager
    def late(*given: Any) -> Iterator[Any]:
        with inner(*given) as values:
            monkeypatch.setattr(module, "with_subquery_views", inner)
            rows(spark, "INSERT INTO st.d.t VALUES (3, 30, 2)")
            yield values

    monkeypatch.setattr(module, "with_subquery_views", late)
    texts = {
        "merge": """MERGE INTO st.d.t t USING (SELECT id, max(v) + 1 AS v FROM st.d.t GROUP BY id) s
                    ON t.p = 1 AND t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v""",
        "update": "UPDATE st.d.t SET v = (SELECT max(v) FROM st.d.t) WHERE p = 1",
        "delete": "DELETE FROM st.d.t WHERE p = 1 AND id IN (SELECT id FROM st.d.t)",
    }
    rows(spark, texts[change])
    left = {"merge": [(1, 11)], "update": [(1, 20)], "delete": []}[change]
    assert rows(spark, "SELECT id, v FROM st.d.t ORDER BY id") == [*left, (2, 20), (3, 30)]


def test_a_star_is_no_value(spark: Any, sql_home: Path) -> None:
    """Rows that are changed have columns of ours beside the table's."""
    rows(spark, "CREATE TABLE st.d.t (id bigint, j string) TBLPROPERTIES ('format-version' = '3')")
    rows(spark, "INSERT INTO st.d.t VALUES (1, 'a * b')")
    merge = "MERGE INTO st.d.t t USING (SELECT 1L AS id) s ON t.id = s.id "
    for text in (
        "UPDATE st.d.t SET j = to_json(struct(*))",
        merge + "WHEN MATCHED THEN UPDATE SET j = to_json(struct(t.*))",
        merge + "WHEN NOT MATCHED THEN INSERT (id, j) VALUES (s.id, to_json(struct(1, s.*)))",
    ):
        with pytest.raises(InvalidExpressionError, match=r"'\*' is no value"):
            rows(spark, text)
    rows(
        spark,
        """UPDATE st.d.t SET id = id * 2 * (SELECT count(*) FROM st.d.t),
           j = concat(j, '(*)', /* t.* */ '.*')""",
    )
    one = "((SELECT max(id) FROM st.d.t) UNION SELECT count(*) FROM st.d.t WHERE false LIMIT 1)"
    rows(spark, f"UPDATE st.d.t SET id = {one}")
    assert rows(spark, "SELECT * FROM st.d.t") == [(2, "a * b(*).*")]


def test_a_column_with_a_value_by_partition_gets_no_other(spark: Any, sql_home: Path) -> None:
    rows(spark, "CREATE TABLE st.d.t (id bigint, p int) PARTITIONED BY (p)")
    rows(spark, "INSERT INTO st.d.t VALUES (1, 1)")
    for text in (
        "INSERT INTO st.d.t PARTITION (p = 1) (id, P) SELECT 2, 2",
        "INSERT OVERWRITE st.d.t PARTITION (p = 1) BY NAME SELECT 2 AS id, 2 AS p",
    ):
        with pytest.raises(InvalidInputError, match=r"by PARTITION"):
            rows(spark, text)
    assert rows(spark, "SELECT * FROM st.d.t") == [(1, 1)]
    rows(spark, "INSERT INTO st.d.t PARTITION (p = 3) (id) SELECT 2")
    rows(spark, "INSERT OVERWRITE st.d.t PARTITION (p = 1) BY NAME SELECT 4L AS id")
    assert rows(spark, "SELECT * FROM st.d.t ORDER BY id") == [(2, 3), (4, 1)]
