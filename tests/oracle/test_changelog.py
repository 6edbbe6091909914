"""Changes against Java's create_changelog_view, where Java can: snapshots without delete files."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle import java_api

UPDATED = 3  # the snapshot of the update; later ones remove two rows of one identity


@pytest.fixture(scope="module")
def changed(java: SparkSession) -> ice.Table:
    """Inserts, a rewrite by condition, an update, an overwrite and a compaction, by Java."""
    java.sql(
        "CREATE TABLE j.db.changed (id bigint, k string, v double) USING iceberg "
        "PARTITIONED BY (k) TBLPROPERTIES ('format-version'='2')"
    )
    twice = "(4, null, null), (4, null, null)"
    java.sql(
        "INSERT INTO j.db.changed VALUES (1, 'a', 1.0), (2, 'a', double('NaN')), "
        f"(3, 'b', -0.0), {twice}"
    )
    java.sql("DELETE FROM j.db.changed WHERE id = 1")
    java.sql("INSERT INTO j.db.changed VALUES (1, 'a', 1.0), (5, 'c', 5.0)")
    java.sql("UPDATE j.db.changed SET v = 7 WHERE id IN (3, 5)")
    java.sql("CALL j.system.rewrite_data_files(table => 'db.changed', "
             "options => map('rewrite-all', 'true'))")  # fmt: skip
    java.sql("INSERT OVERWRITE j.db.changed VALUES (1, 'a', 2.0), (6, 'a', 6.0)")
    java.sql("DELETE FROM j.db.changed WHERE id = 6")
    return ice.load_table(java_api.location(java, "changed"))


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "changes": ("", {}),
    "net": ("net_changes => true, ", {"net_changes": True}),
    "updates": (
        "identifier_columns => array('id', 'k'), ",
        {"identifier_columns": ["id", "k"]},
    ),
}


@pytest.mark.parametrize("start", [None, 0, 2])
@pytest.mark.parametrize("case", CASES)
def test_the_changes_are_javas(
    java: SparkSession, changed: ice.Table, case: str, start: int | None
) -> None:
    arguments, ours = CASES[case]
    numbers = [each.snapshot_id for each in changed.snapshots()]
    first = None if start is None else numbers[start]
    last = numbers[UPDATED if case == "updates" else -1]
    given = "" if first is None else f"'start-snapshot-id', '{first}', "
    options = f"options => map({given}'end-snapshot-id', '{last}'), "
    view = f"view_{case}_{start}"
    java.sql(
        f"CALL j.system.create_changelog_view(table => 'db.changed', {arguments}{options}"
        f"changelog_view => '{view}')"
    )
    expected = java.table(view).toArrow()
    found = changed.scan().changes(first, last, **ours).to_arrow()
    assert found.column_names == expected.column_names
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


@pytest.mark.parametrize(("start", "end"), [(0, None), (0, 2), (2, 4), (2, 3), (3, None)])
def test_an_incremental_read_gives_java_s_rows(
    java: SparkSession, changed: ice.Table, start: int, end: int | None
) -> None:
    """Rows that append snapshots added; other snapshots in between give none."""
    numbers = [each.snapshot_id for each in changed.snapshots()]
    reader = java.read.format("iceberg").option("start-snapshot-id", numbers[start])
    if end is not None:
        reader = reader.option("end-snapshot-id", numbers[end])
    theirs = reader.load("j.db.changed")
    last = None if end is None else numbers[end]
    ours = changed.scan(start_snapshot_id=numbers[start], end_snapshot_id=last).to_arrow()
    assert sorted(map(str, ours.to_pylist())) == sorted(str(r.asDict()) for r in theirs.collect())


BOUNDS: dict[str, tuple[str | None, str | None]] = {
    "all": (None, None),
    "after a snapshot": ("start-snapshot-id", None),
    "up to a snapshot": (None, "end-snapshot-id"),
    "between snapshots": ("start-snapshot-id", "end-snapshot-id"),
    "between times": ("start-timestamp", "end-timestamp"),
    "after a time": ("start-timestamp", None),
}


@pytest.mark.parametrize("case", BOUNDS)
def test_the_table_of_changes_is_javas(java: SparkSession, changed: ice.Table, case: str) -> None:
    """Rows that a commit wrote again are in it, as Java's documentation says."""
    start, end = BOUNDS[case]
    first, last = (changed.snapshots()[at] for at in (1, -3))
    options = {
        name: str(one.snapshot_id if name.endswith("-id") else one.timestamp_ms)
        for name, one in ((start, first), (end, last))
        if name is not None
    }
    theirs = java.read.options(**options).table("j.db.changed.changes")
    ice.enable(java)
    try:
        place = f"{changed.location()}#changes"
        ours = java.read.format("pyiceberg-lite").options(**options).load(place)
        assert (ours.columns, ours.dtypes) == (theirs.columns, theirs.dtypes)
        assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))
    finally:
        ice.disable(java)


def test_a_query_of_the_table_of_changes_has_the_answer_of_javas_rows(
    java: SparkSession, changed: ice.Table
) -> None:
    """Of Java's rows, all columns: where a query needs fewer, Java's reader fails."""
    text = (
        "SELECT k, _change_type, _change_ordinal, count(*), min(v) FROM {} WHERE id < 6 "
        "GROUP BY ALL ORDER BY ALL"
    )
    rows = java.table("j.db.changed.changes").toArrow()
    java.createDataFrame(rows).createOrReplaceTempView("javas_changes")
    theirs = java.sql(text.format("javas_changes")).collect()
    ours = ice.sql(java, text.format(f"`{changed.location()}#changes`")).collect()
    assert list(map(str, ours)) == list(map(str, theirs))
    java.catalog.dropTempView("javas_changes")


def test_the_table_of_changes_is_described_as_javas(java: SparkSession, changed: ice.Table) -> None:
    shown = java.sql("DESCRIBE j.db.changed.changes").collect()
    ice.enable(java)
    try:
        assert java.sql("DESCRIBE j.db.changed.changes").collect() == shown
    finally:
        ice.disable(java)
