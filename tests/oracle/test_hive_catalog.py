"""One Hive metastore in which Java and the product change tables by turns, and at once."""

import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import TableCatalog
from iceberg_spark.catalog.hive.metastore import Metastore
from iceberg_spark.errors import CommitFailedException
from tests.servers.hive_metastore import LOCK_TIMES, HiveMetastore

JAVAS = "org.apache.iceberg.spark.SparkCatalog"
OF_ONE_COMMIT = {
    "metadata_location",
    "previous_metadata_location",
    "current-snapshot-id",
    "current-snapshot-timestamp-ms",
    "current-snapshot-summary",
    "uuid",
    "transient_lastDdlTime",
    "totalSize",
}
"""What a table's parameters in Hive say of one commit; all others are the same by whoever."""


@dataclass(frozen=True, slots=True)
class Shared:
    """One catalog by both; `sql` runs Java's SQL with its name for CAT, the database's for DB."""

    db: str
    uri: str
    ours: TableCatalog
    sql: Callable[[str], list[tuple[object, ...]]]

    def in_hive(self, name: str) -> Any:
        """Hive's own table."""
        with Metastore({"uri": self.uri}).session() as session:
            return session.read("get_table", self.db, name)


@pytest.fixture
def shared(java: SparkSession, hive: HiveMetastore, tmp_path: Path) -> Shared:
    name, db = f"c{uuid.uuid4().hex[:8]}", f"d{uuid.uuid4().hex[:8]}"
    settings = {
        "": JAVAS,
        ".type": "hive",
        ".uri": hive.uri,
        ".warehouse": f"{tmp_path}/wh",
        ".cache-enabled": "false",
        **{f".hadoop.{key}": value for key, value in LOCK_TIMES.items()},
    }
    for key, value in settings.items():
        java.conf.set(f"spark.sql.catalog.{name}{key}", value)

    def sql(text: str) -> list[tuple[object, ...]]:
        return [
            tuple(row) for row in java.sql(text.replace("CAT", name).replace("DB", db)).collect()
        ]

    ours = ice.load_catalog(name, **hive.properties(tmp_path / "wh"))
    ours.create_namespace(db)
    return Shared(db, hive.uri, ours, sql)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [str(each) for each in ids]})


def ids(table: pa.Table) -> list[int]:
    return sorted(table["id"].to_pylist())


def test_each_changes_what_the_other_made(shared: Shared) -> None:
    name = f"{shared.db}.t"
    made = shared.ours.create_table(name, "id bigint, s string", partition_by="bucket(2, id)")
    made.append(rows(1, 2, 3))
    shared.sql("INSERT INTO CAT.DB.t VALUES (4, '4')")
    shared.ours.load_table(name).delete("id = 2")
    shared.sql("DELETE FROM CAT.DB.t WHERE id = 3")
    shared.sql("ALTER TABLE CAT.DB.t ADD COLUMN n int")
    shared.ours.load_table(name).update_schema().rename_column("s", "text").commit()
    shared.ours.load_table(name).overwrite(
        pa.table({"id": [4], "text": ["new"], "n": pa.array([7], pa.int32())}), "id = 4"
    )
    shared.sql("INSERT INTO CAT.DB.t VALUES (5, '5', 8)")
    wanted = [(1, "1", None), (4, "new", 7), (5, "5", 8)]
    assert shared.sql("SELECT id, text, n FROM CAT.DB.t ORDER BY id") == wanted
    newest = shared.ours.load_table(name)
    read = newest.scan().to_arrow().sort_by("id")
    assert list(zip(*read.to_pydict().values(), strict=True)) == wanted
    javas = shared.sql("SELECT snapshot_id FROM CAT.DB.t.snapshots ORDER BY committed_at")
    assert [(each.snapshot_id,) for each in newest.snapshots()] == javas
    log = [entry.metadata_file for entry in newest.metadata.metadata_log]
    assert len(log) == len({*log, newest.metadata_location}) - 1 == 8


def test_hive_is_shown_the_same_by_both(shared: Shared) -> None:
    columns = (
        "id bigint NOT NULL COMMENT 'key', s string, ts timestamp, b binary, d decimal(9, 2), "
    )
    columns += "n struct<a: int, l: array<date>>, m map<string, double>"
    shared.sql(
        f"CREATE TABLE CAT.DB.java ({columns}) USING iceberg PARTITIONED BY (days(ts)) "
        "TBLPROPERTIES ('a' = '1', 'gc.enabled' = 'true')"
    )
    shared.ours.create_table(
        f"{shared.db}.ours",
        columns,
        partition_by="days(ts)",
        properties={"a": "1", "gc.enabled": "true"},
    )
    one = {"id": [1], "s": ["x"]}
    shared.sql("INSERT INTO CAT.DB.java (id, s) VALUES (1, 'x')")
    not_null = pa.schema([pa.field("id", pa.int64(), nullable=False), ("s", pa.string())])
    shared.ours.load_table(f"{shared.db}.ours").append(pa.table(one, not_null))
    for name in ("java", "ours"):
        shared.sql(f"ALTER TABLE CAT.DB.{name} WRITE ORDERED BY id DESC")
        shared.ours.load_table(f"{shared.db}.{name}").update_properties().set({"b": "2"}).commit()
        shared.sql(f"ALTER TABLE CAT.DB.{name} SET TBLPROPERTIES ('c' = '3')")
    javas, ours = shared.in_hive("java"), shared.in_hive("ours")
    assert ours.sd.cols == javas.sd.cols
    assert (ours.tableType, ours.partitionKeys) == (javas.tableType, javas.partitionKeys)
    assert (ours.owner, ours.retention) == (javas.owner, javas.retention)
    ours.sd.location = javas.sd.location
    assert ours.sd == javas.sd
    shared.ours.load_table(f"{shared.db}.ours").update_properties().set({"c": "4"}).commit()
    shared.sql("ALTER TABLE CAT.DB.java SET TBLPROPERTIES ('c' = '4')")
    assert parameters(shared, "ours") == parameters(shared, "java")


def parameters(shared: Shared, name: str) -> dict[str, str]:
    found = shared.in_hive(name).parameters
    assert found.keys() >= OF_ONE_COMMIT
    defaults = set(shared.ours.load_table(f"{shared.db}.{name}").metadata.properties)
    asked = {"a", "b", "c", "gc.enabled"}
    return {
        key: value
        for key, value in found.items()
        if key not in OF_ONE_COMMIT and (key not in defaults or key in asked)
    }


def test_namespaces_and_names_are_the_same_to_both(shared: Shared) -> None:
    shared.sql("ALTER NAMESPACE CAT.DB SET PROPERTIES ('team' = 'java')")
    assert shared.ours.load_namespace_properties(shared.db)["team"] == "java"
    other = f"{shared.db}o"
    shared.ours.create_namespace(other, {"comment": "ours", "a": "1"})
    assert (other,) in shared.sql("SHOW NAMESPACES IN CAT")
    described = dict(shared.sql(f"DESCRIBE NAMESPACE EXTENDED CAT.{other}"))
    assert described["Comment"] == "ours" and "(a,1)" in str(described["Properties"])
    shared.ours.create_table(f"{shared.db}.t", "id bigint, s string").append(rows(1))
    shared.ours.rename_table(f"{shared.db}.t", f"{other}.u")
    assert shared.sql(f"SELECT id FROM CAT.{other}.u") == [(1,)]
    shared.sql(f"ALTER TABLE CAT.{other}.u RENAME TO {other}.v")
    assert ids(shared.ours.load_table(f"{other}.v").scan().to_arrow()) == [1]
    assert shared.ours.list_tables(other) == [(other, "v")]
    shared.sql(f"DROP TABLE CAT.{other}.v")
    shared.ours.drop_namespace(other)
    assert (other,) not in shared.sql("SHOW NAMESPACES IN CAT")


def test_writers_of_both_at_once_lose_nothing(shared: Shared) -> None:
    """Java's locks and ours are the same: three threads of ours beside Java."""
    name = f"{shared.db}.t"
    retries = {"commit.retry.num-retries": "50", "commit.retry.min-wait-ms": "10"}
    shared.ours.create_table(name, "id bigint, s string", properties=retries)
    failed: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for each in range(3):
                shared.ours.load_table(name).append(rows(100 * number + each))
        except CommitFailedException as error:
            failed.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(1, 4)]
    for thread in threads:
        thread.start()
    for number in range(4):
        shared.sql(f"INSERT INTO CAT.DB.t VALUES ({number}, 'java')")
    for thread in threads:
        thread.join()
    assert failed == []
    wanted = sorted(
        [*range(4), *(100 * number + each for number in (1, 2, 3) for each in range(3))]
    )
    newest = shared.ours.load_table(name)
    assert ids(newest.scan().to_arrow()) == sorted(wanted)
    assert len(newest.snapshots()) == 13
