"""The tables that are measured: 13 columns, 8 Parquet files, written by Java Iceberg."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

FILES = 8
TENTHS = 10
COLUMNS = """
    id, cast(id % 1000000 as int) k, cast(rand(1) * 1000 as int) a, id * 7 b,
    rand(2) x, cast(rand(3) * 100 as float) y, cast(rand(4) * 100000 as decimal(12, 2)) price,
    concat('name-', cast(cast(rand(5) * 50000 as int) as string)) name,
    concat('city-', cast(cast(rand(6) * 200 as int) as string)) city,
    date_add(date'2020-01-01', cast(rand(7) * 1000 as int)) day,
    timestamp_seconds(1577836800 + id) ts, id % 3 = 0 flag, sha1(cast(id as string)) note
"""


def rows(spark: SparkSession, count: int, files: int = FILES) -> DataFrame:
    """Return the rows, computed on the fly; the same ones every time for a number of files."""
    return spark.range(0, count, 1, files).selectExpr(*_split(COLUMNS))


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [part.strip() for part in [*parts, text[start:]]]


def make_tables(spark: SparkSession, warehouse: Path, count: int) -> dict[str, Path]:
    """Write the clean table and its deleted twins; return their locations by name.

    A twentieth of the rows of `position`, `vectors` and `equality` is deleted; in `tenth`
    half of the rows of one file out of ten, as many rows in all.
    """
    rows(spark, count).writeTo("java.db.clean").using("iceberg").create()
    twins = (("position", FILES), ("vectors", FILES), ("equality", FILES), ("tenth", TENTHS))
    for name, files in twins:
        writer = rows(spark, count, files).writeTo(f"java.db.{name}").using("iceberg")
        writer.tableProperty("format-version", "3" if name == "vectors" else "2")
        writer.tableProperty("write.delete.mode", "merge-on-read").create()
    for name in ("position", "vectors"):
        spark.sql(f"delete from java.db.{name} where id % 20 = 3")
    spark.sql(f"delete from java.db.tenth where id < {count // TENTHS} and id % 2 = 1")
    delete_keys(spark, warehouse / "db" / "equality", np.arange(0, count, 20))
    rows(spark, count).write.parquet(str(warehouse / "plain"))
    names = ("clean", *(name for name, _ in twins))
    tables = {name: warehouse / "db" / name for name in names}
    return {**tables, "plain": warehouse / "plain"}


def delete_keys(spark: SparkSession, location: Path, keys: np.ndarray) -> None:
    """Commit an equality delete file on `id` through Java's API."""
    path = location / "data" / "equality-deletes.parquet"
    field = pa.field("id", pa.int64(), nullable=True, metadata={b"PARQUET:field_id": b"1"})
    pq.write_table(pa.table([pa.array(keys)], schema=pa.schema([field])), path)
    jvm: Any = spark._jvm
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    table = jvm.org.apache.iceberg.hadoop.HadoopTables(configuration).load(str(location))
    ids = spark.sparkContext._gateway.new_array(jvm.int, 1)
    ids[0] = 1
    deletes = (
        jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec())
        .ofEqualityDeletes(ids)
        .withPath(str(path))
        .withFormat("parquet")
        .withFileSizeInBytes(path.stat().st_size)
        .withRecordCount(len(keys))
        .build()
    )
    table.newRowDelta().addDeletes(deletes).commit()
    spark.sql(f"refresh table java.db.{location.name}")
