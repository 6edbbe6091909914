"""Streams of a few rows a batch, and their tables."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark import Table

CREATED_S = 1_700_000_000
TYPE = "id bigint, k string"


class Input:
    """A folder whose files are a stream's batches, one each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self.files = len(list(folder.glob("*.parquet")))

    def add(self, *rows: tuple[Any, ...], names: str = TYPE) -> None:
        """Add a batch."""
        schema = pa.schema([
            (name, pa.int64() if kind == "bigint" else pa.string())
            for name, kind in (column.split() for column in names.split(", "))
        ])  # fmt: skip
        columns = list(zip(*rows, strict=True)) or [()] * len(schema)
        table = pa.table([list(column) for column in columns], schema=schema)
        self.files += 1
        file = self.folder / f".{self.files:05}.parquet"
        pq.write_table(table, file)
        os.utime(file, (CREATED_S + self.files,) * 2)  # Spark takes files by their times
        file.rename(self.folder / f"{self.files:05}.parquet")

    def stream(self, spark: SparkSession, names: str = TYPE) -> DataFrame:
        reader = spark.readStream.schema(names).option("maxFilesPerTrigger", "1")
        return reader.format("parquet").load(str(self.folder))


def run(
    frame: DataFrame, table: str, checkpoint: Path, mode: str = "append", **options: str
) -> str:
    """Write all batches that are there; return the query's id."""
    named = {name.replace("_", "-"): value for name, value in options.items()}
    writer = frame.writeStream.format("pyiceberg-lite").outputMode(mode).options(**named)
    writer = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query = writer.start(table)
    query.awaitTermination()
    return str(query.id)


def forget_last_batch(checkpoint: Path) -> None:
    """Have the next run do the last batch again, as if its driver had died before it said so."""
    last = max((checkpoint / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    (checkpoint / "commits" / f".{last.name}.crc").unlink(missing_ok=True)


def epochs(table: Table) -> list[str | None]:
    """The batches of streams that the table's snapshots name, in order."""
    return [one.summary.get("spark.sql.streaming.epochId") for one in table.refresh().snapshots()]


def pairs(table: Table) -> list[tuple[Any, ...]]:
    found = table.refresh().scan().to_arrow()
    return sorted(zip(*(found.column(name).to_pylist() for name in ("id", "k")), strict=True))


@contextmanager
def enabled(spark: SparkSession, native: bool) -> Iterator[None]:
    """The session writes streams the native way, or by the source's own sink."""
    if native:
        ice.enable(spark)
    try:
        yield
    finally:
        if native:
            ice.disable(spark)
