"""What a load pins, so that every process of a query sees one version."""

import pickle
from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.datasource.pinned import load
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


def test_a_metadata_table_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="'snapshots'"):
        load(f"{tmp_path}/t#snapshots", {})
