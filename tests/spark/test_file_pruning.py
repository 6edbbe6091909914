"""The rule in Spark's optimizer: it prunes every way in, and never breaks a query."""

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark.checkup.session import findings
from iceberg_spark.spark.catalyst import file_pruning
from iceberg_spark.spark.catalyst.capabilities import capabilities
from iceberg_spark.spark.reading import parquet_files, prune_files
from iceberg_spark.spark.session import compiled_java
from tests.spark.settings import settings


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A table of ten files; `id` and `d` tell them apart."""
    path = str(tmp_path_factory.mktemp("pruned") / "t")
    table = ice.create_table(path, "id bigint, d date", partition_by=["truncate(10, id)"])
    days = pa.array([20_000 + i for i in range(100)], pa.int32()).cast(pa.date32())
    table.append(pa.table({"id": range(100), "d": days}))
    return path


@pytest.fixture
def frame(spark: SparkSession, place: str) -> DataFrame:
    """A frame of a session that is not enabled."""
    return ice.load_table(place).scan().to_df(spark)


@pytest.fixture
def other(spark: SparkSession) -> SparkSession:
    """A session whose optimizer does not have the rule yet."""
    return spark.newSession()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of relations of each plan that is pruned from now on."""
    counts: list[int] = []
    filtered = prune_files.filtered_plan

    def counted(marked: Any, filters: Any) -> Any:
        counts.append(len(filters))
        return filtered(marked, filters)

    monkeypatch.setattr(prune_files, "filtered_plan", counted)
    return counts


def files(frame: DataFrame) -> int:
    return len(frame.inputFiles())


def _all(values: Any) -> list[Any]:
    return [values.apply(number) for number in range(values.length())]


def test_where_prunes_without_enable(frame: DataFrame) -> None:
    assert files(frame) == 10
    few = frame.where("id < 5")
    assert files(few) == 1 and few.count() == 5


def test_a_view_prunes_in_another_thread(frame: DataFrame, spark: SparkSession) -> None:
    frame.createOrReplaceTempView("pruned_view")
    found: list[tuple[int, int]] = []

    def query() -> None:
        rows = spark.sql("SELECT id FROM pruned_view WHERE id >= 95")
        found.append((files(rows), rows.count()))

    thread = threading.Thread(target=query)
    thread.start()
    thread.join()
    assert found == [(1, 5)]


def test_the_current_date_prunes(frame: DataFrame) -> None:
    later = frame.where("d > date_sub(current_date(), 0)")
    assert files(later) < 10
    days = [row.d for row in frame.collect()]
    today = frame.sparkSession.sql("SELECT current_date() AS d").first()
    assert today is not None
    assert later.count() == sum(day > today.d for day in days)


def test_the_source_of_an_insert_prunes(
    frame: DataFrame, spark: SparkSession, tmp_path: Path, calls: list[int]
) -> None:
    frame.where("id = 42").select("id").write.parquet(str(tmp_path / "copy"))
    assert calls and spark.read.parquet(str(tmp_path / "copy")).count() == 1


def test_a_cached_parent_stays_whole(frame: DataFrame) -> None:
    parent = frame.select("id").cache()
    try:
        assert parent.where("id < 5").count() == 5
        assert parent.count() == 100
    finally:
        parent.unpersist()


def test_a_plan_is_pruned_once(frame: DataFrame, calls: list[int]) -> None:
    few = frame.where("id < 5")
    assert len(few.collect()) == 5
    assert len(few.collect()) == 5  # of the same plan
    assert len(calls) == 1


def test_the_rule_changes_a_pruned_plan_no_more(frame: DataFrame, spark: SparkSession) -> None:
    plan = frame.where("id < 5")._jdf.queryExecution().optimizedPlan()
    again = spark._jsparkSession.sessionState().optimizer().execute(plan)
    assert again.fastEquals(plan)


def test_a_subquery_is_pruned_by_its_own_conditions(frame: DataFrame, spark: SparkSession) -> None:
    frame.createOrReplaceTempView("pruned_view")
    rows = spark.sql(
        "SELECT (SELECT sum(id) FROM pruned_view WHERE id < 20) AS m FROM pruned_view WHERE id = 3"
    )
    assert [row.m for row in rows.collect()] == [190]
    (subquery,) = _all(rows._jdf.queryExecution().optimizedPlan().subqueries())
    (relation,) = _all(subquery.collectLeaves())
    assert len(relation.relation().location().inputFiles()) == 2


def test_a_random_condition_is_evaluated_for_the_same_rows(frame: DataFrame) -> None:
    """Only conditions before a random one may leave out rows."""
    drawn = frame.where("rand(7) < 0.5").where("id < 5")
    every = {row.id for row in frame.where("rand(7) < 0.5").collect()}
    assert {row.id for row in drawn.collect()} == {i for i in every if i < 5}
    assert files(frame.where("rand(7) < 0.5 AND id < 5")) == 10


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_join_becomes_a_broadcast_since_a_pruned_relation_reports_its_size(
    frame: DataFrame, spark: SparkSession, adaptive: str
) -> None:
    """A row of two numbers counts 12 bytes: ten of them are below the threshold, all are not."""
    both = {
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.autoBroadcastJoinThreshold": "400",
    }
    with settings(spark, both):
        few = frame.where("id < 10").select("id", "d")
        joined = frame.alias("a").join(few.alias("b"), "id")
        plan = joined._jdf.queryExecution().executedPlan().toString()
        assert "BroadcastHashJoin" in plan and joined.count() == 10


def test_a_failing_callback_leaves_the_plan_unchanged(
    frame: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("no plan today")

    before = file_pruning.STATUS.failed_plans
    with monkeypatch.context() as patched:
        patched.setattr(prune_files, "filtered_plan", fail)
        few = frame.where("id < 5")
        assert files(few) == 10 and few.count() == 5
    assert file_pruning.STATUS.failed_plans > before
    assert file_pruning.STATUS.last_failure == "ValueError: no plan today"
    assert files(frame.where("id < 6")) == 1


def test_a_relation_that_is_forgotten_is_read_whole(
    frame: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prune_files, "registered_relation", lambda _: None)
    few = frame.where("id < 5")
    assert files(few) == 10 and few.count() == 5


@pytest.fixture
def broken_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Spark for which the rule does not compile."""
    compiled = compiled_java.compiled_object

    def without_rule(session: SparkSession, name: str, package: str | None) -> Any:
        return None if name == "FilePruning" else compiled(session, name, package)

    monkeypatch.setattr(file_pruning, "compiled_object", without_rule)
    monkeypatch.setattr(file_pruning.STATUS, "last_failure", None)


def test_without_the_rule_rows_are_right_and_the_doctor_says_off(
    broken_rule: None, other: SparkSession, place: str
) -> None:
    few = ice.load_table(place).scan().to_df(other).where("id < 5")
    assert files(few) == 10 and few.count() == 5
    pruning = next(one for one in findings(other) if "pruning" in one.what)
    assert pruning.found == f"off: the rule does not compile for Spark {other.version}"


def test_a_supported_spark_has_all_capabilities(spark: SparkSession) -> None:
    assert set(capabilities(spark).values()) == {True}


def test_relations_of_classes_that_are_compiled_again_are_pruned(
    frame: DataFrame, spark: SparkSession, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled_java._object.cache_clear()
    compiled_java._compiled.cache_clear()
    parquet_files._cached_relation.cache_clear()
    again = ice.load_table(place).scan().to_df(spark).where("id < 5")
    assert files(again) == 1 and again.count() == 5
    assert files(frame.where("id < 5")) == 1


def test_the_doctor_says_on(other: SparkSession, place: str) -> None:
    pruning = next(one for one in findings(other) if "pruning" in one.what)
    assert pruning.found == "on"


def test_a_stream_of_batches_prunes_in_its_own_session(
    frame: DataFrame, spark: SparkSession, tmp_path: Path, calls: list[int]
) -> None:
    """A stream runs in a clone of the session, whose optimizer has the rule too."""
    (tmp_path / "in").mkdir()
    spark.range(5).write.mode("overwrite").parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema("id bigint").parquet(str(tmp_path / "in"))
    joined = stream.join(frame.where("id < 10"), "id")
    query = (
        joined.writeStream.format("memory")
        .queryName("pruned_stream")
        .option("checkpointLocation", str(tmp_path / "state"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert spark.table("pruned_stream").count() == 5
    assert calls
