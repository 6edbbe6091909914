"""What our upserts write, read by Java, PyIceberg (position deletes) and DuckDB."""

import random
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.commit import commit
from iceberg_spark.commits.row_delta import RowDelta
from iceberg_spark.write.context import TaskId
from iceberg_spark.write.data_file_writer import write_data_files
from iceberg_spark.write.new_write import write_context
from iceberg_spark.write.position_delete_writer import write_position_deletes
from tests.oracle import duckdb_reader
from tests.oracle.java_api import load, location, read

Rows = list[tuple[Any, ...]]


def tuples(table: pa.Table) -> Rows:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


def ours(path: str) -> Rows:
    return tuples(ice.load_table(path).scan().to_arrow())


def entries(java: SparkSession, name: str) -> list[tuple[int, int, int, str]]:
    """(content, rows, data sequence number, equality ids) of Java's live entries, in that order."""
    frame = java.read.format("iceberg").load(f"{location(java, name)}#entries")
    found = frame.where("status < 2").selectExpr(
        "data_file.content AS c", "data_file.record_count AS n", "sequence_number AS s",
        "coalesce(cast(data_file.equality_ids AS string), '') AS e",
    )  # fmt: skip
    return sorted((row.c, row.n, row.s, row.e) for row in found.collect())


def test_the_worked_example_file_by_file(java: SparkSession) -> None:
    """Snapshots {(1,X),(2,A)}, {(1,X),(3,Q),(2,B)} and {(1,X),(2,B),(4,Y)} of the same table."""
    name = "worked_example"
    path = location(java, name)
    table = ice.create_table(path, "id bigint, v string")
    table.append(pa.table({"id": [1, 2], "v": ["X", "A"]}))
    assert entries(java, name) == [(0, 2, 1, "")]
    assert ours(path) == tuples(read(java, path)) == [(1, "X"), (2, "A")]

    table.upsert(pa.table({"id": [3, 2], "v": ["Q", "B"]}), keys=["id"])
    assert entries(java, name) == [(0, 2, 1, ""), (0, 2, 2, ""), (2, 2, 2, "[1]")]
    assert ours(path) == tuples(read(java, path)) == [(1, "X"), (2, "B"), (3, "Q")]

    _delete_first_row_by_position_and_add(table, {"id": [4], "v": ["Y"]})
    assert entries(java, name) == [
        (0, 1, 3, ""), (0, 2, 1, ""), (0, 2, 2, ""), (1, 1, 3, ""), (2, 2, 2, "[1]"),
    ]  # fmt: skip
    assert ours(path) == tuples(read(java, path)) == [(1, "X"), (2, "B"), (4, "Y")]


def _delete_first_row_by_position_and_add(table: Table, columns: dict[str, list[Any]]) -> None:
    """Delete (3,Q), the first row of the second snapshot's file, with a row added: one commit."""
    newest = max(table.scan().plan_files(), key=lambda task: task.data_sequence_number)
    context = write_context(table.metadata)
    place = pa.table({"file_path": [newest.file_path], "pos": [0]})
    deletes = write_position_deletes(
        context, table.io, place, spec=table.spec(), partition=(), task=TaskId()
    )
    rows = pa.table(columns, schema=table.scan().to_arrow().schema).to_batches()
    data = write_data_files(context, table.io, rows, TaskId())
    commit(table._catalog, table.identifier, RowDelta(data, deletes), table._loaded)
    table.refresh()


def test_repeated_keys_are_position_deletes_of_the_same_commit_for_every_engine(
    java: SparkSession,
) -> None:
    """All readers know position deletes; the equality deletes of a first commit reach nothing."""
    name = "repeated_keys"
    path = location(java, name)
    table = ice.create_table(path, "id bigint, v string")
    result = table.upsert(pa.table({"id": [1, 2, 1, 2, 3], "v": list("abcde")}), keys=["id"])
    assert (result.added_position_deletes, result.added_equality_deletes) == (2, 3)
    assert entries(java, name) == [(0, 5, 1, ""), (1, 2, 1, ""), (2, 3, 1, "[1]")]
    expected = [(1, "c"), (2, "d"), (3, "e")]
    table.maintenance.convert_equality_deletes()
    metadata = table.metadata_location
    assert tuples(read(java, path)) == expected
    assert tuples(duckdb_reader.read(metadata)) == expected
    assert tuples(StaticTable.from_metadata(metadata).scan().to_arrow()) == expected


@pytest.mark.parametrize(
    ("file_format", "partition_by", "keys"),
    [
        ("parquet", [], ["id"]),
        ("orc", ["bucket(3, id)"], ["id"]),
        ("parquet", ["k"], ["id"]),
        ("avro", ["k"], ["k", "id"]),
    ],
    ids=["unpartitioned", "bucket", "global", "two-keys"],
)
def test_random_changes_against_a_model_and_java(
    java: SparkSession, file_format: str, partition_by: list[str], keys: list[str]
) -> None:
    """Batches of changes, NULL keys among them; then both compactions of the delete files."""
    name = f"cdc_{file_format}_{''.join(keys)}_{'_'.join(p[:2] for p in partition_by)}"
    path = location(java, name)
    properties = {"write.format.default": file_format}
    table = ice.create_table(
        path, "id bigint, k string, v int", partition_by=partition_by, properties=properties
    )
    everywhere = partition_by == ["k"] and keys == ["id"]
    chance = random.Random(name)
    model: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for turn in range(3):
        rows = [
            (chance.choice([None, *range(30)]), chance.choice("xyz"), turn * 100 + n)
            for n in range(60)
        ]
        operations = [chance.choice(["I", "U", "+U", "D", "-U"]) for _ in rows]
        moments = chance.sample(range(60), 60)
        ids, texts, values = zip(*rows, strict=True)
        batch = pa.table(
            {"id": pa.array(ids, pa.int64()), "k": texts, "v": pa.array(values, pa.int32()),
             "_op": operations, "at": moments}
        )  # fmt: skip
        table.upsert(batch, keys, order_by="at", global_delete=everywhere)
        for _, row, operation in sorted(zip(moments, rows, operations, strict=True)):
            key = (row[1], row[0]) if len(keys) > 1 else (row[0],)
            model.pop(key, None)
            if operation in ("I", "U", "+U"):
                model[key] = row
        assert tuples(read(java, path)) == ours(path) == sorted(model.values(), key=repr)
    _compare_after_compaction(java, table, path)
    assert load(java, name).spec().specId() == 0


def _compare_after_compaction(java: SparkSession, table: Table, path: str) -> None:
    before = ours(path)
    table.maintenance.convert_equality_deletes(spark=java)
    assert ours(path) == tuples(read(java, path)) == before
    table.maintenance.rewrite_position_deletes()
    assert ours(path) == tuples(read(java, path)) == before


def test_java_goes_on_with_a_table_that_was_upserted_with_global_deletes(
    java: SparkSession,
) -> None:
    name = "global_deletes"
    path = location(java, name)
    table = ice.create_table(path, "id bigint, k string", partition_by=["k"])
    table.append(pa.table({"id": [1, 2], "k": ["a", "b"]}))
    table.upsert(pa.table({"id": [1], "k": ["b"]}), ["id"], global_delete=True)
    java.sql(f"INSERT INTO j.db.{name} VALUES (9, 'z')")
    java.sql(f"DELETE FROM j.db.{name} WHERE id = 2")
    expected = [(1, "b"), (9, "z")]
    assert tuples(read(java, path)) == ours(path) == expected
