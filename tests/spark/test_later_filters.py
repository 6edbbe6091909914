"""Frames that the Arrow engine reads are planned again for each query."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.spark.catalyst import spark_catalog
from iceberg_spark.spark.reading import plan_frame as plan_frame_module
from iceberg_spark.spark.reading.plan_frame import plan_frame

ORC = {"write.format.default": "orc", "format-version": "2", "write.delete.mode": "merge-on-read"}


@pytest.fixture
def table(tmp_path: Path) -> ice.Table:
    """A table of ten ORC files, which Spark's Parquet reader cannot read."""
    made = ice.create_table(
        str(tmp_path / "t"),
        "id bigint, p int, name string",
        partition_by=["p"],
        properties=ORC,
    )
    made.append(
        pa.table(
            {
                "id": range(100),
                "p": pa.array([row % 10 for row in range(100)], pa.int32()),
                "name": [None if row % 7 == 0 else f"n{row % 5}" for row in range(100)],
            }
        )
    )
    return made


def frame_of(table: ice.Table, spark: SparkSession, **scan: Any) -> DataFrame:
    return table.refresh().scan(**scan).to_df(spark)


def remove_files(table: ice.Table, *, except_partition: int) -> None:
    """Remove data files, so that a query that opens one fails."""
    folder = Path(table.location().removeprefix("file://"))
    for file in folder.glob("data/**/*.orc"):
        if f"p={except_partition}" not in file.parts:
            file.unlink()


LATER: dict[str, Callable[[DataFrame], DataFrame]] = {
    "a filter": lambda frame: frame.where("p = 3"),
    "two filters and a column": lambda frame: frame.where("id < 90").select("p").where("p = 3"),
    "an aggregate": lambda frame: frame.where("p = 3").groupBy("name").count(),
    "a cached frame": lambda frame: frame.where("p = 3").cache(),
    "a join": lambda frame: frame.where("p = 3").join(frame.where("p = 3"), "id"),
    "a union": lambda frame: frame.union(frame).where("p = 3"),
}


@pytest.mark.parametrize("later", LATER)
def test_a_later_filter_leaves_files_unopened(
    spark: SparkSession, table: ice.Table, later: str
) -> None:
    frame = frame_of(table, spark)
    remove_files(table, except_partition=3)
    rows = LATER[later](frame)
    assert rows.collect()
    rows.unpersist()


def test_a_later_filter_of_the_data_source_leaves_files_unopened(
    spark: SparkSession, table: ice.Table
) -> None:
    ice.enable(spark)
    try:
        frame = spark.read.format("pyiceberg-lite").load(table.location())
        remove_files(table, except_partition=3)
        assert frame.where("p = 3").count() == 10
    finally:
        ice.disable(spark)


def test_a_view_of_a_frame_is_planned_for_each_query(spark: SparkSession, table: ice.Table) -> None:
    frame_of(table, spark).createOrReplaceTempView("later")
    remove_files(table, except_partition=3)
    assert spark.sql("SELECT count(*) FROM later WHERE p = 3 AND id > 50").first() == (5,)


def test_the_filter_of_the_scan_holds_as_well(spark: SparkSession, table: ice.Table) -> None:
    frame = frame_of(table, spark, row_filter="id < 50")
    remove_files(table, except_partition=3)
    assert sorted(row.id for row in frame.where("p = 3").collect()) == [3, 13, 23, 33, 43]


def test_a_frame_stays_at_its_snapshot(spark: SparkSession, table: ice.Table) -> None:
    frame = frame_of(table, spark)
    table.delete("p = 3")
    assert frame.where("p = 3").count() == 10 and frame_of(table, spark).count() == 90


def test_a_query_without_columns_counts_the_rows(spark: SparkSession, table: ice.Table) -> None:
    table.delete("id in (3, 4)")
    frame = frame_of(table, spark)
    assert frame.select().count() == 98
    assert frame.agg(sf.count("*")).first() == (98,)
    assert frame.where("p = 3").agg(sf.count("*")).first() == (9,)


METADATA_COLUMNS = ("_file", "_pos", "_spec_id", "_deleted", "_partition")


def test_filters_on_metadata_columns_hold(spark: SparkSession, table: ice.Table) -> None:
    table.delete("id = 13")
    frame = frame_of(table, spark, metadata_columns=METADATA_COLUMNS)
    assert sorted(row.id for row in frame.where("p = 3 AND _pos = 0").collect()) == [3]
    assert frame.where("_file LIKE '%p=3%' AND NOT _deleted").count() == 9
    assert [row.id for row in frame.where("_deleted").collect()] == [13]
    assert frame.where("_partition.p = 3 AND _spec_id = 0").count() == 10


@pytest.mark.parametrize("format_name", ["parquet", "orc"])
def test_a_scan_of_deleted_rows_shows_them_to_queries_without_that_column(
    spark: SparkSession, tmp_path: Path, format_name: str
) -> None:
    properties = {**ORC, "write.format.default": format_name, "format-version": "3"}
    table = ice.create_table(str(tmp_path / "v3"), "id bigint", properties=properties)
    table.append(pa.table({"id": range(10)}))
    table.delete("id = 3")
    frame = frame_of(table, spark, metadata_columns=("_deleted",))
    assert frame.count() == len(frame.collect()) == frame.select("id").count() == 10
    assert frame.select("id").where("id < 5").count() == 5
    assert frame.where("NOT _deleted").count() == 9


@pytest.mark.parametrize("format_name", ["parquet", "orc"])
def test_the_engines_of_a_frame_are_chosen_once(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format_name: str
) -> None:
    properties = {"write.format.default": format_name}
    table = ice.create_table(str(tmp_path / "f"), "id bigint", properties=properties)
    table.append(pa.table({"id": range(10)}))
    chosen: list[int] = []
    choose = plan_frame_module.choose_engines

    def counted(plan: Any, reach: Any) -> Any:
        chosen.append(len(plan))
        return choose(plan, reach)

    monkeypatch.setattr(plan_frame_module, "choose_engines", counted)
    frame_of(table, spark)
    assert chosen == [1]


def test_a_session_without_the_classes_reads_the_same(
    spark: SparkSession, table: ice.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_catalog, "compiled_object", lambda *_: None)
    assert frame_of(table, spark).where("p = 3").count() == 10


def test_a_session_without_the_rule_reads_the_same(spark: SparkSession, table: ice.Table) -> None:
    frame = frame_of(table, spark)
    java: Any = spark
    experimental = java._jsparkSession.experimental()
    rules = experimental.extraOptimizations()
    set_rules = getattr(experimental, "extraOptimizations_$eq")
    set_rules(rules.take(0))
    try:
        assert frame.where("p = 3").count() == 10
    finally:
        set_rules(rules)


CONDITIONS = [
    "id < {n}", "id = {n}", "p = {n} % 10", "p IN (1, {n} % 10)", "name = 'n2'", "name IS NULL",
    "name > 'n2' OR id > {n}", "NOT (name = 'n1')", "name LIKE 'n%'", "id % 3 = 0", "p <=> NULL",
]  # fmt: skip
COLUMNS = [["id"], ["name"], ["p", "id"], ["name", "p"], ["id", "p", "name"], []]


def test_random_queries_have_the_rows_of_a_frame_that_is_planned_once(
    spark: SparkSession, table: ice.Table
) -> None:
    table.delete("id % 11 = 5")
    table.upsert(
        pa.table({"id": [7, 200], "p": pa.array([7, 3], pa.int32()), "name": ["x", None]}),
        keys=["id", "p"],
    )
    table.update_spec().add_field("name").commit()
    table.append(pa.table({"id": [300], "p": pa.array([3], pa.int32()), "name": ["n2"]}))
    table.update_schema().rename_column("name", "label").commit()
    table.update_schema().rename_column("label", "name").commit()
    scan = table.refresh().scan()
    frame = scan.to_df(spark)
    planned_once = plan_frame(scan.plan_files(), spark)
    choice = random.Random(46)
    for _ in range(25):
        texts = [
            choice.choice(CONDITIONS).format(n=choice.randrange(120))
            for _ in range(choice.randrange(1, 4))
        ]
        columns = choice.choice(COLUMNS)

        def rows(
            queried: DataFrame, texts: list[str] = texts, columns: list[str] = columns
        ) -> list[str]:
            for text in texts:
                queried = queried.where(text)
            return sorted(map(repr, queried.select(*columns).collect()))

        assert rows(frame) == rows(planned_once), (texts, columns)
