"""Streams that are written: appends and changes by key, a file of the input a batch."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

import iceberg_spark as ice
from benchmarks.measure import Measured
from benchmarks.process_tree import tree_cpu, used

BATCHES = int(os.environ.get("BENCH_STREAM_BATCHES", "50"))
GROWTH_BATCHES = int(os.environ.get("BENCH_STREAM_GROWTH", "1000"))
WARM_UP = 5
SMALL = 1_000
LARGE_SHARE = 0.1  # of the rows that are asked for: 1,000,000 of 10,000,000
CHANGES = (1_000, 100_000)
COLUMNS = "id bigint, k string, amount double, note string"

_PROGRESS_KEPT = "spark.sql.streaming.numRecentProgressUpdates"

Start = Callable[[DataFrame, Path], StreamingQuery]


def measure_stream_sink(
    spark: SparkSession, folder: Path, count: int, facts: dict[str, str]
) -> dict[str, dict[str, Measured]]:
    """Measure medians over batches, and mean seconds of CPU of all processes.

    What a thousand batches do to the time of one goes to `facts`.
    """
    found: dict[str, dict[str, Measured]] = {}
    appends = {"java": _java, "ours": _ours, "plain": _plain}
    for size in dict.fromkeys((SMALL, int(count * LARGE_SHARE))):
        _measure(f"sink: append, {size:,} rows a batch", appends, spark, folder, size, found)
    upserts = {"java": _java_merge, "ours": _upsert}
    for size in CHANGES:
        _measure(f"sink: upsert, {size:,} rows a batch", upserts, spark, folder, size, found)
    if GROWTH_BATCHES:
        seconds = _batches(spark, folder, "growth", _ours, SMALL, GROWTH_BATCHES)[2]
        tenth = max(1, GROWTH_BATCHES // 10)
        first, last = statistics.median(seconds[:tenth]), statistics.median(seconds[-tenth:])
        facts[f"the last of {GROWTH_BATCHES:,} batches, by tenths"] = (
            f"{last:.2f} s, {last / first:.2f} times the first ({first:.2f} s); to reach: 1.3"
        )
    return found


def _measure(
    work: str,
    contenders: dict[str, Start],
    spark: SparkSession,
    folder: Path,
    size: int,
    found: dict[str, dict[str, Measured]],
) -> None:
    taken = {
        who: _batches(spark, folder, f"{who}_{len(found)}", start, size, BATCHES)
        for who, start in contenders.items()
    }
    found[work] = {who: Measured((each[0],)) for who, each in taken.items()}
    found[f"{work}: CPU"] = {who: Measured((each[1],)) for who, each in taken.items()}


def _batches(
    spark: SparkSession, folder: Path, name: str, start: Start, size: int, batches: int
) -> tuple[float, float, list[float]]:
    """Return the median seconds of a batch, the mean seconds of CPU, and the seconds of each."""
    place, given = folder / "db" / name, folder / f"in-{name}"
    spark.sql(
        f"CREATE TABLE java.db.{name} ({COLUMNS}) USING iceberg TBLPROPERTIES "
        "('write.merge.mode'='merge-on-read')"
    )
    _input(given, size, WARM_UP + batches)
    spark.conf.set(_PROGRESS_KEPT, str(2 * (WARM_UP + batches)))  # of 100 batches, else
    reader = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", "1")
    query = start(reader.parquet(str(given)), place)
    try:
        before = _done(query, WARM_UP)
        cpu = used(before, _done(query, WARM_UP + batches))
        seconds = [
            each["durationMs"]["triggerExecution"] / 1000
            for each in query.recentProgress
            if each["batchId"] >= WARM_UP and each["numInputRows"]
        ]
        if len(seconds) != batches:
            raise RuntimeError(
                f"{name}: {len(seconds)} of {batches} batches said how long they took"
            )
        return statistics.median(seconds), cpu / batches, seconds
    finally:
        query.stop()


def _input(folder: Path, size: int, files: int) -> None:
    """Make files of the same rows, one a batch."""
    folder.mkdir()
    ids = pa.array(range(size), pa.int64())
    texts = pa.array([f"text {number % 1000}" for number in range(size)])
    amounts = pa.array([number / 7 for number in range(size)])
    table = pa.table([ids, texts, amounts, texts], names=["id", "k", "amount", "note"])
    first = folder.parent / f"{folder.name}.parquet"
    pq.write_table(table, first)
    for number in range(files):
        os.link(first, folder / f"{number:05}.parquet")


def _writer(frame: DataFrame, place: Path) -> DataStreamWriter:
    return frame.writeStream.option("checkpointLocation", f"{place}-checkpoint")


def _java(frame: DataFrame, place: Path) -> StreamingQuery:
    return _writer(frame, place).format("iceberg").toTable(f"java.db.{place.name}")


def _plain(frame: DataFrame, place: Path) -> StreamingQuery:
    ice.disable(frame.sparkSession)
    return _writer(frame, place).format("pyiceberg-lite").start(str(place))


def _ours(frame: DataFrame, place: Path) -> StreamingQuery:
    return _native(frame, place, {})


def _upsert(frame: DataFrame, place: Path) -> StreamingQuery:
    options = {"write-mode": "upsert", "equality-fields": "id", "order-by": "id"}
    return _native(frame, place, options)


def _native(frame: DataFrame, place: Path, options: dict[str, str]) -> StreamingQuery:
    ice.enable(frame.sparkSession)
    try:
        writer = _writer(frame, place).format("pyiceberg-lite").options(**options)
        return writer.start(str(place))
    finally:
        ice.disable(frame.sparkSession)


def _java_merge(frame: DataFrame, place: Path) -> StreamingQuery:
    return _writer(frame, place).foreachBatch(partial(_merge, place.name)).start()


def _merge(name: str, rows: DataFrame, _batch: int) -> None:
    rows.createOrReplaceTempView("changes")
    rows.sparkSession.sql(
        f"MERGE INTO java.db.{name} t USING changes s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def _done(query: StreamingQuery, batches: int) -> dict[int, float]:
    """Wait until so many batches are done, and return each process's CPU seconds until then."""
    while query.exception() is None:
        last = query.lastProgress
        if last is not None and last["batchId"] >= batches - 1:
            return tree_cpu()
        time.sleep(0.02)
    raise query.exception() or RuntimeError("the query ended")
