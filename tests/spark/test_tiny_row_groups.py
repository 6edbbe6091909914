"""Files of hundreds of row groups with deletes, read whole and in pieces by both engines."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.write.describe_imported import imported_data_file
from tests.spark.settings import settings

ROWS = 7
MANY, SOME = 300, 10
"""Row groups of a file; few where each is a task of its own, of which each takes its time."""
PROPERTIES = {"write.delete.mode": "merge-on-read", "read.split.open-file-cost": "0"}
WHOLE: dict[str, str] = {}
PIECES = {"spark.sql.files.maxPartitionBytes": "2048", "spark.sql.files.openCostInBytes": "0"}
WAYS: dict[str, tuple[Any, int, int, dict[str, str], range]] = {
    "native, whole": ("native", MANY, 2048, WHOLE, range(1, 3)),
    "native, in pieces": ("native", MANY, 2048, PIECES, range(100, 1000)),
    "arrow, whole": ("arrow", MANY, 2**27, WHOLE, range(1, 2)),
    "arrow, pieces of some groups": ("arrow", MANY, 32768, WHOLE, range(20, 100)),
    "arrow, a group each": ("arrow", SOME, 1, WHOLE, range(2 * SOME, 2 * SOME + 1)),
}
"""Engine, row groups of a file, bytes of a split, settings, and how many tasks that makes."""
FILTERS = {
    None: lambda _row: True,
    "v = 3": lambda row: row["v"] == 3,
    "id between 90 and 1300": lambda row: 90 <= row["id"] <= 1300,
}
Made = tuple[str, dict[int, int]]


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Made]:
    """Return a function to tables of so many row groups a file, each made once."""

    @cache
    def of(groups: int) -> Made:
        return made_of(groups, str(tmp_path_factory.mktemp("tiny") / "t"))

    return of


def made_of(groups: int, folder: str) -> Made:
    """Two files of tiny row groups, rows deleted by position and by key; and what is left."""
    made = ice.create_table(folder, "id bigint, v bigint", properties=PROPERTIES)
    kept = {}
    for first in (0, groups * ROWS):
        ids = list(range(first, first + groups * ROWS))
        rows = pa.table({"id": ids, "v": [i % 10 for i in ids]}, to_arrow(made.schema()))
        path = f"{folder}/{first}.parquet"
        pq.write_table(rows, path, row_group_size=ROWS)
        file = imported_data_file(made.io, path, made.metadata, made.spec())
        with made.transaction() as tx:
            tx.overwrite_files(add=[file])
        kept |= {i: i % 10 for i in ids}
    made.delete("id % 11 = 4")
    gone = [i for i in kept if i % 13 == 5]
    made.upsert(pa.table({"id": gone, "v": [0] * len(gone), "_op": ["D"] * len(gone)}), keys=["id"])
    return folder, {i: v for i, v in kept.items() if i % 11 != 4 and i % 13 != 5}


@pytest.mark.parametrize("row_filter", FILTERS, ids=str)
@pytest.mark.parametrize("way", WAYS)
def test_no_row_of_a_tiny_row_group_is_lost_or_comes_twice(
    spark: SparkSession, table: Callable[[int], Made], way: str, row_filter: Any
):
    engine, groups, split, given, tasks = WAYS[way]
    folder, left = table(groups)
    with ice.load_table(folder).update_properties() as properties:
        properties.set({"read.split.target-size": split})
    rows = [{"id": i, "v": v} for i, v in left.items()]
    wanted = sorted((row["id"], row["v"]) for row in rows if FILTERS[row_filter](row))
    options = {} if row_filter is None else {"row_filter": row_filter}
    with settings(spark, given):
        frame = ice.load_table(folder).scan(**options).to_df(spark, engine=engine)
        if row_filter is None:
            assert frame.rdd.getNumPartitions() in tasks
        assert sorted(map(tuple, frame.collect())) == wanted
