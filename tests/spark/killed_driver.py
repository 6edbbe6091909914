"""A process of its own whose Spark driver is killed (SIGKILL) in the middle of a verb.

    python -m tests.spark.killed_driver TABLE VERB MOMENT python|jvm|machine

It says nothing, unless it outlives its JVM: then what the verb raised.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import IcebergError
from iceberg_spark.spark.procedures import compaction
from iceberg_spark.spark.row_level import position_deletes
from iceberg_spark.spark.writing import write_by_spark
from tests.faults.store import Calls, faulty_store
from tests.spark.deadly_daemon import kill

ROWS = 16_000
FIRST_NEW = ROWS - 4_000
"""The rows of the verbs begin here: some of them are in the table."""
TABLE_ROWS = pa.table({"id": range(ROWS), "s": [f"old {number}" for number in range(ROWS)]})
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    "spark.python.daemon.module": "tests.spark.deadly_daemon",
}
WRITE_PARQUET = write_by_spark.write_parquet
ONE_FILE = ("delete_merge_on_read", "compact_packed", "compact_sorted")
"""Verbs of which a task writes one file."""
MOMENTS = ("tasks", "manifest", "before the swap", "after the swap")


def make(location: str) -> Table:
    """A table of two files; what a task writes to it becomes several files."""
    mode = "merge-on-read" if location.endswith("merge_on_read") else "copy-on-write"
    small = {"write.target-file-size-bytes": "20000", "write.delete.granularity": "file"}
    table = ice.create_table(
        location, "id bigint, s string", properties={**small, "write.delete.mode": mode}
    )
    table.append(TABLE_ROWS.slice(0, ROWS // 2))
    table.append(TABLE_ROWS.slice(ROWS // 2))
    return table


def new_rows(spark: SparkSession) -> DataFrame:
    return spark.range(FIRST_NEW, FIRST_NEW + ROWS, 1, 4).selectExpr("id", "'new' s")


def merge(table: Table, spark: SparkSession) -> None:
    builder = table.merge(new_rows(spark), "t.id = s.id")
    builder.when_matched_update_all().when_not_matched_insert_all().execute()


def compact(table: Table, spark: SparkSession, order: str | None = None) -> None:
    table.maintenance.rewrite_data_files(
        sort_order=order, options={"rewrite-all": True}, spark=spark
    )


VERBS: dict[str, Callable[[Table, SparkSession], object]] = {
    "append_native": lambda table, spark: table.append(new_rows(spark), engine="native"),
    "append_arrow": lambda table, spark: table.append(new_rows(spark), engine="arrow"),
    "delete_copy_on_write": lambda table, _: table.delete("id % 3 = 0"),
    "delete_merge_on_read": lambda table, _: table.delete("id % 3 = 0"),
    "upsert": lambda table, spark: table.upsert(new_rows(spark), ["id"]),
    "merge": merge,
    "compact_packed": compact,
    "compact_sorted": lambda table, spark: compact(table, spark, "s desc"),
}


class Deadly(Calls):
    """The driver's calls into the store, one of which is its last."""

    def __init__(self, moment: str, die: Callable[[], None]) -> None:
        super().__init__()
        self.moment, self.die = moment, die

    def _answer(self, *call: Any) -> Any:
        _, method, path, work = call
        swap = method == "create_if_absent" and path.endswith(".metadata.json")
        manifest = method == "create" and path.endswith(".avro")
        if (self.moment, True) in {("manifest", manifest), ("before the swap", swap)}:
            self.die()
        answer = work()
        if (self.moment, True) == ("after the swap", swap):
            self.die()
        return answer


def main(where: str, verb: str, moment: str, who: str) -> None:
    """Run the verb up to the moment."""
    driver = os.getpid()
    last = 1 if verb in ONE_FILE else 2
    os.environ["DEADLY"] = f"{driver} {who if moment == 'tasks' else 'nobody'} {last}"
    builder = SparkSession.builder
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    jvm = spark.sparkContext._gateway.proc.pid

    def die_while_writing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches):
            if number == 2:
                kill(driver, jvm, who)
            yield batch

    def write_parquet(frame: DataFrame, *rest: Any) -> None:
        WRITE_PARQUET(frame.mapInArrow(die_while_writing, frame.schema), *rest)

    limits = replace(position_deletes.POSITION_DELETES, driver_rows=0)  # so that tasks write them
    position_deletes.POSITION_DELETES = limits
    compaction.ORDERING = replace(compaction.ORDERING, task_bytes=1)  # so that rows are shuffled
    if moment == "tasks":
        write_by_spark.write_parquet = write_parquet
    try:
        with faulty_store(Deadly(moment, lambda: kill(driver, jvm, who))):
            VERBS[verb](ice.load_table(where), spark)
    except Exception as error:  # noqa: BLE001 - what it is, the test says
        print(isinstance(error, IcebergError), type(error).__name__, error)
        os._exit(0)  # there is no session to stop


if __name__ == "__main__":
    main(*sys.argv[1:])
