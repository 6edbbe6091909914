"""`cat.db.t.changes`: rows that files of commits brought or took away.

Source: Java's SparkChangelogTable.
"""

from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
    UnsupportedError,
)

FORMAT = "pyiceberg-lite"
ADDED = ["_change_type", "_change_ordinal", "_commit_snapshot_id"]
ALL = [
    (0, "INSERT", 1, "a"), (0, "INSERT", 2, "b"), (0, "INSERT", 3, "c"),
    (1, "DELETE", 1, "a"), (1, "DELETE", 2, "b"), (1, "DELETE", 3, "c"),
    (1, "INSERT", 1, "a"), (1, "INSERT", 3, "c"),
    (2, "DELETE", 3, "c"),
    (3, "INSERT", 4, "d"),
]  # fmt: skip
"""Of `table`: a copy-on-write delete writes rows 1 and 3 again; 3 is deleted by position."""


@pytest.fixture
def table(lake: Any) -> ice.Table:
    made = ice.create_table("lake.db.t", "id bigint, k string")
    made.append(pa.table({"id": [1, 2, 3], "k": ["a", "b", "c"]}))
    made.delete("id = 2")  # copy-on-write
    made.update_properties().set({"write.delete.mode": "merge-on-read"}).commit()
    made.delete("id = 3")
    made.append(pa.table({"id": [4], "k": ["d"]}))
    made.maintenance.rewrite_data_files(options={"rewrite-all": "true"})
    return made


def found(frame: Any) -> list[tuple[Any, ...]]:
    return sorted((row[-2], row[-3], *row[:-3]) for row in frame.collect())


def test_all_rows_that_files_brought_or_took_away_are_shown(lake: Any, table: ice.Table) -> None:
    frame = lake.sql("SELECT * FROM lake.db.t.changes")
    assert frame.columns == ["id", "k", *ADDED]
    assert found(frame) == ALL
    assert found(lake.table("lake.db.t.CHANGES")) == ALL
    assert found(lake.read.format(FORMAT).load("lake.db.t#changes")) == ALL
    commits = lake.sql("SELECT DISTINCT _commit_snapshot_id FROM lake.db.t.changes").collect()
    changing = [one for one in table.snapshots() if one.operation != "replace"]
    assert {row[0] for row in commits} == {one.snapshot_id for one in changing}


def test_conditions_and_columns_of_a_query_are_those_of_the_rows(
    lake: Any, table: ice.Table
) -> None:
    text = "SELECT c.k FROM lake.db.t.changes c WHERE c.id = 3 AND _change_type = 'DELETE'"
    assert [tuple(row) for row in lake.sql(text).collect()] == [("c",), ("c",)]
    counted = lake.sql(
        "SELECT _change_ordinal, count(*) FROM lake.db.t.changes WHERE id < 3 GROUP BY ALL"
    )
    assert sorted(map(tuple, counted.collect())) == [(0, 2), (1, 3)]
    joined = lake.sql(
        "SELECT t.id FROM lake.db.t JOIN lake.db.t.changes c ON t.id = c.id AND c.id > 1"
    )
    assert [tuple(row) for row in joined.collect()] == [(4,)]
    assert "pruned by  c.id = 3" in ice.explain(lake, text)
    assert "changes after None up to" in ice.explain(lake, text)


def test_changes_say_of_which_file_they_are(lake: Any, table: ice.Table) -> None:
    rows = lake.sql("SELECT id, _file, _pos FROM lake.db.t.changes WHERE _change_ordinal = 2")
    ((number, path, place),) = rows.collect()
    assert (number, place) == (3, 1)
    assert path.startswith(f"{table.location()}/data/")
    assert lake.sql("SELECT *, _pos FROM lake.db.t.changes").columns == ["id", "k", *ADDED, "_pos"]


def test_options_choose_between_which_snapshots(lake: Any, table: ice.Table) -> None:
    numbers = [one.snapshot_id for one in table.snapshots()]
    times = [one.timestamp_ms for one in table.snapshots()]

    def read(**options: int) -> list[tuple[Any, ...]]:
        reader = lake.read
        for name, value in options.items():
            reader = reader.option(name.replace("_", "-"), value)
        return found(reader.table("lake.db.t.changes"))

    def steps(*ordinals: int) -> list[tuple[Any, ...]]:
        first = ordinals[0] if ordinals else 0
        return [(row[0] - first, *row[1:]) for row in ALL if row[0] in ordinals]

    assert read(start_snapshot_id=numbers[0], end_snapshot_id=numbers[2]) == steps(1, 2)
    assert read(end_snapshot_id=numbers[0]) == steps(0)
    assert read(start_timestamp=times[1]) == steps(2, 3)
    assert read(start_timestamp=times[0], end_timestamp=times[1]) == steps(1)
    assert read(end_timestamp=times[0] - 1) == steps()
    loaded = lake.read.format(FORMAT).option("start-timestamp", times[2])
    assert found(loaded.load(f"{table.location()}#changes")) == steps(3)


def test_a_branch_has_changes_of_its_own(lake: Any, table: ice.Table) -> None:
    first = table.snapshots()[0].snapshot_id
    table.manage_snapshots().create_branch(first, "b").commit()
    lake.sql("INSERT INTO lake.db.t.branch_b VALUES (9, 'z')")
    rows = lake.read.option("branch", "b").option("start-snapshot-id", first)
    assert found(rows.table("lake.db.t.changes")) == [(0, "INSERT", 9, "z")]


def test_the_source_alone_reads_changes(any_spark: Any, table: ice.Table) -> None:
    first = table.snapshots()[0]
    ice.disable(any_spark)
    place = f"{table.location()}#changes"
    reader = any_spark.read.format(FORMAT)
    assert found(reader.load(place)) == ALL
    some = reader.option("row-filter", "id = 2").option("columns", "id")
    assert found(some.load(place)) == [(0, "INSERT", 2), (1, "DELETE", 2)]
    until = any_spark.read.format(FORMAT).option("end-timestamp", first.timestamp_ms)
    assert found(until.load(place)) == [row for row in ALL if row[0] == 0]


def test_a_table_without_snapshots_has_no_changes(lake: Any) -> None:
    ice.create_table("lake.db.e", "id bigint")
    frame = lake.sql("SELECT * FROM lake.db.e.changes")
    assert (frame.columns, frame.collect()) == (["id", *ADDED], [])


def test_what_changes_do_not_have_is_refused(lake: Any, table: ice.Table) -> None:
    number = table.snapshots()[0].snapshot_id
    for text, error, said in (
        (f"SELECT * FROM lake.db.t.changes VERSION AS OF {number}", InvalidInputError, "AS OF"),
        ("DELETE FROM lake.db.t.changes WHERE id = 1", UnsupportedError, "can't be changed"),
        ("INSERT INTO lake.db.t.changes VALUES (1)", UnsupportedError, "can't be changed"),
    ):
        with pytest.raises(error, match=said):
            lake.sql(text).collect()
    for options, said in (
        ({"snapshot-id": number}, "'snapshot-id' is not supported for changes"),
        ({"start-snapshot-id": number, "start-timestamp": 1}, "exclude each other"),
        ({"start-timestamp": 5, "end-timestamp": 5}, "must be before"),
        ({"metadata-columns": "_deleted"}, "filter by '_change_type'"),
    ):
        with pytest.raises(InvalidOptionError, match=said):
            lake.read.options(**options).table("lake.db.t.changes")
    with pytest.raises(InvalidOptionError, match="'start-timestamp' is for changes"):
        lake.read.option("start-timestamp", 1).table("lake.db.t")
    assert found(lake.sql("SELECT * FROM lake.db.t.changes")) == ALL


def test_a_column_that_changes_add_has_to_be_renamed(lake: Any) -> None:
    ice.create_table("lake.db.c", "id bigint, _Change_Type string")
    for read in (lambda: lake.sql("SELECT id FROM lake.db.c.changes"),
                 lambda: lake.read.format(FORMAT).load("lake.db.c#changes")):  # fmt: skip
        with pytest.raises(InvalidSchemaError, match="rename it"):
            read()
