"""A process of its own that runs streams until their input ends, unless it is killed before.

    python -m tests.spark.killed_streams FOLDER written|applied

It says 'started' once the queries run, and 'ended' when all have.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

import iceberg_spark as ice
from tests.cdc_model import Change, frame
from tests.spark.streams import Input

ROWS = 50
KEYS = 7
"""What is counted and upserted by: `id % KEYS`."""


def counted(frame: DataFrame) -> DataFrame:
    return frame.selectExpr(f"id % {KEYS} AS id").groupBy("id").count()


def changes(frame: DataFrame) -> DataFrame:
    return frame.selectExpr(f"id % {KEYS} AS id", "id AS count", "'U' AS _op").coalesce(1)


Streams = dict[str, DataStreamWriter]
Query = tuple[bool, str, Callable[[DataFrame], DataFrame], dict[str, str]]
UPSERT = {"write-mode": "upsert", "equality-fields": "id", "order-by": "count"}
QUERIES: dict[str, Query] = {
    "append": (True, "append", lambda frame: frame.selectExpr("id", "1L AS count"), {}),
    "append_plain": (False, "append", lambda frame: frame.selectExpr("id", "1L AS count"), {}),
    "complete": (True, "complete", counted, {}),
    "upsert": (True, "append", changes, UPSERT),
    "upsert_plain": (False, "append", changes, UPSERT),
}


PEOPLE = 19
"""Keys of the changes that are applied."""
PRIME = 100_003
VALUES = (None, ("a", 1.0), ("b", None), ("a", 1.0), (None, 2.5))
"""What a change makes of its row; None deletes it."""
APPLIED: dict[str, tuple[int, str, bool]] = {
    "current": (1, "seq", True),
    "current_by_ledger": (1, "seq + 0", False),
    "history": (2, "seq", True),
    "history_without_token": (2, "seq", False),
}
"""Type, sequence, and whether batches have a token: without one a batch that is run again is a
replay of its changes."""


def change(row: int) -> Change:
    """Return the change that a row of the input stands for: most come late, some of them twice."""
    number = row - row % 3 if row % 5 == 0 else row
    return Change(number % PEOPLE, number * 7_919 % PRIME, VALUES[number % len(VALUES)])


def apply(folder: Path, name: str, rows: DataFrame, batch: int) -> None:
    """Bring a table up to date with a batch."""
    kind, sequence, has_token = APPLIED[name]
    token = {"txn_app_id": name, "txn_version": batch} if has_token else {}
    ice.load_table(str(folder / name)).apply_changes(
        rows,
        keys=["id"],
        sequence_by=sequence,
        apply_as_deletes="op = 'D'",
        stored_as_scd_type=kind,
        except_column_list=["op", "seq"] if kind == 2 or sequence != "seq" else ["op"],
        **token,
    )


def as_changes(rows: DataFrame) -> DataFrame:
    """Return the changes that a batch of the input stands for, in the order of its rows."""
    ids = [row.id for row in rows.select("id").collect()]
    given: pa.Table = frame(map(change, ids))
    return rows.sparkSession.createDataFrame(given)


def written(spark: SparkSession, plain: SparkSession, folder: Path) -> Streams:
    """Return the streams that are written by the sink and natively."""
    given, streams = Input(folder / "in"), {}
    for name, (native, mode, shaped, options) in QUERIES.items():
        rows = shaped(given.stream(spark if native else plain))
        writer = rows.writeStream.format("pyiceberg-lite").outputMode(mode).options(**options)
        streams[name] = writer.option("path", str(folder / name))
    return streams


def applied(spark: SparkSession, plain: SparkSession, folder: Path) -> Streams:
    """Return the streams whose changes are applied by key."""
    rows = Input(folder / "in").stream(spark)

    def applying(name: str) -> DataStreamWriter:
        run = partial(apply, folder, name)
        return rows.writeStream.foreachBatch(lambda some, batch: run(as_changes(some), batch))

    return {name: applying(name) for name in APPLIED}


STREAMS: dict[str, Callable[[SparkSession, SparkSession, Path], Streams]] = {
    "written": written,
    "applied": applied,
}


def main(folder: Path, kind: str) -> None:
    spark = SparkSession.builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    plain = spark.newSession()
    ice.enable(spark)
    queries = []
    for name, writer in STREAMS[kind](spark, plain, folder).items():
        writer.option("checkpointLocation", str(folder / "checkpoints" / name))
        queries.append(writer.trigger(availableNow=True).start())
    print("started", flush=True)
    for query in queries:
        query.awaitTermination()
    print("ended", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
