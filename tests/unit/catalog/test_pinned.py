"""What a load pins, so that every process of a query sees one version."""

import pickle
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

import iceberg_spark as ice
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.catalog.pinned import load, split_name
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.datasource.source import PyIcebergLiteSource


def test_the_schema_and_the_plan_see_the_snapshot_of_the_load(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(pa.table({"id": [1]}))
    source = PyIcebergLiteSource({"path": str(tmp_path / "t")})
    frame = source.schema()
    table.append(pa.table({"id": [2, 3]}))
    reader = pickle.loads(pickle.dumps(source)).reader(schema=frame)
    tasks = [task for group in reader.partitions() for task in group.tasks]
    assert sum(task.record_count for task in tasks) == 1


def test_metadata_that_was_removed_since_falls_back_to_the_newest(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    pinned, _ = load(str(tmp_path / "t"), {})
    table.append(pa.table({"id": [1]}))
    Path(pinned.metadata_location).unlink()
    assert pinned.metadata().current_snapshot is not None


def test_a_metadata_table_is_named_after_the_last_hash_of_the_path() -> None:
    assert split_name("/w/t#files") == ("/w/t", "files")
    assert split_name("/w/a#b/t") == ("/w/a#b/t", None)
    assert split_name("/w/a#b/t#refs") == ("/w/a#b/t", "refs")


def test_a_metadata_table_shows_the_snapshot_of_the_load(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint")
    table.append(pa.table({"id": [1]}))
    source = PyIcebergLiteSource({"path": f"{tmp_path}/t#files"})
    frame = source.schema()
    table.append(pa.table({"id": [2, 3]}))
    reader = pickle.loads(pickle.dumps(source)).reader(schema=frame)
    (group,) = reader.partitions()
    assert sum(batch.num_rows for batch in reader.read(group)) == 1


def test_a_user_s_schema_may_let_more_columns_be_null_and_no_fewer(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint not null, k string")
    table.append(pa.table({"id": [1], "k": [None]}, schema=to_arrow(table.schema())))
    source = PyIcebergLiteSource({"path": str(tmp_path / "t")})
    looser = StructType([StructField("id", LongType()), StructField("k", StringType())])
    reader = source.reader(looser)
    (batch,) = (each for group in reader.partitions() for each in reader.read(group))
    assert [field.nullable for field in batch.schema] == [True, True]
    assert batch.to_pylist() == [{"id": 1, "k": None}]
    stricter = StructType([StructField(field.name, field.dataType, False) for field in looser])
    with pytest.raises(InvalidInputError, match=r"\(k may be NULL in the table\)"):
        source.reader(stricter)
