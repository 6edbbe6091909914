"""Files of hundreds of row groups with deletes, read whole and in pieces by both engines."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.write.describe_imported import data_file_from_parquet
from tests.spark.settings import settings

GROUPS, ROWS = 300, 7
PROPERTIES = {"write.delete.mode": "merge-on-read", "read.split.target-size": "2048"}
PIECES = {"spark.sql.files.maxPartitionBytes": "2048", "spark.sql.files.openCostInBytes": "0"}
FILTERS = {
    None: lambda _row: True,
    "v = 3": lambda row: row["v"] == 3,
    "id between 900 and 1300": lambda row: 900 <= row["id"] <= 1300,
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Table, dict[int, int]]:
    """Two files of tiny row groups, rows deleted by position and by key; and what is left."""
    folder: Path = tmp_path_factory.mktemp("tiny") / "t"
    made = ice.create_table(str(folder), "id bigint, v bigint", properties=PROPERTIES)
    kept = {}
    for first in (0, GROUPS * ROWS):
        ids = list(range(first, first + GROUPS * ROWS))
        rows = pa.table({"id": ids, "v": [i % 10 for i in ids]}, to_arrow(made.schema()))
        path = f"{folder}/data/{first}.parquet"
        Path(path).parent.mkdir(exist_ok=True)
        pq.write_table(rows, path, row_group_size=ROWS)
        file = data_file_from_parquet(made.io, path, made.metadata, made.spec())
        with made.transaction() as tx:
            tx.overwrite_files(add=[file])
        kept |= {i: i % 10 for i in ids}
    made.delete("id % 11 = 4")
    gone = [i for i in kept if i % 13 == 5]
    made.upsert(pa.table({"id": gone, "v": [0] * len(gone), "_op": ["D"] * len(gone)}), keys=["id"])
    left = {i: v for i, v in kept.items() if i % 11 != 4 and i % 13 != 5}
    return ice.load_table(str(folder)), left


@pytest.mark.parametrize("row_filter", FILTERS, ids=str)
@pytest.mark.parametrize("engine", ["native", "arrow"])
@pytest.mark.parametrize("pieces", [{}, PIECES], ids=["whole", "in pieces"])
def test_no_row_of_a_tiny_row_group_is_lost_or_comes_twice(
    spark: SparkSession,
    table: tuple[Table, dict[int, int]],
    pieces: Any,
    engine: str,
    row_filter: Any,
):
    loaded, left = table
    rows = [{"id": i, "v": v} for i, v in left.items()]
    wanted = sorted((row["id"], row["v"]) for row in rows if FILTERS[row_filter](row))
    options = {} if row_filter is None else {"row_filter": row_filter}
    with settings(spark, pieces):
        frame = loaded.scan(**options).to_df(spark, engine=engine)
        assert sorted(map(tuple, frame.collect())) == wanted
