"""One catalog in a database that Java, PyIceberg and the product change by turns."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import TableCatalog

JAVAS = "org.apache.iceberg.spark.SparkCatalog"


@dataclass(frozen=True, slots=True)
class Shared:
    """One catalog, by three libraries; `sql` runs Java's SQL with the catalog's name for CAT."""

    name: str
    ours: TableCatalog
    theirs: SqlCatalog
    sql: Callable[[str], list[tuple[object, ...]]]


@pytest.fixture(params=["V0", "V1", "postgres"])
def shared(request: pytest.FixtureRequest, java: SparkSession, tmp_path: Path) -> Iterator[Shared]:
    """Java makes the database's tables, with and without types."""
    name = f"c{uuid.uuid4().hex[:8]}"
    uri, warehouse = f"sqlite:///{tmp_path}/c.db", f"{tmp_path}/wh"
    jdbc, version, user = f"jdbc:sqlite:{tmp_path}/c.db", request.param, ""
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
        uri, jdbc, version, user = server.uri, server.jdbc, "V1", server.user
    settings = {
        "": JAVAS,
        ".type": "jdbc",
        ".uri": jdbc,
        ".warehouse": warehouse,
        ".jdbc.schema-version": version,
        ".jdbc.user": user,
        ".cache-enabled": "false",
    }
    for key, value in settings.items():
        java.conf.set(f"spark.sql.catalog.{name}{key}", value)

    def sql(text: str) -> list[tuple[object, ...]]:
        return [tuple(row) for row in java.sql(text.replace("CAT", name)).collect()]

    sql("CREATE NAMESPACE CAT.db")
    ours = ice.load_catalog(name, type="sql", uri=uri, warehouse=warehouse)
    theirs = SqlCatalog(name, uri=uri, warehouse=warehouse, init_catalog_tables="false")
    yield Shared(name, ours, theirs, sql)
    theirs.close()


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [str(each) for each in ids]})


def ids(table: pa.Table) -> list[int]:
    return sorted(table["id"].to_pylist())


def test_each_changes_what_the_others_made(shared: Shared) -> None:
    ours = shared.ours.create_table("db.t", "id bigint, s string", partition_by="bucket(2, id)")
    ours.append(rows(1, 2, 3))
    shared.sql("INSERT INTO CAT.db.t VALUES (4, '4')")
    shared.theirs.load_table("db.t").append(rows(5))
    shared.ours.load_table("db.t").delete("id = 2")
    shared.sql("ALTER TABLE CAT.db.t ADD COLUMN n int")
    shared.ours.load_table("db.t").append(rows(6))
    wanted = [1, 3, 4, 5, 6]
    assert sorted(each for (each,) in shared.sql("SELECT id FROM CAT.db.t")) == wanted
    assert ids(shared.theirs.load_table("db.t").scan().to_arrow()) == wanted
    newest = shared.ours.load_table("db.t")
    assert ids(newest.scan().to_arrow()) == wanted
    log = [entry.metadata_file for entry in newest.metadata.metadata_log]
    assert len(log) == len({*log, newest.metadata_location}) - 1 == 6


def test_a_table_of_each_is_loaded_by_the_others(shared: Shared) -> None:
    shared.sql("CREATE TABLE CAT.db.java (id bigint, s string) USING iceberg")
    shared.theirs.create_table("db.theirs", rows(1).schema)
    shared.ours.create_table("db.ours", "id bigint, s string")
    names = ["java", "ours", "theirs"]
    assert shared.ours.list_tables("db") == [("db", name) for name in names]
    assert sorted(shared.theirs.list_tables("db")) == [("db", name) for name in names]
    assert sorted(row[1] for row in shared.sql("SHOW TABLES IN CAT.db")) == names
    for number, name in enumerate(names):
        shared.ours.load_table(f"db.{name}").append(rows(number))
        assert shared.sql(f"SELECT id FROM CAT.db.{name}") == [(number,)]
        assert ids(shared.theirs.load_table(f"db.{name}").scan().to_arrow()) == [number]


def test_namespaces_and_names_are_the_same_to_all(shared: Shared) -> None:
    shared.ours.create_namespace("db.deep", {"owner": "us"})
    shared.theirs.create_namespace("other")
    assert sorted(shared.sql("SHOW NAMESPACES IN CAT")) == [("db",), ("other",)]
    assert shared.sql("SHOW NAMESPACES IN CAT.db") == [("db.deep",)]
    assert shared.ours.list_namespaces() == [("db",), ("other",)]
    assert shared.theirs.load_namespace_properties("db.deep")["owner"] == "us"
    shared.sql("ALTER NAMESPACE CAT.other SET PROPERTIES ('team' = 'java')")
    assert shared.ours.load_namespace_properties("other")["team"] == "java"
    shared.ours.create_table("db.t", "id bigint, s string").append(rows(1))
    shared.ours.rename_table("db.t", "other.u")
    assert shared.sql("SELECT id FROM CAT.other.u") == [(1,)]
    shared.sql("ALTER TABLE CAT.other.u RENAME TO db.v")
    assert ids(shared.ours.load_table("db.v").scan().to_arrow()) == [1]
    shared.theirs.rename_table("db.v", "db.w")
    shared.ours.drop_table("db.w")
    assert shared.sql("SHOW TABLES IN CAT.db") == []
    shared.ours.drop_namespace("other")
    assert shared.sql("SHOW NAMESPACES IN CAT") == [("db",)]


def test_frames_are_written_and_read_by_a_tables_name(shared: Shared, java: SparkSession) -> None:
    made = shared.ours.create_table("db.t", "id bigint, s string")
    made.append(java.createDataFrame([(1, "1"), (2, "2")], "id bigint, s string"))
    assert ids(shared.ours.load_table("db.t").scan().to_df(java).toArrow()) == [1, 2]
    assert shared.sql("SELECT count(*) FROM CAT.db.t") == [(2,)]


def test_a_table_registered_again_goes_on(shared: Shared) -> None:
    shared.ours.create_table("db.t", "id bigint, s string").append(rows(1))
    place = shared.ours.load_table("db.t").metadata_location
    shared.ours.drop_table("db.t")
    shared.ours.register_table("db.again", place).append(rows(2))
    assert sorted(shared.sql("SELECT id FROM CAT.db.again")) == [(1,), (2,)]
