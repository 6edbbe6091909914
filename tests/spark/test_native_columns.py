"""A frame's columns on their way into files that Spark writes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
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


def test_constant_columns_keep_their_field_ids_whatever_stands_above_them(
    any_spark: Any, tmp_path: Path
) -> None:
    """Spark puts a constant in the place of every column that is one, through what is between."""
    columns = "id bigint, k string, lacking int, st struct<a: int>"
    for number, by in enumerate(([], ["k"], ["bucket(2, id)"])):
        table = ice.create_table(str(tmp_path / f"t{number}"), columns, partition_by=by)
        frame = any_spark.range(3).selectExpr("id", "'it''s' k", "named_struct('a', 7) st")
        wide = frame.withColumn("k", frame["k"])
        for each in (
            frame,
            frame.coalesce(1),
            frame.limit(3),
            frame.union(wide),
            frame.orderBy("k"),
        ):
            table.append(each, engine="native")
        found = table.scan().to_arrow().to_pylist()
        assert sorted(row["id"] for row in found) == sorted([0, 1, 2] * 6)
        assert {(row["k"], row["lacking"], row["st"]["a"]) for row in found} == {("it's", None, 7)}


MADE = "named_struct('a', 7, 'deep', named_struct('b', 'x'))"
STRUCTS = {
    "aggregate": f"select id, first({MADE}) st from range(3) group by id",
    "condition": f"select id, if(id > 0, {MADE}, null) st from range(3)",
    "outer join": f"select l.id, r.st from range(3) l "
    f"left join (select id, {MADE} st from range(2)) r on l.id = r.id",
    "filtered": "select id, named_struct('a', cast(null as int), 'deep', d) st from (select id, "
    "named_struct('b', cast(id as string)) d from range(3)) where d.b is not null",
    "window": f"select id, last({MADE}) over (order by id) st from range(3)",
}


@pytest.mark.parametrize("shape", STRUCTS)
def test_structs_keep_their_field_ids_though_spark_finds_them_never_null(
    any_spark: Any, tmp_path: Path, shape: str
) -> None:
    """Spark forgets the metadata of fields in a struct that it makes anew as "NULL, or these"."""
    columns = "id bigint, st struct<a: int, deep: struct<b: string, lacking: int>>"
    for number, by in enumerate(([], ["id"], ["bucket(2, st.deep.b)"])):
        table = ice.create_table(str(tmp_path / f"t{number}"), columns, partition_by=by)
        frame = any_spark.sql(STRUCTS[shape])
        table.append(frame, engine="native")
        wanted = {row["id"]: row["st"] and row["st"].asDict(True) for row in frame.collect()}
        found = {row["id"]: row["st"] for row in table.scan().to_arrow().to_pylist()}
        for struct in filter(None, found.values()):
            assert struct["deep"].pop("lacking") is None
        assert found == wanted


def test_names_that_differ_by_case_only_keep_their_columns(spark: Any, tmp_path: Path) -> None:
    columns = s.StructType([s.StructField(name, s.StringType()) for name in ("a", "A", "b")])
    table = ice.create_table(str(tmp_path / "t"), columns)
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        table.append(spark.sql("select 'small' a, 'large' A").coalesce(1))
        table.append(spark.sql("select 'only' A"))
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    found = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["A"])
    assert found == [
        {"a": "small", "A": "large", "b": None},
        {"a": None, "A": "only", "b": None},
    ]
