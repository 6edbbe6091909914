"""A plan as a Spark frame: the seam that scans and row-level changes share."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructField, StructType

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.scan.split import split_options
from iceberg_spark.spark.adapt import jobs
from iceberg_spark.spark.reading.plan_frame import plan_frame

ROWS = 1000


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table of the ids 0 to 999 in five files."""
    table = ice.create_table(str(tmp_path_factory.mktemp("many") / "t"), "id bigint, k string")
    with table.transaction() as tx:
        for start in range(0, ROWS, 200):
            ids = range(start, start + 200)
            tx.append(pa.table({"id": ids, "k": [f"k{i}" for i in ids]}))
    return table


@pytest.mark.parametrize("carried", ["with the function", "as rows"])
def test_every_group_of_the_plan_is_read_once_by_one_spark_partition(
    any_spark: Any, many: Table, carried: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if carried == "as rows":
        monkeypatch.setattr(jobs, "CLOSURE_BYTES", 0)
    plan = many.scan().plan_files()
    split = split_options({}, split_size=1, lookback=1)
    groups = plan.groups(split)
    frame = plan_frame(plan, any_spark, engine="arrow", split=split)
    read = frame.selectExpr("id", "spark_partition_id() part").collect()
    assert sorted(row.id for row in read) == list(range(ROWS))
    assert len({row.part for row in read}) == len(groups) == 5
    assert len({(row.part, row.id // 200) for row in read}) == 5


def test_a_plan_without_files_is_a_frame_without_rows(any_spark: Any, many: Table) -> None:
    frame = many.scan(row_filter="id < 0").to_df(any_spark, engine="arrow")
    assert frame.columns == ["id", "k"]
    assert frame.count() == 0


def test_a_frame_has_names_types_and_comments_and_everything_nullable(
    any_spark: Any, tmp_path: Path
) -> None:
    kind = "id bigint not null comment 'the key', s struct<a: bigint not null comment 'inner'>, \
l array<bigint>, m map<string, bigint>"
    table = ice.create_table(str(tmp_path / "t"), kind)
    a = StructField("a", LongType(), True, {"comment": "inner"})
    assert table.scan().to_df(any_spark, engine="arrow").schema == StructType(
        [
            StructField("id", LongType(), True, {"comment": "the key"}),
            StructField("s", StructType([a])),
            StructField("l", ArrayType(LongType())),
            StructField("m", MapType(StringType(), LongType())),
        ]
    )


def test_metadata_columns_come_with_the_frame(any_spark: Any, many: Table) -> None:
    names = ("_file", "_pos", "_deleted", "_spec_id", "_partition")
    frame = many.scan(row_filter="id = 207", metadata_columns=names).to_df(any_spark)
    assert frame.columns == ["id", "k", *names]
    (row,) = frame.collect()
    assert row._file in [task.file_path for task in many.scan().plan_files()]
    assert (row._pos, row._deleted, row._spec_id, tuple(row._partition)) == (7, False, 0, ())
