"""Frames of thousands of columns: round trips to Java do not grow with the columns."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from tests.spark.round_trips import RoundTrips, counted_round_trips

FEW, MANY = 10, 60
SLACK = MANY - FEW - 1
"""Less than one round trip for each column more. Files are listed and settings asked for a little
differently, and files that happen to have the same size are a relation of their own: 24."""
KINDS = ("bigint", "int", "string", "double", "date")
MODES = ("copy-on-write", "merge-on-read")


@pytest.fixture
def sent(spark: SparkSession) -> Iterator[RoundTrips]:
    with counted_round_trips(spark) as found:
        yield found


def wide_table(folder: Path, columns: int, mode: str) -> Table:
    ddl = ", ".join(f"`v {n}` {KINDS[n % len(KINDS)]}" for n in range(columns))
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    return ice.create_table(
        str(folder / f"{mode}-{columns}"), f"id bigint, {ddl}", properties=modes
    )


def rows(spark: SparkSession, first: int, last: int, columns: int) -> DataFrame:
    given = {"date": "date_from_unix_date(cast(id as int))"}
    made = (
        f"cast({given.get(KINDS[n % 5], 'id')} as {KINDS[n % 5]}) as `v {n}`"
        for n in range(columns)
    )
    frame = spark.range(first, last).selectExpr("id", *made)
    frame.schema  # noqa: B018 (PySpark asks Java once)
    return frame


def round_trips(
    spark: SparkSession, sent: RoundTrips, folder: Path, columns: int, mode: str
) -> dict[str, int]:
    """Return how many round trips each verb took."""
    table, found = wide_table(folder, columns, mode), {}
    first, source = rows(spark, 0, 20, columns), rows(spark, 18, 24, columns)
    changes = rows(spark, 30, 40, columns)

    @contextmanager
    def step(name: str) -> Iterator[None]:
        before = sent.count
        yield
        found[name] = sent.count - before

    with step("append"):
        table.append(first)
    with step("delete"):
        table.delete("id % 10 = 3")
    with step("update"):
        table.update({"v 1": "id + 1"}, where="id % 10 = 4")
    with step("merge all columns"):
        merge = table.merge(source, "t.id = s.id").when_matched_update_all()
        merge.when_not_matched_insert_all().execute()
    with step("merge"):
        merge = table.merge(source, "t.id = s.id").when_matched_delete(condition="s.id = 18")
        merge = merge.when_matched_update({"`v 2`": "'x'"})
        merge = merge.when_not_matched_insert({"id": "s.id", "`v 3`": "1.5"})
        merge.when_not_matched_by_source_update({"`v 1`": "-7"}, condition="t.id = 7").execute()
    with step("upsert"):
        table.upsert(changes, keys=["id"])
    with step("read"):
        frame = table.scan().to_df(spark)
    with step("read with places"):
        table.scan(metadata_columns=("_file", "_pos")).to_df(spark)
    assert sorted(row.id for row in frame.select("id").collect()) == sorted(
        {*range(24), *range(30, 40)} - {3, 13, 18}
    )
    shown = frame.select("id", "v 0", "v 1", "v 2").collect()
    changed = {row.id: tuple(row)[1:] for row in shown}
    assert changed[4] == (4, 5, "4")
    assert changed[7] == (7, -7, "7")
    assert changed[20] == (20, 20, "x")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_round_trips_to_java_do_not_grow_with_the_columns(
    spark: SparkSession, tmp_path: Path, sent: RoundTrips, mode: str
) -> None:
    many = round_trips(spark, sent, tmp_path, MANY, mode)
    few = round_trips(spark, sent, tmp_path, FEW, mode)
    if grown(few, many):  # by the columns, or by what a session asks for once, or now and then
        many = round_trips(spark, sent, tmp_path / "again", MANY, mode)
    assert not grown(few, many)


def grown(few: dict[str, int], many: dict[str, int]) -> dict[str, tuple[int, int]]:
    return {verb: (few[verb], many[verb]) for verb in few if many[verb] > few[verb] + SLACK}
