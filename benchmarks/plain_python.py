"""Reading without Spark: this library next to pyarrow, PyIceberg, Polars, DuckDB and Daft."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import iceberg_spark as ice
from benchmarks.cold_start import SMALL_FILES, small_rows
from benchmarks.measure import Measured
from benchmarks.plain_python_client import QUERIES, READERS
from benchmarks.tables import rows
from scripts.engine_matrix.engines import ENGINES, ROOT, install

FILES = 10
_PEERS: Mapping[str, str] = {
    "pyarrow": "this_library",
    "ours": "this_library",
    "pyiceberg": "pyiceberg_static",
    "polars": "polars_scan",
    "duckdb": "duckdb_extension",
    "daft": "daft_scan",
}
"""The engine of the matrix in whose environment a contender runs."""


def measure_plain_python(
    spark: SparkSession, folder: Path, count: int, rounds: int
) -> dict[str, dict[str, Measured]]:
    """Measure the second run of each query by each contender: seconds of CPU of a fresh process.

    pyarrow reads the files of a table, and so no tables with deletes. Every contender has to return
    as many rows.
    """
    tables = _tables(spark, folder, count)
    works = {}
    for name, query in QUERIES.items():
        contenders = [peer for peer in READERS if peer != "pyarrow" or query.table != "position"]
        works[f"without Spark: {name}"] = _alternating(
            contenders, name, tables[query.table], rounds
        )
    return works


def _tables(spark: SparkSession, folder: Path, count: int) -> dict[str, str]:
    """Write the tables; return their metadata files, which have the data files next to them."""
    frame = rows(spark, count, FILES).drop("k").withColumn("v", sf.expr("pmod(hash(id), 100)"))
    for name in ("clean", "position"):
        writer = frame.writeTo(f"java.db.{name}").using("iceberg")
        writer.tableProperty("write.delete.mode", "merge-on-read").create()
    spark.sql("DELETE FROM java.db.position WHERE id % 20 = 3")
    small = folder / "db" / "small"
    table = ice.create_table(str(small), "id bigint, v int, s string, d double")
    for number in range(SMALL_FILES):
        table.append(small_rows(number))
    metadata = {}
    for name in ("clean", "position", "small"):
        table = ice.load_table(str(folder / "db" / name))
        path = Path(table.metadata_location.removeprefix("file:"))
        files = [task.file_path.removeprefix("file:") for task in table.scan().plan_files()]
        path.with_name("files.json").write_text(json.dumps(files))
        metadata[name] = str(path)
    return metadata


def _alternating(
    contenders: Sequence[str], query: str, metadata: str, rounds: int
) -> dict[str, Measured]:
    seconds: dict[str, list[float]] = {contender: [] for contender in contenders}
    counts = {}
    for _ in range(rounds):
        for contender in contenders:
            taken, counts[contender] = _run(contender, query, metadata)
            seconds[contender].append(taken)
    if len(set(counts.values())) != 1:
        raise RuntimeError(f"{query}: the contenders read different numbers of rows: {counts}")
    return {contender: Measured(tuple(taken)) for contender, taken in seconds.items()}


def _run(contender: str, query: str, metadata: str) -> tuple[float, int]:
    engine = next(engine for engine in ENGINES if engine.reader == _PEERS[contender])
    install(engine)
    done = subprocess.run(
        [engine.python, "-m", "benchmarks.plain_python_client", contender, query, metadata],
        env=os.environ | {"PYTHONPATH": str(ROOT), "DAFT_ANALYTICS_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{query} by {contender} failed: {done.stderr[-2000:]}")
    taken, count = json.loads(done.stdout.splitlines()[-1])
    return taken, count
