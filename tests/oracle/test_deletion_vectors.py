"""Tables of version 3 with deletion vectors: what Java wrote, read by both of our engines."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle import duckdb_reader
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


class Turns:
    """A table that this library made, and the ids that its changes leave."""

    def __init__(self, java: SparkSession, file_format: str) -> None:
        self.java, self.name = java, f"vectors_turns_{file_format}"
        self.path, self.left = location(java, self.name), set(range(80))
        modes = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
        self.table = ice.create_table(
            self.path,
            "id bigint, k string",
            partition_by=["k"],
            properties=modes
            | {
                "format-version": "2",
                "write.format.default": file_format,
                "write.delete.granularity": "partition",
            },
        )
        for start in (0, 40):
            ids = list(range(start, start + 40))
            self.table.append(pa.table({"id": ids, "k": ["abc"[n % 3] for n in ids]}))

    def by_java(self, verb: str, rest: str) -> None:
        """Run a statement on the table."""
        self.java.sql(f"{verb} {identifier(self.name)} {rest}")

    def agree(self, *gone: int, new: tuple[int, ...] = ()) -> None:
        """All readers see what is left after rows are gone and others new."""
        self.left = self.left - set(gone) | set(new)
        self.table.refresh()
        theirs = read(self.java, self.path)
        assert set(theirs["id"].to_pylist()) == self.left
        assert_same_rows(theirs, self.table.scan().to_arrow())
        assert_same_rows(theirs, self.table.scan().to_df(self.java).toArrow())
        assert self.table.scan().count() == len(self.left)


@pytest.mark.parametrize("file_format", ["parquet", "orc", "avro"])
def test_java_and_this_library_change_a_table_by_turns(
    java: SparkSession, file_format: str
) -> None:
    """Position deletes of version 2, then vectors that each takes over from the other."""
    turns = Turns(java, file_format)
    table = turns.table
    turns.by_java("DELETE FROM", "WHERE id IN (0, 1, 41)")
    table.refresh().update_properties().set({"format-version": "3"}).commit()
    table.refresh().delete("id in (3, 4, 44)")
    turns.agree(0, 1, 41, 3, 4, 44)
    turns.by_java("DELETE FROM", "WHERE id IN (6, 42)")
    turns.agree(6, 42)
    table.delete("id % 20 = 9 AND length(k) = 1")
    turns.agree(9, 29, 49, 69)
    table.update({"id": "id + 1000"}, "id in (10, 11)")
    turns.agree(10, 11, new=(1010, 1011))
    source = java.sql("SELECT id, 'a' AS k FROM VALUES 12L, 13L, 2000L AS v(id)")
    table.merge(source, "t.id = s.id").when_matched_delete().when_not_matched_insert_all().execute()
    turns.agree(12, 13, new=(2000,))
    turns.by_java("UPDATE", "SET id = id + 1000 WHERE id IN (14, 54)")
    turns.agree(14, 54, new=(1014, 1054))
    table.upsert(pa.table({"id": [15, 2001], "k": ["a", "b"], "_op": ["D", "I"]}), ["id", "k"])
    turns.agree(15, new=(2001,))
    table.maintenance.convert_equality_deletes(spark=java)
    turns.agree()
    table.maintenance.rewrite_position_deletes(spark=java)
    turns.agree()
    assert set(table.inspect.delete_files()["file_format"].to_pylist()) == {"PUFFIN"}
    turns.by_java("DELETE FROM", "WHERE k = 'b' OR id = 18")
    turns.agree(18, 1010, 2001, *(n for n in range(80) if n % 3 == 1))
    if file_format == "parquet":
        assert set(duckdb_reader.read(turns.path)["id"].to_pylist()) == turns.left
