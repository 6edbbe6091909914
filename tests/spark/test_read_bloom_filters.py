"""The Arrow engine reads the Bloom filters that Spark's writer writes, and opens fewer groups."""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.arrow.file_fields import file_fields
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.formats.data_file import ReadRequest
from iceberg_spark.formats.parquet_reader import open_parquet
from iceberg_spark.io.fsspec_io import FsspecIO

COLUMNS = ("i", "l", "s", "c", "d")


def test_values_in_spark_files_are_found_and_others_are_not(
    spark: SparkSession, tmp_path: Path
) -> None:
    on = {f"write.parquet.bloom-filter-enabled.column.{name}": "true" for name in COLUMNS}
    on["write.parquet.bloom-filter-max-bytes"] = "16384"  # larger ones than the rows are not read
    kinds = "i int, l bigint, s string, c decimal(9, 2), d date"
    table: Any = ice.create_table(str(tmp_path / "t"), kinds, properties=on)
    frame = spark.range(0, 20_000, 2).selectExpr(
        "CAST(id AS INT) i", "id * 1000000007 l", "CONCAT('k', id) s",
        "CAST(id AS DECIMAL(9, 2)) c", "DATE_ADD(DATE'1990-01-01', CAST(id AS INT)) d",
    )  # fmt: skip
    table.append(frame.coalesce(1))
    (task,) = table.scan().plan_files()
    reader = open_parquet(FsspecIO(), task.file_path)
    assert "iceberg" not in reader.file.metadata.created_by

    def is_read(where: str) -> bool:
        bound = bind(table.schema(), parse_predicate(where))
        fields = file_fields(reader.schema)
        request = ReadRequest(fields, frozenset(range(5)), filter=bound)
        return bool(reader._groups(request))

    for n in (100, 5_000, 19_998):
        day = f"DATE_ADD(DATE'1990-01-01', {n})"
        date = spark.sql(f"SELECT {day}").collect()[0][0]
        for where in (f"i = {n}", f"l = {n * 1000000007}", f"s = 'k{n}'", f"c = {n}"):
            assert is_read(where)
        assert is_read(f"d = DATE'{date}'")
    odd = range(101, 201, 2)
    assert sum(is_read(f"i = {n}") for n in odd) < 10
    assert sum(is_read(f"l = {n * 1000000007}") for n in odd) < 10
    assert sum(is_read(f"s = 'k{n}'") for n in odd) < 10
    assert sum(is_read(f"c = {n}") for n in odd) < 10
    assert table.scan("s IN ('k100', 'k101')").to_arrow().num_rows == 1
