"""A frame's columns on their way into files that Spark writes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import types as s

import iceberg_spark as ice


def test_names_in_structs_are_matched_whatever_the_session_says(spark: Any, tmp_path: Path) -> None:
    ddl = "st struct<a: timestamp_ltz, b: string, `c``.d`: int>"
    table = ice.create_table(str(tmp_path / "t"), ddl)
    text = "named_struct('B', 'y', 'A', timestamp_micros(7), 'C`.d', 3) ST"
    frame = spark.sql(f"select {text}")
    settings = {"spark.sql.caseSensitive": "true", "spark.sql.timestampType": "TIMESTAMP_NTZ"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        table.append(frame, engine="native", case_sensitive=False)
    finally:
        for name in settings:
            spark.conf.unset(name)
    (row,) = table.scan().to_arrow()["st"].to_pylist()
    assert row == {"a": datetime(1970, 1, 1, 0, 0, 0, 7, tzinfo=UTC), "b": "y", "c`.d": 3}


def test_metadata_of_a_frames_columns_gets_into_no_file(spark: Any, tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, st struct<a: bigint>, lacking int")
    about = {"secret": "s3cret"}
    inner = s.StructType([s.StructField("a", s.LongType(), True, about)])
    number = s.StructField("id", s.LongType(), True, about)
    kind = s.StructType([number, s.StructField("st", inner)])
    table.append(spark.createDataFrame([(1, (2,))], kind), engine="native")
    (task,) = table.scan().plan_files()
    assert "s3cret" not in str(pq.read_metadata(task.file_path).metadata)
    assert table.scan().to_arrow().to_pylist() == [{"id": 1, "st": {"a": 2}, "lacking": None}]
