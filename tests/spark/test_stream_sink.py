"""Streams that are written: each batch once, by the source's sink and the native way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

import iceberg_spark as ice
from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.pyspark_hooks import stream_writer_hook
from iceberg_spark.pyspark_hooks.stream_writer_hook import SmallBatches
from tests.spark.streams import Input, enabled, epochs, forget_last_batch, pairs, run

CHANGES = "id bigint, k string, _op string"
WIDER = "id bigint, k string, n bigint, _op string"


@pytest.fixture(params=[pytest.param(True, id="native"), pytest.param(False, id="plain")])
def native(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[bool]:
    """The session writes streams the native way, or by the source's own sink."""
    with enabled(spark, request.param):
        yield request.param


def test_appended_batches_are_committed_once_however_often_they_run(
    spark: SparkSession, tmp_path: Path, native: bool
) -> None:
    given, table, checkpoint = Input(tmp_path / "in"), str(tmp_path / "t"), tmp_path / "c"
    given.add((1, "a"), (2, "b"))
    given.add()
    given.add((3, "c"))
    name = run(given.stream(spark), table, checkpoint)
    made = ice.load_table(table)
    assert epochs(made) == ["0", "2"]  # none for the empty one
    assert {s.summary["spark.sql.streaming.queryId"] for s in made.snapshots()} == {name}
    forget_last_batch(checkpoint)
    given.add((4, "d"))
    assert run(given.stream(spark), table, checkpoint) == name
    assert epochs(made) == ["0", "2", "3"]
    assert pairs(made) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    data = {path.name for path in (tmp_path / "t" / "data").rglob("*.parquet")}
    assert len(data) == len(made.inspect.files())


def complete_batches(spark: SparkSession, folder: Path) -> None:
    given, table, checkpoint = Input(folder / "in"), str(folder / "t"), folder / "c"
    given.add((1, "a"), (2, "b"), (3, "d"))
    given.add((1, "c"))

    def counted() -> None:
        counts = given.stream(spark).groupBy("id").agg({"k": "max"}).toDF("id", "k")
        run(counts.coalesce(1), table, checkpoint, "complete")

    counted()
    made = ice.load_table(table)
    forget_last_batch(checkpoint)
    given.add((2, "e"))
    counted()
    assert pairs(made) == [(1, "c"), (2, "e"), (3, "d")]
    assert epochs(made) == ["0", "1", "2"]


@pytest.mark.usefixtures("native")
def test_complete_batches_take_the_place_of_all_rows_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    complete_batches(spark, tmp_path)


def test_complete_batches_above_the_bound_keep_their_state(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_writer_hook, "SMALL_BATCHES", SmallBatches(rows=1))
    with enabled(spark, native=True):
        complete_batches(spark, tmp_path)


def test_changes_by_key_are_committed_once_with_their_new_columns(
    spark: SparkSession, tmp_path: Path, native: bool
) -> None:
    given, checkpoint = Input(tmp_path / "in"), tmp_path / "c"
    made = ice.create_table(str(tmp_path / "t"), "id bigint, k string")
    options = {"write_mode": "upsert", "equality_fields": "id", "mergeSchema": "true"}
    given.add((1, "a", 1, "I"), (2, "b", 1, "I"), (3, "c", 1, "I"), names=WIDER)
    given.add((1, "z", 2, "U"), (2, None, None, "D"), names=WIDER)

    def apply() -> None:
        run(given.stream(spark, WIDER).coalesce(1), made.location(), checkpoint, **options)

    apply()
    forget_last_batch(checkpoint)
    apply()
    assert pairs(made) == [(1, "z"), (3, "c")]
    assert epochs(made) == ["0", "1"]
    assert made.schema().column_names == ("id", "k", "n")


def test_two_queries_write_one_table_and_its_branch(spark: SparkSession, tmp_path: Path) -> None:
    given = Input(tmp_path / "in")
    made = ice.create_table(str(tmp_path / "t"), "id bigint, k string")
    made.append(spark.createDataFrame([(0, "z")], "id bigint, k string"))
    made.manage_snapshots().create_branch(made.current_snapshot().snapshot_id, "dev").commit()
    for number in range(1, 4):
        given.add((number, "a"))
    with enabled(spark, native=True):
        queries = [
            given.stream(spark)
            .writeStream.format("pyiceberg-lite")
            .option("checkpointLocation", str(tmp_path / f"c{at}"))
            .options(**({"branch": "dev"} if at == 2 else {}))
            .trigger(availableNow=True)
            .start(made.location())
            for at in range(3)
        ]
    for query in queries:
        query.awaitTermination()
    assert pairs(made) == sorted([(0, "z"), *[(number, "a") for number in (1, 2, 3)] * 2])
    assert made.scan(branch="dev").count() == 4


def test_batches_above_the_bound_are_written_by_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream_writer_hook, "SMALL_BATCHES", SmallBatches(rows=2))
    given, table = Input(tmp_path / "in"), str(tmp_path / "t")
    given.add(*((number, "large") for number in range(3)))
    given.add((3, "small"))
    given.add((4, "small"), (5, "small"))
    with enabled(spark, native=True):
        run(given.stream(spark), table, tmp_path / "c")
    made = ice.load_table(table)
    assert [number for number, _ in pairs(made)] == list(range(6))
    assert epochs(made) == ["0", "1", "2"]


def test_to_table_creates_a_table_in_an_iceberg_catalog(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__STREAMED__TYPE", "filesystem")
    monkeypatch.setenv("PYICEBERG_CATALOG__STREAMED__WAREHOUSE", str(tmp_path / "w"))
    given = Input(tmp_path / "in")
    given.add((1, "a"), (2, "b"))
    with enabled(spark, native=True):
        given.stream(spark).writeStream.partitionBy("k").option(
            "checkpointLocation", str(tmp_path / "c")
        ).trigger(availableNow=True).toTable("streamed.db.t").awaitTermination()
    made = ice.load_table("streamed.db.t")
    assert pairs(made) == [(1, "a"), (2, "b")]
    assert [field.name for field in made.spec().fields] == ["k"]


def test_to_table_creates_a_table_for_a_stream_without_rows(lake: Any, tmp_path: Path) -> None:
    given = Input(tmp_path / "in")

    def write(**options: str) -> None:
        writer = given.stream(lake).writeStream.partitionBy("k").options(**options)
        writer = writer.option("checkpointLocation", str(tmp_path / "c"))
        query = writer.trigger(availableNow=True).toTable("lake.db.t")
        query.awaitTermination()

    lake.sql("CREATE NAMESPACE lake.db")
    write(**{"table-property.a": "b"})
    table = ice.load_table(str(tmp_path / "db" / "t"))
    assert [field.name for field in table.schema().fields] == ["id", "k"]
    assert [field.name for field in table.spec().fields] == ["k"]
    assert table.properties["a"] == "b"
    assert table.current_snapshot() is None
    given.add((1, "a"))
    write()
    assert pairs(table.refresh()) == [(1, "a")]
    assert epochs(table) == ["0"]


def test_a_stream_over_connect_is_committed_once(
    spark: SparkSession, connect_spark: ConnectSession, tmp_path: Path
) -> None:
    given, table, checkpoint = Input(tmp_path / "in"), str(tmp_path / "t"), tmp_path / "c"
    given.add((1, "a"))
    with enabled(connect_spark, native=True):  # batches are written by the server either way
        run(given.stream(connect_spark), table, checkpoint)
        forget_last_batch(checkpoint)
        given.add((2, "b"))
        run(given.stream(connect_spark), table, checkpoint)
    assert epochs(ice.load_table(table)) == ["0", "1"]
    assert pairs(ice.load_table(table)) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    ("mode", "options", "said"),
    [
        ("update", {}, "write-mode"),
        ("append", {"txnAppId": "a", "txnVersion": "1"}, "checkpoint"),
        ("append", {"brunch": "dev"}, "branch"),
    ],
)
def test_an_unsupported_stream_is_refused_when_it_starts(
    spark: SparkSession, tmp_path: Path, mode: str, options: dict[str, str], said: str
) -> None:
    given = Input(tmp_path / "in")
    given.add((1, "a"))
    with enabled(spark, native=True), pytest.raises(InvalidOptionError, match=said):
        run(given.stream(spark), str(tmp_path / "t"), tmp_path / "c", mode, **options)


def test_a_stream_without_a_checkpoint_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    rows = Input(tmp_path / "in").stream(spark)
    with enabled(spark, native=True), pytest.raises(InvalidOptionError, match="checkpointLocation"):
        rows.writeStream.format("pyiceberg-lite").start(str(tmp_path / "t"))


def test_a_saved_batch_is_committed_once(spark: SparkSession, tmp_path: Path, native: bool) -> None:
    table = str(tmp_path / "t")
    frame = spark.createDataFrame([(1, "a")], "id bigint, k string")
    for version in ("1", "1", "2"):
        writer = frame.write.format("pyiceberg-lite").mode("append")
        writer.option("txnAppId", "app").option("txnVersion", version).save(table)
    assert pairs(ice.load_table(table)) == [(1, "a")] * 2
