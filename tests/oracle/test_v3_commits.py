"""Tables of format version 3 that Java and the product change by turns."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from tests.oracle.java_api import identifier, load, location, read

COLUMNS = "id bigint, k bigint"
WHERE = "k = 1"


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "k": pa.array([i % 3 for i in ids])})


def ids(table: pa.Table) -> list[int]:
    return sorted(table["id"].to_pylist())


def next_row_id(java: SparkSession, name: str) -> int:
    return int(load(java, name).operations().refresh().nextRowId())


def javas_row_ids(java: SparkSession, name: str) -> set[tuple[int | None, ...]]:
    found = java.sql(f"SELECT id, _row_id, _last_updated_sequence_number FROM {identifier(name)}")
    return {tuple(row) for row in found.collect()}


@pytest.mark.parametrize("upgraded_from", [1, 2, None])
def test_java_and_the_product_take_turns_and_agree_on_row_ids(
    java: SparkSession, upgraded_from: int | None
) -> None:
    name = f"v3_turns_{upgraded_from or 'new'}"
    place = location(java, name)
    first = {"format-version": str(upgraded_from or 3)}
    table: Table = ice.create_table(place, COLUMNS, partition_by="k", properties=first)
    table.append(rows(1, 2, 3, 4))
    if upgraded_from is not None:
        table.update_properties().set({"format-version": "3"}).commit()
        assert {row[1:] for row in javas_row_ids(java, name)} == {(None, None)}
        table.append(rows(5))
    java.sql(f"REFRESH TABLE {identifier(name)}")
    java.sql(f"INSERT INTO {identifier(name)} VALUES (6, 0), (7, 1)")
    assert table.refresh().metadata.next_row_id == next_row_id(java, name)
    before = javas_row_ids(java, name)
    assert len({row[1] for row in before}) == len(before)
    table.delete(WHERE)
    java.sql(f"REFRESH TABLE {identifier(name)}")
    assert javas_row_ids(java, name) == {row for row in before if row[0] not in {1, 4, 7}}
    java.sql(f"DELETE FROM {identifier(name)} WHERE k = 2")
    table.refresh().append(rows(8))
    assert ids(read(java, place)) == ids(table.refresh().scan().to_arrow()) == [3, 6, 8]
    java.sql(f"REFRESH TABLE {identifier(name)}")
    assert table.metadata.next_row_id == next_row_id(java, name)
