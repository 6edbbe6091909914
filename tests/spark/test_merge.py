"""MERGE: clauses in order, both modes, one read of the source, and nothing done on errors."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.connect.session import SparkSession as ConnectSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import InvalidExpressionError, InvalidInputError, ValidationException
from iceberg_spark.spark.row_level import position_deletes
from tests.limits import set_limits
from tests.spark.test_delete_update import ROW, both_modes, deletes_as, files, made, rows_of

SOURCE = pa.table(
    {
        "id": pa.array([3, 20, 6, None], pa.int64()),
        "v": pa.array([103, 120, 106, 1], pa.int32()),
        "k": ["s", "s", "D", "n"],
    }
)


def counts(result: Any) -> tuple[int, int, int]:
    return result.inserted, result.updated, result.deleted


@both_modes
@pytest.mark.parametrize("partition_by", [[], ["k"]], ids=["unpartitioned", "partitioned"])
def test_update_all_and_insert_all(
    spark: Any, tmp_path: Path, mode: str, partition_by: list[str]
) -> None:
    table = made(tmp_path, spark, mode, partition_by=partition_by)
    merge = table.merge(SOURCE, "t.id = s.id")
    done = merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert counts(done) == (2, 2, 0)
    found = table.refresh().scan().to_arrow().to_pylist()
    changed = {(row["id"], row["v"], row["k"]) for row in found if row["v"] > 90 or not row["id"]}
    assert changed == {(3, 103, "s"), (6, 106, "D"), (20, 120, "s"), (None, 1, "n"), (0, 0, "0")}
    assert len(found) == 12
    assert int(done.metrics["added-records"]) >= (4 if mode == "merge-on-read" else 5)
    if mode == "merge-on-read":
        assert done.metrics["added-position-deletes"] == "2"


@both_modes
def test_all_clauses_in_their_order(any_spark: Any, tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, any_spark, mode)
    done = (
        table.merge(SOURCE, "t.id = s.id and t.v < 1000")
        .when_matched_delete("s.k = 'D'")
        .when_matched_update({"v": "t.v + s.v"}, "s.id < 100")
        .when_matched_update_all()
        .when_not_matched_insert({"id": "s.id", "k": "concat(s.k, '!')"}, "s.v > 100")
        .when_not_matched_by_source_update({"v": "t.v - 1"}, "t.id = 0")
        .when_not_matched_by_source_delete("t.id >= 8")
        .execute()
    )
    assert counts(done) == (1, 2, 3)
    assert rows_of(table) == [
        (0, -1, "0"),
        (1, 10, "1"),
        (2, 20, "2"),
        (3, 133, "0"),
        (4, 40, "1"),
        (5, 50, "2"),
        (7, 70, "1"),
        (20, None, "s!"),
    ]


@both_modes
def test_bare_names_belong_to_the_rows_that_a_clause_is_about(
    any_spark: Any, tmp_path: Path, mode: str
) -> None:
    """Both sides have `id`, `v` and `k`; Spark resolves each clause against its own rows."""
    table = made(tmp_path, any_spark, mode)
    source = SOURCE.append_column("extra", pa.array([1, 2, 3, 4]))
    done = (
        table.merge(source, "t.id = s.id")
        .when_matched_update({"v": "t.v + extra"}, "extra < 3")
        .when_matched_delete()
        .when_not_matched_insert({"id": "id", "v": "v + 1", "k": "upper(k)"}, "v > 100")
        .when_not_matched_by_source_update({"v": "v + 1", "k": "concat(k, '!')"}, "k = '0'")
        .when_not_matched_by_source_delete("v > 30")
        .execute()
    )
    assert counts(done) == (1, 2, 6)
    assert rows_of(table) == [
        (0, 1, "0!"),
        (1, 10, "1"),
        (2, 20, "2"),
        (3, 31, "0"),
        (20, 121, "S"),
    ]


@both_modes
def test_a_clause_is_evaluated_for_its_own_rows_only(spark: Any, tmp_path: Path, mode: str) -> None:
    """Rows that match have a zero, by which a clause about other rows divides."""
    table = made(tmp_path, spark, mode)
    source = pa.table({"id": [0, 20], "v": [0, 5]})
    merge = table.merge(source, "t.id = s.id")
    merge = merge.when_not_matched_by_source_delete("10 / v < 1")
    assert counts(merge.execute()) == (0, 0, 8)
    merge = table.merge(source, "t.id = s.id").when_matched_update({"k": "'m'"})
    merge = merge.when_not_matched_by_source_update({"k": "'a'"}, "10 / v > 0")
    done = merge.when_not_matched_insert({"id": "id", "v": "10 / v"}, "10 / v > 0").execute()
    assert counts(done) == (1, 2, 0)
    assert rows_of(table) == [(0, 0, "m"), (1, 10, "a"), (20, 2, None)]


@both_modes
def test_a_bare_name_outside_of_a_clauses_rows_is_an_error(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path, spark, mode)
    table.update_schema().add_column("only", "int").commit()
    merge = table.merge(SOURCE.append_column("extra", pa.array([1, 2, 3, 4])), "t.id = s.id")
    others = merge.when_matched_update({"v": "1"}, "s.id < 0")
    for refused, name in (
        (merge.when_matched_update({"v": "v + 1"}), "v"),
        (merge.when_matched_delete("v > 1"), "v"),
        (others.when_not_matched_insert({"id": "only"}), "only"),
        (others.when_not_matched_insert({"id": "id"}, "only > 1"), "only"),
        (others.when_not_matched_by_source_update({"v": "extra"}), "extra"),
        (others.when_not_matched_by_source_delete("extra > 1"), "extra"),
    ):
        with pytest.raises(InvalidExpressionError, match=f"`{name}`"):
            refused.execute()


def kept_by(spark: Any) -> set[int]:
    """The ids of what the session keeps in memory or on disk, by any test."""
    return set(spark.sparkContext._jsc.getPersistentRDDs())


@both_modes
def test_a_row_matched_twice_is_an_error_that_changes_nothing(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path, spark, mode)
    before, persisted = files(tmp_path), kept_by(spark)
    twice = pa.concat_tables([SOURCE, SOURCE])
    merge = table.merge(twice, "t.id = s.id").when_not_matched_insert_all("s.v > 1000")
    for refused in (merge.when_matched_update_all(), merge.when_matched_delete("s.v < 0")):
        with pytest.raises(InvalidInputError, match="more than one row of the source"):
            refused.execute()
    assert files(tmp_path) == before
    assert kept_by(spark) <= persisted
    assert counts(merge.when_matched_delete().execute()) == (0, 0, 2)
    assert [row[0] for row in rows_of(table)] == [0, 1, 2, 4, 5, 7, 8, 9]


@both_modes
def test_a_source_row_may_match_several_target_rows(spark: Any, tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, spark, mode)
    one = spark.range(1).selectExpr("-1L id", "7 v", "'1' k", "'ignored' more")
    merge = table.merge(one, "t.k = s.k").when_matched_update_all().when_not_matched_insert_all()
    assert counts(merge.execute()) == (0, 3, 0)
    assert [row for row in rows_of(table.refresh()) if row[1] == 7] == [(-1, 7, "1")] * 3


@both_modes
def test_the_source_is_read_once(spark: Any, tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, spark, mode)
    moving = spark.range(20).selectExpr("id", "cast(rand() * 1000 as int) + 1000 v", "uuid() k")
    source = moving.orderBy("v").limit(12)
    merge = table.merge(source, "t.id = s.id")
    done = merge.when_matched_update_all("s.id > 2").when_not_matched_insert_all().execute()
    assert done.inserted + done.updated >= 9
    found = table.refresh().scan().to_arrow().to_pylist()
    assert len({row["id"] for row in found}) == len(found) == 10 + done.inserted
    assert sum(row["v"] >= 1000 for row in found) == done.inserted + done.updated


@both_modes
def test_rows_that_no_clause_is_about_stay_once_however_many_source_rows_match_them(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path, spark, mode)
    twice = pa.concat_tables([SOURCE, SOURCE])
    merge = table.merge(twice, "t.id = s.id").when_not_matched_by_source_delete("t.id < 5")
    assert counts(merge.execute()) == (0, 0, 4)
    assert [row[0] for row in rows_of(table)] == [3, 5, 6, 7, 8, 9]


@both_modes
def test_a_merge_of_a_table_with_rows_of_itself(spark: Any, tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, spark, mode)
    even = table.scan("id in (0, 2, 4, 6, 8)").to_df(spark).selectExpr("id", "v + 1 v", "k")
    merge = table.merge(even, "t.id = s.id").when_matched_update_all()
    done = merge.when_not_matched_by_source_delete("t.id < 5").execute()
    assert counts(done) == (0, 5, 2)
    found = [row[:2] for row in rows_of(table)]
    assert found == [(0, 1), (2, 21), (4, 41), (5, 50), (6, 61), (7, 70), (8, 81), (9, 90)]


@both_modes
def test_only_files_with_matched_rows_are_touched(spark: Any, tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, spark, mode)
    before = {task.file_path: task for task in table.scan().plan_files()}
    one = pa.table({"id": [3], "v": pa.array([1], pa.int32()), "k": ["s"]})
    table.merge(one, "t.id % 100 = s.id").when_matched_update_all().execute()
    after = {task.file_path: task for task in table.scan().plan_files()}
    if mode == "copy-on-write":
        assert len(before.keys() - after.keys()) == 1
    else:
        assert before.keys() < after.keys()
        assert sum(bool(task.delete_files) for task in after.values()) == 1


def test_the_target_may_be_the_source(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, spark, "merge-on-read")
    frame = table.scan().to_df(spark).where("id < 3")
    assert table.merge(frame, "t.id = s.id").when_matched_delete().execute().deleted == 3
    assert [row[0] for row in rows_of(table)] == [3, 4, 5, 6, 7, 8, 9]


@both_modes
def test_kinds_that_only_delete_go_with_kinds_that_update(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path, spark, mode)
    merge = table.merge(SOURCE, "t.id = s.id").when_matched_update({"v": "s.v"})
    assert counts(merge.when_not_matched_by_source_delete("t.id < 3").execute()) == (0, 2, 3)
    merge = table.merge(SOURCE, "t.id = s.id").when_matched_delete()
    assert counts(merge.when_not_matched_by_source_update({"v": "0"}).execute()) == (0, 5, 2)
    assert [row[:2] for row in rows_of(table)] == [(4, 0), (5, 0), (7, 0), (8, 0), (9, 0)]


@pytest.mark.parametrize("granularity", ["file", "partition", "vectors"])
def test_deletes_of_large_tables_are_written_by_tasks(
    any_spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, granularity: str
) -> None:
    set_limits(monkeypatch, position_deletes, "POSITION_DELETES", driver_rows=0)
    given = deletes_as(granularity)
    table = made(tmp_path, any_spark, "merge-on-read", partition_by=["k"], properties=given)
    assert table.delete("pow(id, 1) in (1, 2)").deleted == 2
    merge = table.merge(SOURCE, "t.id = s.id")
    done = merge.when_matched_update_all().when_not_matched_insert_all().execute()
    assert counts(done) == (2, 2, 0)
    assert done.metrics["added-position-deletes"] == "2"
    found = table.refresh().scan().to_arrow()["id"].to_pylist()
    assert sorted(each for each in found if each) == [3, 4, 5, 6, 7, 8, 9, 20]
    before = files(tmp_path)
    with pytest.raises(InvalidInputError, match="more than one row"):
        table.merge(SOURCE, "t.id > s.id").when_matched_update_all().execute()
    assert files(tmp_path) == before


@both_modes
def test_a_clock_says_one_time_in_all_of_a_merge(spark: Any, tmp_path: Path, mode: str) -> None:
    columns = "id bigint, seen timestamp"
    properties = {"write.merge.mode": mode}
    table = ice.create_table(str(tmp_path / "t"), columns, properties=properties)
    table.append(spark.range(4).selectExpr("id", "timestamp'2020-01-01 00:00:00' seen"))
    merge = table.merge(spark.range(2, 6), "t.id = s.id and t.seen < now()")
    merge = merge.when_matched_update({"seen": "current_timestamp()"}, "t.seen < now()")
    merge = merge.when_not_matched_insert({"id": "s.id", "seen": "current_timestamp"})
    done = merge.when_not_matched_by_source_update({"seen": "now()"}).execute()
    assert counts(done) == (2, 4, 0)
    assert len({seen for _, seen in rows_of(table)}) == 1


def test_null_keys_are_equal_where_on_says_so(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, spark, "merge-on-read")
    nulls = pa.table({"k": pa.array([None], pa.string())})
    merge = table.merge(nulls, "t.k = s.k").when_matched_delete()
    assert merge.execute().deleted == 0
    assert table.merge(nulls, "t.k <=> s.k").when_matched_delete().execute().deleted == 1
    assert [row[0] for row in rows_of(table)] == list(range(9))


BAD_INPUT = [
    (lambda m: m, "no clause"),
    (lambda m: m.when_matched_update({"nope": "1"}), "nope"),
    (lambda m: m.when_matched_update({"v": "s.nope"}), "nope"),
    (lambda m: m.when_matched_update({"v": "id"}), "ambiguous"),
    (lambda m: m.when_matched_update_all("rand() < 0.5"), "not deterministic"),
    (lambda m: m.when_not_matched_insert_all("t.id = 1"), "t"),
    (lambda m: m.when_not_matched_by_source_delete("s.id = 1"), "s"),
    (lambda m: m.when_not_matched_insert({"v": "'a' || s.k"}, "s.id = 20"), "v"),
    (lambda m: m.when_matched_update({"v": "s.id * 1000000000000"}), "overflow|OVERFLOW"),
]


def test_bad_input_is_named_and_changes_nothing(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, spark)
    before = files(tmp_path)
    for build, shown in BAD_INPUT:
        with pytest.raises(InvalidInputError, match=shown):
            build(table.merge(SOURCE, "t.id = s.id")).execute()
    for source, on, shown in (
        (SOURCE.drop(["v"]), "t.id = s.id", "v"),
        (SOURCE, "t.id = s.id and rand() < 2", "not deterministic"),
        (SOURCE, "t.id = s.missing", "missing"),
        (5, "t.id = s.id", "source"),
    ):
        with pytest.raises(InvalidInputError, match=shown):
            table.merge(source, on).when_matched_update_all().execute()
    assert files(tmp_path) == before


def conflicting(table: Table, on: str, source: pa.Table, spark: Any, appended: str) -> Table:
    """A merge is planned, another writer appends rows of ids, and then the merge commits."""
    other = ice.load_table(table.location())
    with table.transaction() as tx:
        merge = tx.merge(source, on).when_matched_update_all().when_not_matched_insert_all()
        merge.execute()
        other.append(spark.range(1).selectExpr(f"{appended} id").selectExpr(*ROW))
    return other


@both_modes
def test_rows_appended_elsewhere_meanwhile_are_no_conflict(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path, spark, mode, partition_by=["k"])
    ours = pa.table({"id": [3], "v": pa.array([1], pa.int32()), "k": ["0"]})
    conflicting(table, "t.id = s.id and t.k = '0'", ours, spark, "31L")  # another partition
    conflicting(table, "t.id = s.id", ours, spark, "63L")  # outside of the keys' range
    assert [row[0] for row in rows_of(table.refresh())] == [*range(10), 31, 63]


@both_modes
def test_rows_appended_in_reach_meanwhile_are_a_conflict(
    spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path, spark, mode)
    before = files(tmp_path / "t" / "data")
    with pytest.raises(ValidationException, match="Conflict"):
        conflicting(table, "t.id + 0 = s.id", SOURCE, spark, "6L")
    assert len(files(tmp_path / "t" / "data") - before) == 1  # what the other one appended
    merge = ice.load_table(table.location()).merge(SOURCE, "t.id = s.id")
    table.append(spark.range(3, 4).selectExpr(*ROW))  # the merge below starts from an old version
    done = merge.when_matched_update_all().when_not_matched_insert_all().execute(max_attempts=3)
    assert counts(done) == (2, 4, 0)
    table.refresh().update_properties().set({"write.merge.isolation-level": "snapshot"}).commit()
    conflicting(table, "t.id = s.id", SOURCE.slice(0, 3), spark, "6L")
    appended = table.refresh().scan("id = 6 and v = 60").to_arrow()
    assert appended.num_rows == 1  # it won, and the merge did not see it


def test_what_a_by_source_clause_reaches_is_in_conflict(spark: Any, tmp_path: Path) -> None:
    """Whatever the source's keys are; rows that its condition leaves out are not."""
    table = made(tmp_path, spark)
    for appended, lands in (("63L", True), ("31L", False)):
        other = ice.load_table(table.location())
        tx = table.refresh().transaction()
        merge = tx.merge(SOURCE, "t.id = s.id").when_matched_update_all()
        merge.when_not_matched_by_source_delete("t.id >= 8 and t.id < 50").execute()
        other.append(spark.range(1).selectExpr(f"{appended} id").selectExpr(*ROW))
        if lands:
            tx.commit_transaction()
        else:
            with pytest.raises(ValidationException, match="Conflict"):
                tx.commit_transaction()
    assert [row[0] for row in rows_of(table)] == [*range(8), 31, 63]


@both_modes
def test_of_two_merges_of_the_same_rows_one_wins(spark: Any, tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, spark, mode, properties={"write.merge.isolation-level": "snapshot"})
    other = ice.load_table(table.location())
    tx = table.transaction()
    tx.merge(SOURCE, "t.id = s.id").when_matched_update({"v": "-1"}).execute()
    other.merge(SOURCE, "t.id = s.id").when_matched_update({"v": "-2"}).execute()
    with pytest.raises(ValidationException, match=r"\.parquet"):
        tx.commit_transaction()
    assert [row[1] for row in rows_of(table) if row[1] < 0] == [-2, -2]


def test_a_merge_runs_in_any_thread_of_the_process(any_spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path, any_spark)
    merge = table.merge(SOURCE, "t.id = s.id").when_matched_delete()
    with ThreadPoolExecutor(1) as other:
        assert other.submit(merge.execute).result().deleted == 2


def test_a_merge_runs_in_a_connect_session_that_is_not_the_active_one(
    spark: Any, connect_spark: Any, tmp_path: Path
) -> None:
    port = spark.sparkContext.getConf().get("spark.connect.grpc.binding.port")
    second = ConnectSession.builder.remote(f"sc://localhost:{port}").create()
    try:
        assert ConnectSession.active() is connect_spark
        table = made(tmp_path, second, "merge-on-read")
        merge = table.merge(second.createDataFrame(SOURCE), "t.id = s.id")
        result = merge.when_matched_update_all().when_not_matched_insert_all().execute()
        assert counts(result) == (2, 2, 0)
    finally:
        second.stop()
