"""DELETE and UPDATE on Spark: any expression, both modes, and the table as it was on errors."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.engines import delete_change
from iceberg_spark.errors import InvalidInputError, UnsupportedError, ValidationException
from iceberg_spark.row_level import target_files
from iceberg_spark.spark.writing.write_files import write_frame

MODES = ("copy-on-write", "merge-on-read")
ROW = ("id", "cast(id * 10 as int) v", "if(id = 9, null, cast(id % 3 as string)) k")
both_modes = pytest.mark.parametrize("mode", MODES)


def made(folder: Path, spark: Any, mode: str = "copy-on-write", **given: Any) -> Table:
    """Ids 0 to 9 in two files where unpartitioned: v = id * 10, k = id % 3 as text, null for 9."""
    properties = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    named = {"properties": properties | given.pop("properties", {})} | given
    table = ice.create_table(str(folder / "t"), "id bigint, v int, k string", **named)
    table.append(spark.range(0, 5, 1, 1).selectExpr(*ROW))
    table.append(spark.range(5, 10, 1, 1).selectExpr(*ROW))
    return table


def deletes_as(granularity: str) -> dict[str, str]:
    """Properties of a table with delete files of a granularity, or with deletion vectors."""
    is_vectors = granularity == "vectors"
    return {"format-version": "3"} if is_vectors else {"write.delete.granularity": granularity}


def rows_of(table: Table) -> list[tuple[Any, ...]]:
    found = table.refresh().scan().to_arrow()
    return sorted(zip(*(found[name].to_pylist() for name in found.column_names), strict=True))


def ids(table: Table) -> list[int]:
    return [row[0] for row in rows_of(table)]


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("mode", "granularity"),
    [
        ("copy-on-write", "file"),
        ("merge-on-read", "file"),
        ("merge-on-read", "partition"),
        ("merge-on-read", "vectors"),
    ],
)
def test_rows_of_any_deterministic_expression_go(
    spark: Any, tmp_path: Path, mode: str, granularity: str
) -> None:
    given = deletes_as(granularity)
    table = made(tmp_path, spark, mode, partition_by=["k"], properties=given)
    assert table.delete("pow(id, 2) % 5 = 1 and length(k) = 1").deleted == 3  # 1, 4, 6
    counts = table.delete("id + v > 88 or k in (concat('', '2'))")
    assert counts.deleted == 4  # 2, 5, 8, 9
    assert ids(table) == [0, 3, 7]
    assert counts.metrics["total-records"] == ("10" if mode == "merge-on-read" else "3")


def test_a_delete_that_the_core_knows_wholly_is_planned_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, spark)
    plans: list[Any] = []
    planned = target_files.plan

    def counted(*arguments: Any, **keywords: Any) -> Any:
        plans.append(arguments)
        return planned(*arguments, **keywords)

    monkeypatch.setattr(target_files, "plan", counted)
    monkeypatch.setattr(delete_change, "IN_PROCESS_FILES", 0)  # so that Spark does it
    assert table.delete("id > 6").deleted == 3
    assert (len(plans), ids(table)) == (1, [0, 1, 2, 3, 4, 5, 6])


def test_over_connect(connect_spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, connect_spark, "merge-on-read")
    assert table.delete("id % 2 = 1").deleted == 5
    assert table.update({"v": "v + 1"}, where="id % 4 = 0").updated == 3
    assert [row[:2] for row in rows_of(table)] == [(0, 1), (2, 20), (4, 41), (6, 60), (8, 81)]


def test_no_spark_job_runs_when_metadata_says_it_all(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, spark)
    monkeypatch.setattr("iceberg_spark.spark.row_level.delete.rows_frame", None)
    assert table.delete("id < 5").deleted == 5
    assert ids(table) == [5, 6, 7, 8, 9]


@both_modes
def test_only_files_with_a_matching_row_are_touched(spark: Any, tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, spark, mode)
    before = {task.file_path for task in table.scan().plan_files()}
    counts = table.delete("abs(id - 2) = 0")
    after = {task.file_path for task in table.scan().plan_files()}
    assert len(before & after) == (1 if mode == "copy-on-write" else 2)
    assert (
        counts.metrics["added-data-files" if mode == "copy-on-write" else "added-delete-files"]
        == "1"
    )


@both_modes
def test_an_update_changes_the_rows_that_match_and_no_other(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path, spark, mode)
    counts = table.update({"v": "v + id", "k": "concat(k, '!')"}, where="id >= 8 or id = 3")
    assert (counts.inserted, counts.updated, counts.deleted) == (0, 3, 0)
    found = {row[0]: row[1:] for row in rows_of(table)}
    assert found[3] == (33, "0!") and found[8] == (88, "2!") and found[9] == (99, None)
    assert found[4] == (40, "1")
    assert table.update({"v": "0"}).updated == 10
    assert {row[1] for row in rows_of(table)} == {0}
    assert table.update({"v": "1"}, where="id > 100").updated == 0


@both_modes
def test_an_update_of_a_partition_source_column_moves_the_row(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path, spark, mode, partition_by=["k"])
    table.update({"k": "'new'"}, where="id = 4")
    found = table.scan(row_filter="k = 'new'")
    assert found.to_arrow()["id"].to_pylist() == [4]
    assert [task.partition for task in found.plan_files()] == [("new",)]
    assert ids(table) == list(range(10))


@both_modes
def test_values_are_stored_as_ansi_says(spark: Any, tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, spark, mode)
    table.update({"v": "7L", "k": "5"}, where="id = 1")  # a long that fits, a number as text
    assert rows_of(table)[1] == (1, 7, "5")
    before = files(tmp_path)
    for values in ({"v": "3000000000"}, {"v": "'text'"}, {"v": "id * 1000000000000"}):
        with pytest.raises(InvalidInputError, match="v"):
            table.update(values, where="id > 0")
    assert files(tmp_path) == before


BAD_INPUT = [
    (lambda t: t.delete("rand() < 0.5"), "not deterministic"),
    (lambda t: t.delete("nope = 1"), "nope"),
    (lambda t: t.delete("id +"), "id"),
    (lambda t: t.delete("id"), "delete_filter"),
    (lambda t: t.delete(""), "empty"),
    (lambda t: t.delete(None), "predicate"),
    (lambda t: t.update({"nope": "1"}), "nope"),
    (lambda t: t.update({}), "set"),
    (lambda t: t.update({"v": 5}), "SQL text"),
    (lambda t: t.update({"v": "1", "V": "2"}, case_sensitive=False), "twice"),
    (lambda t: t.update({"v": "1"}, where="rand() < 0.5"), "not deterministic"),
    (lambda t: t.update({"v": "missing + 1"}), "missing"),
]


def test_bad_input_is_named_and_changes_nothing(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, v int")
    before = files(tmp_path)
    for change, shown in BAD_INPUT:
        with pytest.raises(InvalidInputError, match=shown):
            change(table)
    assert files(tmp_path) == before


@both_modes
def test_columns_may_be_called_anything(spark: Any, tmp_path: Path, mode: str) -> None:
    properties = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    odd = pa.table({"a`b": [1, 2, 3, 4], "c d.é": ["x", "x", "x", "x"]})
    table = ice.create_table(str(tmp_path / "t"), odd.schema, properties=properties)
    table.append(odd)
    assert table.update({"c d.é": "concat(`c d.é`, `a``b`)"}, "abs(`a``b`) = 1").updated == 1
    assert table.delete("length(`c d.é`) + `a``b` = 3").deleted == 2
    source = odd.slice(2).append_column("t`t", pa.array([5, 6]))
    merge = table.merge(source, "t.`a``b` = s.`a``b` and t.`c d.é` = 'x'")
    done = merge.when_matched_update({"a`b": "t.`a``b` + s.`t``t`"}, "s.`t``t` > 5").execute()
    assert done.updated == 1
    assert rows_of(table) == [(3, "x"), (10, "x")]


def test_format_version_1_is_changed_by_copy_on_write(any_spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, any_spark, properties={"format-version": "1"}, partition_by=["k"])
    assert table.delete("abs(id) = 1").deleted == 1
    assert table.update({"v": "v + 1"}, "id = 2").updated == 1
    merge = table.merge(pa.table({"id": [4, 50], "k": ["x", "y"]}), "t.id = s.id")
    merge = merge.when_matched_update({"k": "s.k"}).when_not_matched_by_source_delete("id > 4")
    done = merge.when_not_matched_insert({"id": "id", "k": "k"}).execute()
    assert (done.inserted, done.updated, done.deleted) == (1, 1, 5)
    assert rows_of(table) == [
        (0, 0, "0"),
        (2, 21, "2"),
        (3, 30, "0"),
        (4, 40, "x"),
        (50, None, "y"),
    ]
    assert table.metadata.format_version == 1
    assert not table.maintenance.check().problems


def test_format_version_1_refuses_merge_on_read(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, spark, "merge-on-read", properties={"format-version": "1"})
    merge = table.merge(pa.table({"id": [1]}), "t.id = s.id").when_matched_delete()
    changes = (lambda: table.delete("abs(id) = 1"), lambda: table.update({"v": "1"}), merge.execute)
    for change in changes:
        with pytest.raises(UnsupportedError, match="format-version"):
            change()


@both_modes
def test_a_null_for_a_required_column_is_an_error_that_names_it(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    """The Arrow engine writes tables with required fields in structs, in Spark's workers."""
    properties = {f"write.{verb}.mode": mode for verb in ("update", "merge")}
    columns = "id bigint, v int not null, p struct<x: int not null>"
    table = ice.create_table(str(tmp_path / "t"), columns, properties=properties)
    table.append(spark.range(2).selectExpr("id", "1 v", "named_struct('x', 1) p"))
    before = files(tmp_path)
    merge = table.merge(pa.table({"id": [1, 9], "w": pa.nulls(2, pa.int32())}), "t.id = s.id")
    with pytest.raises(InvalidInputError, match=r"Column 'p\.x' is required"):
        table.update({"p.x": "NULL"})
    with pytest.raises(InvalidInputError, match="Column 'v' is required"):
        merge.when_matched_update({"v": "s.w"}).execute()
    assert files(tmp_path) == before


@both_modes
def test_of_an_update_and_an_append_of_its_rows_one_wins(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path, spark, mode)
    other = ice.load_table(table.location())
    tx = table.transaction()
    tx.update({"v": "-1"}, where="id = 3")
    other.append(spark.range(3, 4).selectExpr(*ROW))
    with pytest.raises(ValidationException, match="Conflict"):
        tx.commit_transaction()
    assert len(rows_of(other)) == 11
    other.update({"v": "-1"}, where="id = 3")
    assert [row[1] for row in rows_of(other) if row[0] == 3] == [-1, -1]


def test_an_overwrite_by_a_frame_rewrites_on_spark(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, spark, properties={"format-version": "1"})
    monkeypatch.setattr("iceberg_spark.engines.delete_change.IN_PROCESS_BYTES", 0)
    monkeypatch.setattr("iceberg_spark.engines.delete_change.delete_rows", None)
    table.overwrite(spark.range(30, 31).selectExpr(*ROW), "id in (1, 8) or k is null")
    assert ids(table) == [0, 2, 3, 4, 5, 6, 7, 30]
    table.overwrite(spark.range(40, 41).selectExpr(*ROW), "id < 4")  # no row of the second file
    assert ids(table) == [4, 5, 6, 7, 30, 40]
    assert table.current_snapshot().summary["deleted-data-files"] == "1"


def test_rows_that_equality_deletes_removed_stay_away_when_their_files_are_rewritten(
    spark: Any, tmp_path: Path
) -> None:
    table = made(tmp_path, spark)
    table.upsert(spark.range(3, 7).selectExpr("id", "'D' _op"), ["id"])
    assert table.update({"v": "-1"}, where="id = 1 and v % 2 = 0").updated == 1
    assert table.delete("id = 8 and pow(v, 1) > 0").deleted == 1
    source = spark.range(2, 3).selectExpr("id", "-2 v", "'s' k")
    merge = table.merge(source, "t.id = s.id").when_matched_update_all()
    assert merge.when_not_matched_insert_all().execute().updated == 1
    merge = table.merge(source, "t.id = s.id - 2").when_matched_update({"v": "-3"})
    assert merge.when_not_matched_insert_all("s.id > 9").execute().updated == 1
    assert [row[:2] for row in rows_of(table)] == [(0, -3), (1, -1), (2, -2), (7, 70), (9, 90)]


def plans_of_writes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What Spark was to do for each data write of a change, in order."""
    found: list[str] = []

    def noted(frame: Any, context: Any, *given: Any, **named: Any) -> Any:
        plan = frame._jdf.queryExecution().executedPlan().toString()
        found.append(f"{named['distribution_mode']} {plan}")
        return write_frame(frame, context, *given, **named)

    monkeypatch.setattr("iceberg_spark.spark.row_level.changed_rows.write_frame", noted)
    return found


def test_rewritten_rows_stay_with_the_task_that_reads_them(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = made(tmp_path, spark, partition_by=["k"])
    found = plans_of_writes(monkeypatch)
    table.delete("pow(id, 1) = 1")
    table.update({"v": "v + 1"}, where="pow(id, 1) = 2")
    source = spark.range(3, 12, 8).selectExpr("id", "-1 v", "'x' k")
    table.merge(source, "t.id = s.id").when_not_matched_insert_all().when_matched_update(
        {"v": "s.v"}
    ).execute()
    assert [plan.split()[0] for plan in found] == ["none"] * 3
    assert ["Exchange" in plan for plan in found[:2]] == [False, False]
    assert rows_of(table)[-2:] == [(9, 90, None), (11, -1, "x")]
    table.update({"k": "'y'"}, where="pow(id, 1) = 2")  # the row moves to another partition
    assert found[-1].split()[0] == "None"


@pytest.mark.parametrize(
    ("properties", "mode"),
    [
        ({"write.delete.distribution-mode": "hash"}, "hash"),
        ({"write.distribution-mode": "range"}, "range"),
        ({"write.delete.distribution-mode": "none", "write.distribution-mode": "hash"}, "none"),
    ],
)
def test_rewritten_rows_go_where_a_property_says(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    properties: dict[str, str],
    mode: str,
) -> None:
    table = made(tmp_path, spark, partition_by=["k"], properties=properties)
    found = plans_of_writes(monkeypatch)
    assert table.delete("pow(id, 1) = 1").deleted == 1
    assert [plan.split()[0] for plan in found] == [mode]
    assert ids(table) == [0, *range(2, 10)]


def test_verbs_change_rows_that_were_committed_since_the_table_was_loaded(
    spark: Any, tmp_path: Path
) -> None:
    stale = made(tmp_path, spark)
    ice.load_table(stale.location()).append(spark.range(10, 12).selectExpr(*ROW))
    assert stale.update({"v": "-1"}, where="id > 8").updated == 3
    ice.load_table(stale.location()).append(spark.range(12, 13).selectExpr(*ROW))
    source = spark.range(11, 14).selectExpr(*ROW)
    merge = stale.merge(source, "t.id = s.id").when_matched_update({"v": "-2"})
    assert merge.when_not_matched_insert_all().execute().updated == 2
    assert [row[1] for row in rows_of(stale) if row[0] > 8] == [-1, -1, -2, -2, 130]


@both_modes
def test_rows_of_a_file_that_is_listed_twice_are_read_twice_and_not_changed(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path, spark, mode)
    (path,) = (task.file_path for task in table.scan("id = 1").plan_files())
    table.add_files(path, check_duplicate_files=False)
    for engine in (None, "arrow"):
        assert table.scan(engine=engine).to_df(spark).count() == 15
        found = table.scan("id = 1 or id = 6", engine=engine).to_df(spark).collect()
        assert len(found) == 3
    once = spark.sql("select 1L id, 5 v, 'x' k")
    changes = (
        lambda: table.update({"v": "1"}, where="id = 1"),
        lambda: table.delete("pow(id, 2) = 1"),
        table.merge(once, "t.id = s.id").when_matched_update_all().execute,
    )
    for change in changes:
        with pytest.raises(ValidationException, match="is listed 2 times"):
            change()
    assert len(ids(table)) == 15
