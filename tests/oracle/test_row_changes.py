"""Other engines read the rows that we changed, and Java goes on with the table."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle import duckdb_reader, pyiceberg_tables
from tests.oracle.compare import assert_same_rows
from tests.oracle.java_api import identifier, location, read
from tests.oracle.product import read_both

ROWS = pa.table(
    {
        "id": pa.array(range(40), pa.int64()),
        "v": pa.array([n * 10 for n in range(40)], pa.int32()),
        "k": [None if n % 7 == 0 else "abc"[n % 3] for n in range(40)],
    }
)
SOURCE = pa.table(
    {
        "id": pa.array([5, 17, 33, 100, 101], pa.int64()),
        "v": pa.array([-5, -17, -33, -100, None], pa.int32()),
        "k": ["a", "z", None, "b", "c"],
    }
)
CASES = [
    ("copy-on-write", "file", (), "2"),
    ("copy-on-write", "file", ("k",), "1"),
    ("merge-on-read", "file", ("k",), "2"),
    ("merge-on-read", "partition", ("bucket(3, id)",), "2"),
]


@pytest.mark.parametrize(("mode", "granularity", "partition_by", "version"), CASES)
def test_every_engine_reads_our_changes(
    java: SparkSession, mode: str, granularity: str, partition_by: tuple[str, ...], version: str
) -> None:
    name = f"changed_{mode}_{granularity}_{version}".replace("-", "_")
    path = location(java, name)
    verbs = ("delete", "update", "merge")
    properties = {f"write.{verb}.mode": mode for verb in verbs}
    properties |= {"write.delete.granularity": granularity, "format-version": version}
    table = ice.create_table(
        path, "id bigint, v int, k string", partition_by=partition_by, properties=properties
    )
    table.append(ROWS.slice(0, 20))
    table.append(ROWS.slice(20))
    twin = f"{name}_twin"
    java.sql(f"DROP TABLE IF EXISTS {identifier(twin)}")
    java.createDataFrame(ROWS).writeTo(identifier(twin)).using("iceberg").tableProperty(
        "format-version", "2"
    ).create()
    java.createDataFrame(SOURCE).createOrReplaceTempView("row_changes_source")

    table.delete("id % 6 = 1 or k = 'c'")
    table.delete("id = 3 or id = 4")
    java.sql(f"DELETE FROM {identifier(twin)} WHERE id % 6 = 1 or k = 'c' or id in (3, 4)")
    table.update({"v": "v + id", "k": "concat(k, 'x')"}, where="v > 300")
    java.sql(f"UPDATE {identifier(twin)} SET v = v + id, k = concat(k, 'x') WHERE v > 300")
    (
        table.merge(SOURCE, "t.id = s.id")
        .when_matched_delete("s.id = 33")
        .when_matched_update_all()
        .when_not_matched_insert_all("s.v is not null")
        .when_not_matched_by_source_update({"v": "v - 1"}, "id < 3")
        .execute()
    )
    java.sql(
        f"MERGE INTO {identifier(twin)} t USING row_changes_source s ON t.id = s.id "
        "WHEN MATCHED AND s.id = 33 THEN DELETE WHEN MATCHED THEN UPDATE SET * "
        "WHEN NOT MATCHED AND s.v is not null THEN INSERT * "
        "WHEN NOT MATCHED BY SOURCE AND id < 3 THEN UPDATE SET v = v - 1"
    )
    assert_all_agree(java, name, path)


NESTED = """
    (1, cast(null as struct<a: int, b: string, n: struct<x: int, y: string>>)),
    (2, named_struct('a', null, 'b', null, 'n', null)),
    (3, named_struct('a', 3, 'b', 'b3', 'n', null)),
    (4, named_struct('a', 4, 'b', 'b4', 'n', named_struct('x', 4, 'y', 'y4'))),
    (5, null), (6, null), (7, named_struct('a', 7, 'b', null, 'n', null)), (8, null)
"""


def test_fields_of_null_structs_are_set_as_java_sets_them(java: SparkSession) -> None:
    twin = "null_structs_twin"
    source = java.sql("SELECT * FROM VALUES (1, 'u'), (6, 'v') q(id, u)")
    source.createOrReplaceTempView("null_structs_source")
    rows = java.sql(f"SELECT * FROM VALUES {NESTED} t(id, s)")
    rows.writeTo(identifier(twin)).using("iceberg").createOrReplace()
    java.sql(f"UPDATE {identifier(twin)} SET s.a = 70 + id WHERE id < 3")
    java.sql(f"UPDATE {identifier(twin)} SET s.n.x = id, s.b = 'set' WHERE id in (3, 5)")
    java.sql(
        f"MERGE INTO {identifier(twin)} t USING null_structs_source q ON t.id = q.id "
        "WHEN MATCHED THEN UPDATE SET t.s.n.y = q.u, t.s.n.x = t.s.a "
        "WHEN NOT MATCHED BY SOURCE AND t.id > 6 THEN UPDATE SET t.s.n.x = t.s.a + 1"
    )
    expected = java.table(identifier(twin)).toArrow()
    for mode in ("copy-on-write", "merge-on-read"):
        path = location(java, f"null_structs_{mode}".replace("-", "_"))
        properties = {f"write.{verb}.mode": mode for verb in ("update", "merge")}
        table = ice.create_table(path, rows.schema, properties=properties)
        table.append(rows)
        table.update({"s.a": "70 + id"}, where="id < 3")
        table.update({"s.n.x": "id", "s.b": "'set'"}, where="id in (3, 5)")
        (
            table.merge(source, "t.id = s.id")
            .when_matched_update({"s.n.y": "s.u", "s.n.x": "t.s.a"})
            .when_not_matched_by_source_update({"s.n.x": "t.s.a + 1"}, "t.id > 6")
            .execute()
        )
        assert_same_rows(expected, read_both(java, path), what=mode)


def assert_all_agree(java: SparkSession, name: str, path: str) -> None:
    expected = java.table(identifier(f"{name}_twin")).toArrow()
    assert_same_rows(expected, read_both(java, path), what="ours")
    assert_same_rows(expected, read(java, path), what="Java")
    assert_same_rows(expected, duckdb_reader.read(path), what="DuckDB")
    assert_same_rows(expected, pyiceberg_tables.read(path), what="PyIceberg")

    java.sql(f"DELETE FROM {identifier(name)} WHERE id = 100")  # Java goes on, then we again
    assert ice.load_table(path).delete("id = 0").deleted == 1
    left = [each for each in expected["id"].to_pylist() if each not in (0, 100)]
    assert sorted(read(java, path)["id"].to_pylist()) == sorted(left)
