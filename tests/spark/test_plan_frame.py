"""A plan as a Spark frame: the seam that scans and row-level changes share."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.functions import expr
from pyspark.sql.types import ArrayType, LongType, MapType, StringType, StructField, StructType

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
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


INSIDE = ["p.a", "l[0].x", "m['k'].y", "f.d", "_partition.k_trunc"]


@pytest.fixture(scope="module")
def in_parts(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Rows 0, 2 and 4, whose files are read in two ways: one has a deleted row, 3."""
    table = ice.create_table(
        str(tmp_path_factory.mktemp("parts") / "t"),
        "k int, p struct<a: int comment 'inner', b: string>, l array<struct<x: int>>, "
        "m map<string, struct<y: int>>, f struct<d: double>",
        partition_by=["truncate(2, k)"],
        properties={"write.delete.mode": "merge-on-read"},
    )
    for ids in ([0], [2, 3], [4]):
        rows = {
            "k": ids,
            "p": [{"a": k, "b": "b"} for k in ids],
            "l": [[{"x": k}] for k in ids],
            "m": [[("k", {"y": k})] for k in ids],
            "f": [{"d": k} for k in ids],
        }
        table.append(pa.table(rows, schema=to_arrow(table.schema())))
    table.delete("k = 3")
    return table


@pytest.mark.parametrize("column", INSIDE)
@pytest.mark.parametrize("of", ["table", "union"])
def test_semi_and_anti_joins_find_rows_by_what_is_inside_columns(
    any_spark: Any, in_parts: Table, column: str, of: str
) -> None:
    """Spark's optimizer takes such joins into members of unions, and found no column there."""
    rows = in_parts.scan(metadata_columns=("_partition",)).to_df(any_spark)
    given = rows if of == "table" else rows.union(rows)
    same = expr(f"{column} = id")
    few = any_spark.range(3)
    times = 1 if of == "table" else 2
    for how, expected in (("left_semi", [0, 2]), ("left_anti", [4])):
        found = given.join(few, same, how).collect()
        assert sorted(row.k for row in found) == sorted(expected * times), how
