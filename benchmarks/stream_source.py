"""Reading streams: micro-batches of one file each, and a stream in which nothing is new."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import iceberg_spark as ice
from benchmarks.measure import Measured
from benchmarks.process_tree import tree_cpu, used
from benchmarks.tables import rows

BATCHES = 50
WARM_UP = 5
SMALL = 1_000
LARGE_SHARE = 0.3  # of the rows that are asked for: 3,000,000 of 10,000,000
IDLE_SECONDS = 20.0
_ONE_FILE = {"streaming-max-files-per-micro-batch": "1"}


def measure_stream_source(
    spark: SparkSession, folder: Path, count: int, facts: dict[str, str]
) -> dict[str, dict[str, Measured]]:
    """Measure medians over batches, seconds and seconds of CPU of all processes, and idle CPU.

    Each snapshot has one file; all files have the same rows. The sink keeps nothing.
    """
    found: dict[str, dict[str, Measured]] = {}
    for size in dict.fromkeys((SMALL, int(count * LARGE_SHARE))):
        name = f"streamed_{size}"
        make_table(spark, folder, name, size, BATCHES + WARM_UP)
        taken = {who: _batches(_frame(spark, folder, who, name)) for who in ("java", "ours")}
        work = f"source, {size:,} rows a batch"
        found[work] = {who: Measured((each[0],)) for who, each in taken.items()}
        found[f"{work}: CPU"] = {who: Measured((each[1],)) for who, each in taken.items()}
    name = f"streamed_{SMALL}"
    base = _cpu_share(IDLE_SECONDS)
    for who in ("java", "ours"):
        share = _idle(_frame(spark, folder, who, name)) - base
        facts[f"idle stream, {who}"] = (
            f"{share:.1%} of a CPU (the session alone: {base:.1%}); to reach: 2%"
        )
    return found


def make_table(spark: SparkSession, folder: Path, name: str, size: int, snapshots: int) -> None:
    """Make a table of snapshots that each add one file of so many rows."""
    rows(spark, size).coalesce(1).writeTo(f"java.db.{name}").using("iceberg").create()
    location = folder / "db" / name
    table = ice.load_table(str(location))
    first = Path(next(iter(table.scan().plan_files())).file_path.removeprefix("file:"))
    for _ in range(snapshots - 1):
        copy = location / "data" / f"{uuid4()}.parquet"
        os.link(first, copy)
        table.add_files([str(copy)])


def _frame(spark: SparkSession, folder: Path, who: str, name: str) -> DataFrame:
    reader = spark.readStream.options(**_ONE_FILE)
    if who == "java":
        return reader.format("iceberg").load(f"java.db.{name}")
    return reader.format("pyiceberg-lite").load(str(folder / "db" / name))


def _started(frame: DataFrame) -> tuple[StreamingQuery, Path]:
    checkpoint = Path(tempfile.mkdtemp(prefix="bench-stream-"))
    writer = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    return writer.start(), checkpoint


def _batches(frame: DataFrame) -> tuple[float, float]:
    """Return the median seconds of a batch, and the mean seconds of CPU, after some to warm up."""
    query, checkpoint = _started(frame)
    try:
        cpu = _done(query, WARM_UP)
        seconds_used = used(cpu, _done(query, WARM_UP + BATCHES))
        seconds = [
            each["durationMs"]["triggerExecution"] / 1000
            for each in query.recentProgress
            if each["batchId"] >= WARM_UP and each["numInputRows"]
        ]
        return statistics.median(seconds), seconds_used / BATCHES
    finally:
        query.stop()
        shutil.rmtree(checkpoint, ignore_errors=True)


def _done(query: StreamingQuery, batches: int) -> dict[int, float]:
    """Wait until so many batches are done, and return the CPU of processes until then."""
    while query.exception() is None:
        last = query.lastProgress
        if last is not None and last["batchId"] >= batches - 1:
            return tree_cpu()
        time.sleep(0.02)
    raise query.exception() or RuntimeError("the query ended")


def _idle(frame: DataFrame) -> float:
    query, checkpoint = _started(frame)
    try:
        query.processAllAvailable()
        return _cpu_share(IDLE_SECONDS)
    finally:
        query.stop()
        shutil.rmtree(checkpoint, ignore_errors=True)


def _cpu_share(seconds: float) -> float:
    """Return the share of a CPU that all processes use while we only wait."""
    time.sleep(2)  # what goes before winds down
    started, cpu = time.monotonic(), tree_cpu()
    time.sleep(seconds)
    return used(cpu, tree_cpu()) / (time.monotonic() - started)
