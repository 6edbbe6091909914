"""A process of its own with a small heap: scans a table with more delete keys than fit in it.

    python -m tests.spark.small_executor FOLDER

Prints one JSON object. The driver of a local session is its executor.
"""

import json
import sys
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.equality_delete_writer import equality_schema, write_equality_deletes
from iceberg_spark.write.new_write import write_context
from tests.spark.delete_commits import commit_deletes

HEAP = "450m"  # Spark takes no less
KEY_BYTES = 2_000
KEYS = 960_000
FILES = 8
ROWS = 20_000
_BATCH = 10_000


def texts(numbers: range) -> pa.Array:
    """A key of KEY_BYTES for each number: they are small in files and large in memory."""
    digits = pc.utf8_lpad(pa.array(numbers, pa.int64()).cast(pa.string()), 12, "0")
    return pc.binary_join_element_wise(digits, "k" * (KEY_BYTES - 12), "")


def build(location: str) -> Table:
    """A table of ROWS rows; every second one is deleted, by KEYS keys of which few match."""
    table = ice.create_table(location, "id bigint, k string")
    table.append(pa.table({"id": range(ROWS), "k": texts(range(ROWS))}))
    metadata = table.metadata
    (key,) = (field.field_id for field in metadata.schema.fields if field.name == "k")
    kind = to_arrow(equality_schema(metadata.schema, [key]))

    def batches(first: int, last: int) -> Iterator[pa.RecordBatch]:
        for start in range(first, last, _BATCH):
            keys = texts(range(2 * start, 2 * min(start + _BATCH, last), 2))
            yield pa.RecordBatch.from_arrays([keys], schema=kind)

    step = KEYS // FILES
    files = [
        file
        for first in range(0, KEYS, step)
        for file in write_equality_deletes(
            write_context(metadata),
            table.io,
            batches(first, first + step),
            equality_ids=[key],
            spec=metadata.partition_specs[0],
            partition=(),
            task=TaskId(),
        )
    ]
    commit_deletes(table, files)
    return table


def main(folder: str) -> None:
    table = build(f"{folder}/t")
    spark = SparkSession.builder.config("spark.driver.memory", HEAP).getOrCreate()
    heap = spark.sparkContext._jvm.java.lang.Runtime.getRuntime().maxMemory()
    frame = table.scan().to_df(spark, engine="native").selectExpr("count(*) n", "sum(id) total")
    plan = frame._jdf.queryExecution().executedPlan().toString()
    row = frame.first()
    print(json.dumps({"heap": heap, "plan": plan, "rows": row.n, "total": row.total}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
