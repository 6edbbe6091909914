"""One REST catalog that Java, PyIceberg and the product change by turns."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import TableCatalog
from iceberg_spark.errors import (
    NoSuchTableError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from tests.servers.rest_server import RestServer

JAVAS = "org.apache.iceberg.spark.SparkCatalog"
Row = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """One namespace, by three libraries; `sql` runs Java's SQL with the namespace for DB."""

    db: str
    ours: TableCatalog
    theirs: RestCatalog
    sql: Callable[[str], list[Row]]

    def name(self, table: str) -> str:
        return f"{self.db}.{table}"


@pytest.fixture
def shared(rest: RestServer, java: SparkSession) -> Shared:
    db = f"d{uuid.uuid4().hex[:8]}"
    settings = {"": JAVAS, ".type": "rest", ".uri": rest.uri, ".cache-enabled": "false"}
    for key, value in settings.items():
        java.conf.set(f"spark.sql.catalog.shared_rest{key}", value)

    def sql(text: str) -> list[Row]:
        text = text.replace("CAT.", "shared_rest.").replace("DB", f"shared_rest.{db}")
        return [tuple(row) for row in java.sql(text).collect()]

    sql("CREATE NAMESPACE DB")
    ours = ice.load_catalog("shared_rest", type="rest", uri=rest.uri)
    return Shared(db, ours, RestCatalog("shared_rest", uri=rest.uri), sql)


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "s": [str(each) for each in ids]})


def ids(table: pa.Table) -> list[int]:
    return sorted(table["id"].to_pylist())


def test_each_changes_what_the_others_made(shared: Shared) -> None:
    name = shared.name("t")
    ours = shared.ours.create_table(name, "id bigint, s string", partition_by="bucket(2, id)")
    ours.append(rows(1, 2, 3))
    shared.sql("INSERT INTO DB.t VALUES (4, '4')")
    shared.theirs.load_table(name).append(rows(5))
    shared.ours.load_table(name).delete("id = 2")
    shared.sql("ALTER TABLE DB.t ADD COLUMN n int")
    ours.append(rows(6))  # its handle has seen none of that
    shared.sql("UPDATE DB.t SET n = 7 WHERE id = 3")
    shared.ours.load_table(name).update({"n": "8"}, where="id = 4")
    wanted = [(1, None), (3, 7), (4, 8), (5, None), (6, None)]
    assert sorted(shared.sql("SELECT id, n FROM DB.t")) == wanted
    newest = shared.ours.load_table(name)
    found = newest.scan().to_arrow().select(["id", "n"]).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == wanted
    assert ids(shared.theirs.load_table(name).scan().to_arrow()) == [1, 3, 4, 5, 6]
    snapshots = shared.sql("SELECT snapshot_id FROM DB.t.snapshots ORDER BY committed_at")
    assert [each for (each,) in snapshots] == [each.snapshot_id for each in newest.snapshots()]


def test_merges_overwrites_branches_and_evolution_by_turns(shared: Shared) -> None:
    name = shared.name("t")
    shared.sql("CREATE TABLE DB.t (id bigint, s string) USING iceberg")
    table = shared.ours.load_table(name)
    table.append(rows(1, 2, 3))
    shared.sql(
        "MERGE INTO DB.t t USING (SELECT 2L id, 'b' s UNION ALL SELECT 9L, 'z') n ON t.id = n.id "
        "WHEN MATCHED THEN UPDATE SET s = n.s WHEN NOT MATCHED THEN INSERT *"
    )
    merge = shared.ours.load_table(name).merge(rows(3, 4), "t.id = s.id")
    merge.when_matched_update({"s": "'c'"}).when_not_matched_insert_all().execute()
    shared.sql("INSERT OVERWRITE DB.t SELECT * FROM DB.t WHERE id < 9")
    table = shared.ours.load_table(name)
    head = table.current_snapshot()
    assert head is not None
    table.manage_snapshots().create_branch(head.snapshot_id, "side").commit()
    shared.sql("INSERT INTO DB.t.branch_side VALUES (20, 'j')")
    shared.ours.load_table(name).append(rows(21), branch="side")
    shared.ours.load_table(name).update_schema().rename_column("s", "text").commit()
    shared.ours.load_table(name).update_spec().add_field("bucket(2, id)").commit()
    shared.sql("INSERT INTO DB.t VALUES (30, 'p')")
    wanted = [(1, "1"), (2, "b"), (3, "c"), (4, "4"), (30, "p")]
    assert sorted(shared.sql("SELECT id, text FROM DB.t")) == wanted
    scan = shared.ours.load_table(name).scan().to_arrow().to_pylist()
    assert sorted(tuple(row.values()) for row in scan) == wanted
    side = shared.ours.load_table(name).scan(branch="side").to_arrow()
    assert ids(side) == sorted(
        row[0] for row in shared.sql("SELECT id FROM DB.t VERSION AS OF 'side'")
    )
    assert {20, 21} <= set(ids(side))


def test_a_table_of_each_is_loaded_by_the_others(shared: Shared) -> None:
    shared.sql("CREATE TABLE DB.java (id bigint, s string) USING iceberg")
    shared.theirs.create_table(shared.name("theirs"), rows(1).schema)
    shared.ours.create_table(shared.name("ours"), "id bigint, s string")
    names = ["java", "ours", "theirs"]
    assert sorted(shared.ours.list_tables(shared.db)) == [(shared.db, name) for name in names]
    assert sorted(row[1] for row in shared.sql("SHOW TABLES IN DB")) == names
    for number, name in enumerate(names):
        shared.ours.load_table(shared.name(name)).append(rows(number))
        assert shared.sql(f"SELECT id FROM DB.{name}") == [(number,)]
        assert ids(shared.theirs.load_table(shared.name(name)).scan().to_arrow()) == [number]


def test_namespaces_and_names_are_the_same_to_all(shared: Shared) -> None:
    deep = f"{shared.db}.deep"
    shared.ours.create_namespace(deep, {"owner": "us"})
    assert shared.sql("SHOW NAMESPACES IN DB") == [(deep,)]
    assert shared.ours.list_namespaces(shared.db) == [(shared.db, "deep")]
    assert shared.theirs.load_namespace_properties((shared.db, "deep"))["owner"] == "us"
    shared.sql("ALTER NAMESPACE DB.deep SET PROPERTIES ('team' = 'java')")
    shared.ours.update_namespace_properties(deep, ["owner"], {"a": "b"})
    found = shared.ours.load_namespace_properties(deep)
    assert found["team"] == "java" and found["a"] == "b" and "owner" not in found
    shared.ours.create_table(shared.name("t"), "id bigint, s string").append(rows(1))
    shared.ours.rename_table(shared.name("t"), f"{deep}.u")
    assert shared.sql("SELECT id FROM DB.deep.u") == [(1,)]
    shared.sql(f"ALTER TABLE DB.deep.u RENAME TO {shared.db}.v")
    place = shared.ours.load_table(shared.name("v")).metadata_location
    shared.ours.drop_table(shared.name("v"))
    shared.ours.register_table(shared.name("w"), place).append(rows(2))
    assert sorted(shared.sql("SELECT id FROM DB.w")) == [(1,), (2,)]
    shared.sql("DROP TABLE DB.w PURGE")
    assert shared.ours.list_tables(shared.db) == []
    shared.ours.drop_namespace(deep)
    assert shared.sql("SHOW NAMESPACES IN DB") == []


def test_frames_are_written_and_read_by_a_tables_name(shared: Shared, java: SparkSession) -> None:
    name = f"shared_rest.{shared.name('t')}"
    frame = java.createDataFrame([(1, "1"), (2, "2")], "id bigint, s string")
    shared.ours.create_table(shared.name("t"), "id bigint, s string").append(frame)
    assert ids(shared.ours.load_table(shared.name("t")).scan().to_df(java).toArrow()) == [1, 2]
    assert shared.sql("SELECT count(*) FROM DB.t") == [(2,)]
    assert ice.sql(java, f"SELECT count(*) FROM {name}").collect()[0][0] == 2
    assert ids(ice.load_table(name).scan().to_arrow()) == [1, 2]


def test_a_server_puts_a_view_where_each_asks(
    shared: Shared, java: SparkSession, tmp_path: Path
) -> None:
    for name, runs in (
        ("ours", lambda text: ice.sql(java, text.replace("DB", f"shared_rest.{shared.db}"))),
        ("javas", shared.sql),
    ):
        for place in ("one", "two"):
            runs(
                f"CREATE OR REPLACE VIEW DB.{name} TBLPROPERTIES "
                f"('location' = '{tmp_path}/{name}/{place}') AS SELECT 1 AS a"
            )
            view = shared.ours.load_view(shared.name(name))
            assert view.location() == f"{tmp_path}/{name}/{place}"
            assert len(list(tmp_path.glob(f"{name}/{place}/metadata/*.metadata.json"))) == 1
        runs(f"CREATE OR REPLACE VIEW DB.{name} AS SELECT 2 AS a")
        assert len(list(tmp_path.glob(f"{name}/two/metadata/*.metadata.json"))) == 2
        assert shared.sql(f"SELECT a FROM DB.{name}") == [(2,)]


def test_views_of_each_are_read_by_the_other(shared: Shared, java: SparkSession) -> None:
    shared.sql("CREATE TABLE DB.t (id bigint, s string, d date) USING iceberg")
    shared.sql("INSERT INTO DB.t VALUES (1, 'a', DATE'2026-01-01'), (2, 'b', NULL)")
    shared.sql(f"USE shared_rest.{shared.db}")
    try:
        shared.sql(
            "CREATE VIEW javas (number COMMENT 'its number', text) COMMENT 'two columns' "
            "TBLPROPERTIES ('owner' = 'java') AS WITH c AS (SELECT * FROM t) SELECT id, s FROM c"
        )
    finally:
        shared.sql("USE spark_catalog.default")
    ours = shared.ours.create_view(
        shared.name("ours"),
        "SELECT j.*, t.d FROM javas j JOIN t ON t.id = j.number WHERE t.id < 9;",
        columns={"n": "a number", "label": "", "day": ""},
        properties={"comment": "three columns"},
    )
    assert sorted(shared.ours.list_views(shared.db)) == [(shared.db, "javas"), (shared.db, "ours")]
    assert {row[1] for row in shared.sql("SHOW VIEWS IN DB")} >= {"javas", "ours"}
    for text in ("SELECT * FROM DB.javas WHERE number > 1", "SELECT day, label, n FROM DB.ours"):
        whole = text.replace("DB", f"shared_rest.{shared.db}")
        found = ice.sql(java, whole)
        wanted = java.sql(whole)
        assert sorted(map(tuple, found.collect()), key=str) == sorted(
            map(tuple, wanted.collect()), key=str
        )
        assert found.columns == wanted.columns
        comments = [
            [field.metadata.get("comment") for field in one.schema] for one in (found, wanted)
        ]
        assert comments[0] == comments[1] and any(comments[0])
    javas = shared.ours.load_view(shared.name("javas"))
    assert javas.properties["owner"] == "java"
    assert javas.properties.keys() - {"owner"} == ours.properties.keys()
    described = {row[0]: row[1] for row in shared.sql("DESCRIBE EXTENDED DB.ours")}
    assert described["label"] == "string" and described["Comment"] == "three columns", described


def test_each_replaces_and_drops_views_of_the_other(shared: Shared, java: SparkSession) -> None:
    shared.sql("CREATE VIEW DB.v AS SELECT 1 AS a")
    for sql in ("SELECT 2 AS a", "SELECT 'x' AS s", "SELECT 2 AS a"):
        shared.ours.create_view(shared.name("v"), sql, or_replace=True)
    assert shared.sql("SELECT a FROM DB.v") == [(2,)]
    shared.sql("CREATE OR REPLACE VIEW DB.v AS SELECT 3 AS a, 4 AS b")
    assert ice.sql(java, f"SELECT * FROM shared_rest.{shared.name('v')}").collect()[0][1] == 4
    view = shared.ours.load_view(shared.name("v"))
    assert [len(view.versions), len(view.history())] == [4, 5]
    shared.sql(f"ALTER VIEW DB.v RENAME TO shared_rest.{shared.name('w')}")
    assert not shared.ours.view_exists(shared.name("v"))
    shared.ours.rename_view(shared.name("w"), shared.name("v"))
    with pytest.raises(ViewAlreadyExistsError):
        shared.ours.create_view(shared.name("v"), "SELECT 1 AS a")
    shared.ours.create_table(shared.name("t"), "a int")
    with pytest.raises(ViewAlreadyExistsError):
        shared.ours.create_view(shared.name("t"), "SELECT 1 AS a", or_replace=True)
    with pytest.raises(ViewAlreadyExistsError):
        shared.ours.rename_view(shared.name("v"), shared.name("t"))
    with pytest.raises(TableAlreadyExistsError):
        shared.ours.create_table(shared.name("v"), "a int")
    shared.ours.drop_view(shared.name("v"))
    assert [row for row in shared.sql("SHOW VIEWS IN DB") if not row[2]] == []
    with pytest.raises(NoSuchViewError):
        shared.ours.drop_view(shared.name("v"))
    with pytest.raises(NoSuchTableError):
        ice.sql(java, f"SELECT * FROM shared_rest.{shared.name('v')}")
