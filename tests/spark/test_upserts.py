"""Upserts of frames: by `t.upsert`, which shuffles by key, and by the plain source, which can't."""

from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError

FORMAT = "pyiceberg-lite"
SCHEMA = "id bigint, v string"


def live(location: Path) -> dict[int, str]:
    found = ice.load_table(str(location)).scan().to_arrow().to_pylist()
    rows = {row["id"]: row["v"] for row in found}
    assert len(rows) == len(found), "a key is there twice"
    return rows


def files(location: Path) -> int:
    return sum(path.is_file() for path in (location / "data").rglob("*"))


def save(frame: Any, location: Path, mode: str = "append", **options: str) -> None:
    named = {key.replace("_", "-"): value for key, value in options.items()}
    named = {"write-mode": "upsert", "equality-fields": "id"} | named
    frame.write.format(FORMAT).mode(mode).options(**named).save(str(location))


@pytest.fixture
def target(tmp_path: Path) -> Path:
    ice.create_table(str(tmp_path / "t"), SCHEMA, partition_by=["bucket(2, id)"])
    return tmp_path / "t"


def test_rows_of_a_key_meet_in_one_task_in_input_order(any_spark: Any, target: Path) -> None:
    table = ice.load_table(str(target))
    frame = any_spark.range(0, 100, 1, 4).selectExpr("id % 10 AS ID", "cast(id AS string) AS v")
    result = table.upsert(frame, ["id"], case_sensitive=False)
    assert (result.added_records, result.added_position_deletes) == (100, 90)
    assert live(target) == {n: str(90 + n) for n in range(10)}
    columns = "id bigint, v string, _op string"
    rows = [(1, "x", "D"), (1, "y", "I"), (2, None, "D"), (11, "z", "+I")]
    table.upsert(any_spark.createDataFrame(rows, columns).coalesce(1), ["id"])
    assert live(target) == {n: str(90 + n) for n in range(10) if n != 2} | {1: "y", 11: "z"}


def test_a_shuffled_source_needs_order_columns(any_spark: Any, target: Path) -> None:
    table = ice.load_table(str(target))
    frame = any_spark.range(0, 40, 1, 4).selectExpr("id % 4 AS id", "cast(id AS string) AS v")
    numbered = any_spark.range(0, 40, 1, 4).selectExpr(
        "id % 4 AS id", "cast(id AS string) AS v", "id at"
    )
    for shuffled in (frame.repartition(3), frame.orderBy("v"), frame.limit(5), frame.distinct()):
        with pytest.raises(InvalidInputError, match="order_by"):
            table.upsert(shuffled, ["id"])
    table.upsert(numbered.repartition(3), ["id"], order_by=["at"])
    assert live(target) == {n: str(36 + n) for n in range(4)}
    with pytest.raises(InvalidInputError, match="equal in the order columns"):
        table.upsert(
            numbered.repartition(3).selectExpr("id", "v", "at % 2 AS at"), ["id"], order_by="at"
        )
    assert live(target) == {n: str(36 + n) for n in range(4)}
    assert files(target) == len(
        {task.file_path for task in table.scan().plan_files()}
        | {d.file_path for task in table.scan().plan_files() for d in task.delete_files}
    ) + _unused_equality_files(table)


def _unused_equality_files(table: Any) -> int:
    """Equality deletes of the only snapshot with rows reach no data file, so no task has them."""
    return int(table.current_snapshot().summary["added-equality-delete-files"])


def test_an_rdd_that_was_shuffled_before_is_found_out(spark: Any, target: Path) -> None:
    table = ice.load_table(str(target))
    frame = spark.range(10).selectExpr("id", "cast(id AS string) AS v")
    for hidden in (
        spark.createDataFrame(frame.repartition(3).rdd, frame.schema),
        frame.repartition(3).localCheckpoint(),
    ):
        with pytest.raises(InvalidInputError, match="order_by"):
            table.upsert(hidden, ["id"])
    table.upsert(spark.createDataFrame(frame.rdd, frame.schema), ["id"])
    assert len(live(target)) == 10


def test_the_plain_source_writes_changes(any_spark: Any, target: Path) -> None:
    frame = any_spark.range(0, 20, 1, 2).selectExpr("id", "cast(id AS string) AS v")
    save(frame, target)
    changes = any_spark.range(0, 20, 1, 2).selectExpr(
        "id", "'new' AS v", "if(id % 3 = 0, 'D', 'U') AS _op"
    )
    save(changes, target)
    assert live(target) == {n: "new" for n in range(20) if n % 3}
    save(any_spark.range(0, 1).selectExpr("id", "'moved' AS v"), target, global_delete="true")
    assert live(target) == {n: "new" for n in range(20) if n % 3} | {0: "moved"}


def test_a_key_in_two_tasks_aborts_the_commit_and_leaves_nothing(
    any_spark: Any, target: Path
) -> None:
    twice = any_spark.range(0, 20000, 1, 2).selectExpr("id % 10000 AS id", "'x' AS v")
    with pytest.raises(Exception, match=r"repartition\(id\)"):
        save(twice, target)
    assert live(target) == {}
    assert files(target) == 0
    save(
        twice.selectExpr("id", "v", "1 AS at").repartition("id").dropDuplicates(["id"]),
        target,
        order_by="at",
    )
    assert len(live(target)) == 10000


def test_options_of_an_upsert_are_checked(any_spark: Any, target: Path, tmp_path: Path) -> None:
    frame = any_spark.range(1).selectExpr("id", "'x' AS v")
    bad: list[tuple[dict[str, str], str]] = [
        ({"write_mode": "append"}, "write-mode=upsert"),
        ({"equality_fields": "nope"}, "'nope'"),
        ({"mode": "overwrite"}, r"mode\('append'\)"),
    ]
    for options, message in bad:
        with pytest.raises(Exception, match=message):
            save(frame, target, **options)
    with pytest.raises(Exception, match="No table at"):
        save(frame, tmp_path / "none")


def test_rows_that_can_not_be_are_refused_and_leave_nothing(any_spark: Any, target: Path) -> None:
    table = ice.load_table(str(target))
    frame = any_spark.range(0, 4, 1, 2)
    unknown = frame.selectExpr("id", "'x' v", "if(id = 3, 'X', 'I') _op")
    for write in (lambda: table.upsert(unknown, ["id"]), lambda: save(unknown, target)):
        with pytest.raises(Exception, match="_op"):
            write()
    for bad, message in (
        (frame.selectExpr("id", "'x' v", "1 more"), "'more'"),
        (frame.selectExpr("'x' v"), "key column 'id'"),
        (frame.selectExpr("id", "'x' v", "'y' V"), "V"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            table.upsert(bad, ["id"])
    assert live(target) == {}
    assert files(target) == 0


def test_an_enabled_session_brings_the_rows_of_a_key_together(spark: Any, target: Path) -> None:
    frame = spark.range(0, 40, 1, 4).selectExpr("id % 4 AS id", "cast(id AS string) AS v")
    ice.enable(spark)
    try:
        save(frame, target)
    finally:
        ice.disable(spark)
    assert live(target) == {n: str(36 + n) for n in range(4)}
