"""Tables of version 3 with deletion vectors: what Java wrote, read by both of our engines."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.compare import assert_same_rows
from tests.oracle.delete_tables import alter, append_range
from tests.oracle.java_api import delete_equal, identifier, load, location, read
from tests.oracle.java_tables import create


def by_java(java: SparkSession, name: str, file_format: str) -> str:
    """Deletes of version 2, an upgrade, vectors that take them in, keys, a compaction."""
    create(
        java, name, "id bigint, k string", "k", format__version="2",
        write_format_default=file_format, write_delete_granularity="partition",
    )  # fmt: skip
    append_range(java, name, 0, 60)
    append_range(java, name, 60, 120)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id IN (1, 2, 64)")
    alter(java, name, "SET TBLPROPERTIES ('format-version'='3')")
    append_range(java, name, 120, 180)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id % 10 = 0")
    delete_equal(java, name, "SELECT id FROM VALUES 7L, 70L, 171L AS v(id)", ["id"], file_format)
    append_range(java, name, 0, 12)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id % 4 = 1")
    java.sql(f"UPDATE {identifier(name)} SET k = 'a' WHERE id IN (3, 4, 6, 127)")
    return location(java, name)


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_what_java_wrote_is_read(java: SparkSession, file_format: str) -> None:
    path = by_java(java, f"vectors_{file_format}", file_format)
    table = ice.load_table(path)
    for snapshot in table.snapshots():
        number = snapshot.snapshot_id
        expected = read(java, path, versionAsOf=str(number))
        scan = table.scan(snapshot_id=number)
        assert_same_rows(expected, scan.to_arrow())
        assert_same_rows(expected, scan.to_df(java).toArrow())
        assert scan.count() == expected.num_rows
    columns = ("id", "_pos", "_deleted")
    marked = java.read.format("iceberg").load(path).select(*columns).toArrow()
    shown = table.scan(selected_fields=("id",), metadata_columns=("_pos", "_deleted"))
    assert_same_rows(marked, shown.to_arrow())
    assert_same_rows(marked, shown.to_df(java).toArrow())


def test_the_changes_are_the_difference_of_two_vectors(java: SparkSession) -> None:
    name = "vectors_changes"
    create(java, name, "id bigint, k string", "k", format__version="3")
    append_range(java, name, 0, 30)
    for condition in ("id % 7 = 0", "id % 5 = 0", "k = 'b'"):
        java.sql(f"DELETE FROM {identifier(name)} WHERE {condition}")
    table = ice.load_table(location(java, name))
    steps = {
        1: {n for n in range(30) if n % 7 == 0},
        2: {n for n in range(30) if n % 5 == 0 and n % 7},
        3: {n for n in range(30) if n % 3 == 1 and n % 5 and n % 7},
    }
    first = table.snapshots()[0].snapshot_id
    asked = table.scan().changes(first)
    for found in (asked.to_arrow(), asked.to_df(java).toArrow()):
        assert set(found["_change_type"].to_pylist()) == {"DELETE"}
        assert by_step(found) == steps


def by_step(changes: pa.Table) -> dict[int, set[int]]:
    """The ids that each snapshot after the first changed."""
    found: dict[int, set[int]] = {}
    for number, one in zip(
        changes["_change_ordinal"].to_pylist(), changes["id"].to_pylist(), strict=True
    ):
        found.setdefault(number + 1, set()).add(one)
    return found


def test_rows_are_counted_from_metadata_alone(java: SparkSession) -> None:
    name = "vectors_counted"
    create(java, name, "id bigint, k string", "k", format__version="3")
    append_range(java, name, 0, 30)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id % 5 = 0")
    table = ice.load_table(location(java, name))
    for file in table.inspect.files()["file_path"].to_pylist():
        load(java, name).io().deleteFile(file)
    assert table.scan().count() == 24
    assert table.scan().to_df(java).count() == 24
