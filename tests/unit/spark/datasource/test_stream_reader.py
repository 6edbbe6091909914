"""What Spark's processes do with a stream, one after the other, without Spark."""

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

import iceberg_spark as ice
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.datasource.source import PyIcebergLiteSource
from iceberg_spark.spark.datasource.stream_reader import MicroBatches
from iceberg_spark.spark.session.compat import expected_arrow_schema
from tests.unit.streams.streamed import new_table, rows

MOST_READER_BYTES = 16 * 1024
MOST_PARTITION_BYTES = 2 * 1024


def loaded(path: str, **options: str) -> tuple[PyIcebergLiteSource, Any]:
    """The source as it goes on from the process that was asked for the schema, and that schema."""
    source = PyIcebergLiteSource({**options, "path": path})
    schema = source.schema()
    return pickle.loads(cloudpickle.dumps(source)), schema


def batch(source: PyIcebergLiteSource, schema: Any, start: Any = None) -> tuple[pa.Table, Any]:
    """The rows of one batch, and where it ends: planned by one reader, read by another's copies."""
    driver, planner = source.streamReader(schema), source.streamReader(schema)
    assert isinstance(driver, MicroBatches)
    if start is not None:
        assert driver.partitions(start, start) == []
    end = json.loads(json.dumps(driver.latestOffset()))
    begin = json.loads(json.dumps(start or driver.initialOffset()))
    pickled = cloudpickle.dumps(planner)
    assert len(pickled) < MOST_READER_BYTES
    found = []
    for partition in driver.partitions(begin, end):
        text = cloudpickle.dumps(partition)
        assert len(text) < MOST_PARTITION_BYTES or partition.value[1] is not None
        found += list(pickle.loads(pickled).read(pickle.loads(text)))
    driver.commit(end)
    driver.stop()
    return pa.Table.from_batches(found, expected_arrow_schema(schema)), end


def test_rows_are_planned_in_one_process_and_read_in_others(tmp_path: Path) -> None:
    table = new_table(tmp_path)
    table.append(rows(1, 2))
    source, schema = loaded(table.location())
    found, end = batch(source, schema)
    assert found.column("id").to_pylist() == [1, 2]
    with table.update_spec() as spec:
        spec.add_field("p")
    table.append(rows(3, 4))
    later, _ = batch(source, schema, end)  # the reader knows an older spec only
    assert sorted(later.column("id").to_pylist()) == [3, 4]
    again, _ = batch(*loaded(table.location()), end)
    assert sorted(again.column("id").to_pylist()) == [3, 4]


def test_changes_are_read_as_a_frame_of_theirs(tmp_path: Path) -> None:
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])
    table = ice.create_table(str(tmp_path / "t"), columns)
    table.append(pa.table({"id": [1, 2], "s": ["a", "b"]}, columns))
    table.upsert(pa.table({"id": [2, 3], "s": ["B", None]}, columns), ["id"])
    path = f"{table.location()}#changes"
    options = {"identifier-columns": "id", "streaming-max-rows-per-micro-batch": "1"}
    source, schema = loaded(path, **options)
    first, middle = batch(source, schema)
    second, end = batch(source, schema, middle)
    expected = table.scan().changes(identifier_columns=["id"])
    assert schema == to_spark(expected.request.schema)
    both = pa.concat_tables([first, second]).to_pylist()
    wanted = expected.to_arrow().to_pylist()
    assert sorted(map(str, both)) == sorted(map(str, wanted))
    assert end["position"] == 2
    assert batch(source, schema, end)[1] == end
