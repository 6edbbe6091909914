"""A process of its own in which task attempts fail, lose their executor, and are tried again.

    python -m tests.spark.failing_attempts FOLDER retries|losses

Prints one JSON object: for each write what the table and its data folder hold afterwards.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark import Table

ROWS = 40_000
PROPERTIES = {"write.target-file-size-bytes": "20000"}  # an attempt ends files before it fails
BATCH_ROWS = 1000
SETTINGS = {
    "retries": {"spark.master": "local[2,3]"},
    "losses": {"spark.master": "local-cluster[2,1,512]", "spark.executor.memory": "512m"},
}
Rows = Iterable[pa.RecordBatch]


def first_attempt_fails(batches: Rows) -> Iterator[pa.RecordBatch]:
    """The last partition's first attempt fails when half of its rows are on their way."""
    for number, batch in enumerate(batches):
        task = TaskContext.get()
        if number == 5 and task.partitionId() == 3 and task.attemptNumber() == 0:
            raise ValueError("the first attempt fails")
        yield batch


def last_partition_fails(batches: Rows) -> Iterator[pa.RecordBatch]:
    for number, batch in enumerate(batches):
        if number == 5 and TaskContext.get().partitionId() == 3:
            raise ValueError("every attempt fails")
        yield batch


def executor_is_lost(flag: str, batches: Rows) -> Iterator[pa.RecordBatch]:
    """Once, the executor of the last partition is killed: nothing of it cleans up."""
    for number, batch in enumerate(batches):
        if number == 5 and TaskContext.get().partitionId() == 3 and not Path(flag).exists():
            Path(flag).touch()
            os.kill(parent(os.getppid()), signal.SIGKILL)  # the JVM started what started us
        yield batch


def parent(pid: int) -> int:
    known = Path(f"/proc/{pid}/stat")
    if known.exists():  # Linux, which may have no ps
        return int(known.read_text().rpartition(")")[2].split()[1])
    return int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(pid)]))


def frame(spark: SparkSession, what: Callable[[Rows], Iterator[pa.RecordBatch]]) -> DataFrame:
    rows = spark.range(0, ROWS, 1, 4).selectExpr("id", "sha1(cast(id as string)) s")
    return rows.mapInArrow(what, "id bigint, s string")


def state(table: Table) -> dict[str, Any]:
    """Whether the folder holds the table's files and nothing else, and the table its rows."""
    data = Path(table.location()) / "data"
    stored = {str(path) for path in data.rglob("*") if path.is_file()}
    named = {task.file_path for task in table.scan().plan_files()}
    ids = table.scan(selected_fields=("id",)).to_arrow().column("id").to_pylist()
    return {
        "strays": sorted(stored - named),
        "missing": sorted(named - stored),
        "files": len(named),
        "right": sorted(ids) == list(range(ROWS)),
        "snapshots": len(table.snapshots()),
    }


def made(location: str) -> Table:
    spec = ("bucket(2, id)",)
    return ice.create_table(
        location, "id bigint, s string", partition_by=spec, properties=PROPERTIES
    )


def retries(spark: SparkSession, folder: str) -> dict[str, Any]:
    """Writes whose attempts fail once, and writes that fail in the end."""
    found = {}
    for engine in ("native", "arrow"):
        table = made(f"{folder}/{engine}")
        table.append(frame(spark, first_attempt_fails), engine=engine, distribution_mode="none")
        found[engine] = state(table)
        table = made(f"{folder}/{engine} failed")
        try:
            rows = frame(spark, last_partition_fails)
            table.append(rows, engine=engine, distribution_mode="none")
        except Exception as error:  # noqa: BLE001 - whatever Spark raises
            said = "every attempt fails" in str(error)
            found[f"{engine} failed"] = {**state(table.refresh()), "said": said}
    table = made(f"{folder}/source")
    rows = frame(spark, first_attempt_fails)
    rows.write.format("pyiceberg-lite").mode("append").save(table.location())
    found["source"] = state(table.refresh())
    return found


def losses(spark: SparkSession, folder: str) -> dict[str, Any]:
    """Writes during which an executor is killed."""
    found = {}
    for engine in ("native", "arrow"):
        table = made(f"{folder}/{engine}")
        flag = f"{folder}/{engine} lost"
        rows = frame(spark, partial(executor_is_lost, flag))
        table.append(rows, engine=engine, distribution_mode="none")
        found[engine] = {**state(table), "lost": Path(flag).exists()}
    return found


def main(folder: str, what: str) -> None:
    batches = "spark.sql.execution.arrow.maxRecordsPerBatch"
    builder = SparkSession.builder.config(batches, str(BATCH_ROWS))
    given = os.environ.get("SPARK_SUBMIT_OPTS", "")  # what the suites say to a driver's JVM
    builder = builder.config("spark.executor.extraJavaOptions", given)
    for name, value in SETTINGS[what].items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    found = retries(spark, folder) if what == "retries" else losses(spark, folder)
    for name, held in found.items():  # once more: what came after the write returned
        held["strays"] = state(ice.load_table(f"{folder}/{name}"))["strays"]
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
