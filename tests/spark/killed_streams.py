"""A process of its own that runs streams until their input ends, unless it is killed before.

    python -m tests.spark.killed_streams FOLDER

It says 'started' once the queries run, and 'ended' when all have.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from tests.spark.streams import Input

ROWS = 50
KEYS = 7
"""What is counted and upserted by: `id % KEYS`."""


def counted(frame: DataFrame) -> DataFrame:
    return frame.selectExpr(f"id % {KEYS} AS id").groupBy("id").count()


def changes(frame: DataFrame) -> DataFrame:
    return frame.selectExpr(f"id % {KEYS} AS id", "id AS count", "'U' AS _op").coalesce(1)


Query = tuple[bool, str, Callable[[DataFrame], DataFrame], dict[str, str]]
UPSERT = {"write-mode": "upsert", "equality-fields": "id", "order-by": "count"}
QUERIES: dict[str, Query] = {
    "append": (True, "append", lambda frame: frame.selectExpr("id", "1L AS count"), {}),
    "append_plain": (False, "append", lambda frame: frame.selectExpr("id", "1L AS count"), {}),
    "complete": (True, "complete", counted, {}),
    "upsert": (True, "append", changes, UPSERT),
    "upsert_plain": (False, "append", changes, UPSERT),
}


def main(folder: Path) -> None:
    spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    plain = spark.newSession()
    ice.enable(spark)
    given, queries = Input(folder / "in"), []
    for name, (native, mode, shaped, options) in QUERIES.items():
        frame = shaped(given.stream(spark if native else plain))
        writer = frame.writeStream.format("pyiceberg-lite").outputMode(mode).options(**options)
        writer = writer.option("checkpointLocation", str(folder / "checkpoints" / name))
        queries.append(writer.trigger(availableNow=True).start(str(folder / name)))
    print("started", flush=True)
    for query in queries:
        query.awaitTermination()
    print("ended", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
