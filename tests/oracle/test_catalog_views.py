"""Views of one catalog, in a database and in a Hive metastore, that Java and the product change."""

import re
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import TableCatalog, View
from iceberg_spark.catalog.hive.metastore import Metastore
from iceberg_spark.errors import (
    NoSuchTableError,
    NoSuchViewError,
    TableAlreadyExistsError,
    ViewAlreadyExistsError,
)
from tests.oracle.test_statements import refused
from tests.servers.hive_metastore import LOCK_TIMES

JAVAS = "org.apache.iceberg.spark.SparkCatalog"


@dataclass(frozen=True, slots=True)
class Shared:
    """One catalog by both; texts have CAT for its name and DB for its namespace."""

    name: str
    db: str
    uri: str
    ours: TableCatalog
    java: SparkSession

    def whole(self, text: str) -> str:
        return text.replace("CAT", self.name).replace("DB", self.db)

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Return rows by Java."""
        return [tuple(row) for row in self.java.sql(self.whole(text)).collect()]

    def read(self, text: str) -> list[tuple[object, ...]]:
        """Return rows by the product."""
        return [tuple(row) for row in ice.sql(self.java, self.whole(text)).collect()]

    def create(self, view: str, text: str, **more: Any) -> View:
        return self.ours.create_view(f"{self.db}.{view}", text, spark=self.java, **more)


@pytest.fixture(params=["sqlite", "postgres", "hive"])
def shared(request: pytest.FixtureRequest, java: SparkSession, tmp_path: Path) -> Shared:
    name, db = f"c{uuid.uuid4().hex[:8]}", f"d{uuid.uuid4().hex[:8]}"
    settings = {"": JAVAS, ".warehouse": f"{tmp_path}/wh", ".cache-enabled": "false"}
    given: dict[str, str] = {"warehouse": f"{tmp_path}/wh"}
    if request.param == "hive":
        hive = request.getfixturevalue("hive")
        given |= {"type": "hive", **hive.properties(tmp_path / "wh")}
        settings |= {".type": "hive", ".uri": hive.uri}
        settings |= {f".hadoop.{key}": value for key, value in LOCK_TIMES.items()}
    else:
        uri, jdbc, user = f"sqlite:///{tmp_path}/c.db", f"jdbc:sqlite:{tmp_path}/c.db", ""
        if request.param == "postgres":
            server = request.getfixturevalue("postgres")
            uri, jdbc, user = server.uri, server.jdbc, server.user
        given |= {"type": "sql", "uri": uri}
        settings |= {".type": "jdbc", ".uri": jdbc, ".jdbc.user": user}
        settings |= {".jdbc.schema-version": "V1"}
    for key, value in settings.items():
        java.conf.set(f"spark.sql.catalog.{name}{key}", value)
    ours = ice.load_catalog(name, **given)
    ours.create_namespace(db)
    return Shared(name, db, given["uri"], ours, java)


def test_views_of_each_are_read_by_the_other(shared: Shared) -> None:
    shared.sql("CREATE TABLE CAT.DB.t (id bigint, s string, d date) USING iceberg")
    shared.sql("INSERT INTO CAT.DB.t VALUES (1, 'a', DATE'2026-01-01'), (2, 'b', NULL)")
    shared.sql("USE CAT.DB")
    try:
        shared.sql(
            "CREATE VIEW javas (number COMMENT 'its number', text) COMMENT 'two columns' "
            "TBLPROPERTIES ('k' = 'java') AS WITH c AS (SELECT * FROM t) SELECT id, s FROM c"
        )
    finally:
        shared.sql("USE spark_catalog.default")
    ours = shared.create(
        "ours",
        "SELECT j.*, t.d FROM javas j JOIN t ON t.id = j.number WHERE t.id < 9;",
        columns={"n": "a number", "label": "", "day": ""},
        properties={"comment": "three columns"},
    )
    assert sorted(shared.ours.list_views(shared.db)) == [(shared.db, "javas"), (shared.db, "ours")]
    assert {row[1] for row in shared.sql("SHOW VIEWS IN CAT.DB")} >= {"javas", "ours"}
    assert [row[1] for row in shared.sql("SHOW TABLES IN CAT.DB") if row[1] != "t"] == []
    for text in (
        "SELECT * FROM CAT.DB.javas WHERE number > 1",
        "SELECT day, label, n FROM CAT.DB.ours ORDER BY n",
    ):
        assert shared.read(text) == shared.sql(text) != []
    shared.sql("ALTER TABLE CAT.DB.t CREATE BRANCH b")
    shared.read("INSERT INTO CAT.DB.t.branch_b VALUES (3, 'c', NULL)")
    for text in ("CAT.DB.t.snapshots", "CAT.DB.t.branch_b"):  # Hive's names have two parts
        asked = f"SELECT count(*) FROM {text}"
        assert shared.read(asked) == shared.sql(asked) != []
    javas = shared.ours.load_view(f"{shared.db}.javas")
    assert javas.properties.keys() - {"k"} == ours.properties.keys()
    described = {row[0]: row[1] for row in shared.sql("DESCRIBE EXTENDED CAT.DB.ours")}
    assert described["label"] == "string" and described["Comment"] == "three columns", described


def test_each_replaces_and_drops_views_of_the_other(shared: Shared) -> None:
    shared.sql("CREATE VIEW CAT.DB.v AS SELECT 1 AS a")
    for text in ("SELECT 2 AS a", "SELECT 'x' AS s", "SELECT 2 AS a"):
        shared.create("v", text, or_replace=True)
    assert shared.sql("SELECT a FROM CAT.DB.v") == [(2,)]
    shared.sql("CREATE OR REPLACE VIEW CAT.DB.v AS SELECT 3 AS a, 4 AS b")
    assert shared.read("SELECT * FROM CAT.DB.v") == [(3, 4)]
    view = shared.ours.load_view(f"{shared.db}.v")
    assert [len(view.versions), len(view.history())] == [4, 5]
    shared.read("ALTER VIEW CAT.DB.v SET TBLPROPERTIES ('ours' = '1', 'gone' = '2')")
    shared.sql("ALTER VIEW CAT.DB.v SET TBLPROPERTIES ('javas' = '3')")
    shared.sql("ALTER VIEW CAT.DB.v UNSET TBLPROPERTIES ('gone')")
    shown = dict(shared.read("SHOW TBLPROPERTIES CAT.DB.v"))
    assert shown == dict(shared.sql("SHOW TBLPROPERTIES CAT.DB.v"))
    assert shown.items() >= {"ours": "1", "javas": "3", "provider": "iceberg"}.items()
    details = [
        {row[:2] for row in show("DESCRIBE EXTENDED CAT.DB.v") if row[0] == "View Properties"}
        for show in (shared.read, shared.sql)
    ]
    assert details[0] == details[1] and details[0]
    shared.sql(f"ALTER VIEW CAT.DB.v RENAME TO CAT.{shared.db}.w")
    assert not shared.ours.view_exists(f"{shared.db}.v")
    shared.ours.rename_view(f"{shared.db}.w", f"{shared.db}.v")
    assert shared.sql("SELECT * FROM CAT.DB.v") == [(3, 4)]
    shared.ours.drop_view(f"{shared.db}.v")
    assert [row for row in shared.sql("SHOW VIEWS IN CAT.DB") if not row[2]] == []
    shared.create("w", "SELECT 1 AS a")
    shared.sql("DROP VIEW CAT.DB.w")
    with pytest.raises(NoSuchViewError):
        shared.ours.drop_view(f"{shared.db}.w")
    with pytest.raises(NoSuchTableError):
        shared.read("SELECT * FROM CAT.DB.w")


def test_a_view_lies_where_its_statement_says_by_both(shared: Shared, tmp_path: Path) -> None:
    steps = [
        "CREATE VIEW {v} TBLPROPERTIES ('location' = '{at}/one/') AS SELECT 1 AS a",
        "CREATE OR REPLACE VIEW {v} AS SELECT 2 AS a",
        "CREATE OR REPLACE VIEW {v} TBLPROPERTIES ('location' = '{at}/two') AS SELECT 2 AS a",
        "ALTER VIEW {v} SET TBLPROPERTIES ('write.metadata.path' = '{at}/elsewhere', 'k' = 'v')",
        "CREATE OR REPLACE VIEW {v} TBLPROPERTIES ('location' = '{at}/one') AS SELECT 3 AS a",
    ]
    for step in steps:
        found = []
        for name, runs in (("ours", shared.read), ("javas", shared.sql)):
            runs(step.format(v=f"CAT.DB.{name}", at=tmp_path / name))
            sides = (shared.read, shared.sql)
            shown = [dict(show(f"SHOW TBLPROPERTIES CAT.DB.{name}")) for show in sides]
            assert shown[0] == shown[1], step
            rows = [show(f"SELECT * FROM CAT.DB.{name}") for show in sides]
            assert rows[0] == rows[1], step
            found.append((neutral(shown[0], name), lies(tmp_path / name), rows[0]))
        assert found[0] == found[1], step
    for text in (
        "ALTER VIEW CAT.DB.ours SET TBLPROPERTIES ('location' = '/x')",
        "ALTER VIEW CAT.DB.ours UNSET TBLPROPERTIES ('location')",
        "ALTER VIEW CAT.DB.ours SET TBLPROPERTIES ('format-version' = '1')",
        "CREATE VIEW CAT.DB.no TBLPROPERTIES ('provider' = 'x') AS SELECT 1 AS a",
    ):
        assert refused(shared.sql, text) and refused(shared.read, text), text
    for turn, name in enumerate(("ours", "javas")):  # each drops the other's
        (shared.sql, shared.read)[turn](f"DROP VIEW CAT.DB.{name}")
        kept = len(lies(tmp_path / name))
        assert kept == (4, 3)[turn], name  # Java deletes the newest file, ours the folder's


def neutral(shown: dict[object, object], name: str) -> dict[object, str]:
    """What is shown without the side's name; Java keeps a slash at a location's end."""
    return {key: str(value).replace(f"/{name}/", "/N/").rstrip("/") for key, value in shown.items()}


def lies(folder: Path) -> list[str]:
    """Where files of a view are, without what is drawn."""
    return sorted(
        f"{path.parent.relative_to(folder)}/{path.name.partition('-')[0]}"
        for path in folder.glob("**/*.metadata.json")
    )


def test_a_name_is_a_tables_or_a_views_to_both(shared: Shared) -> None:
    shared.sql("CREATE VIEW CAT.DB.v AS SELECT 1 AS a")
    shared.sql("CREATE TABLE CAT.DB.t (a int) USING iceberg")
    with pytest.raises(ViewAlreadyExistsError):
        shared.create("v", "SELECT 2 AS a")
    for replaces in (False, True):
        with pytest.raises(ViewAlreadyExistsError):
            shared.create("t", "SELECT 2 AS a", or_replace=replaces)
    with pytest.raises(ViewAlreadyExistsError):
        shared.ours.rename_view(f"{shared.db}.v", f"{shared.db}.t")
    with pytest.raises(TableAlreadyExistsError):
        shared.ours.create_table(f"{shared.db}.v", "a int")
    shared.create("w", "SELECT 3 AS a")
    with pytest.raises(Exception, match=r"(?i)already exists"):
        shared.sql("CREATE TABLE CAT.DB.w (a int) USING iceberg")
    assert shared.sql("SELECT * FROM CAT.DB.w") == [(3,)]


def of_one_view(parameters: dict[str, str]) -> dict[str, str]:
    """What is the same whoever made the view; Java 1.12 counts columns from 0, we from 1."""
    parameters = {
        **parameters,
        "current-schema": re.sub('"id":[0-9]+', "", parameters["current-schema"]),
    }
    told = {"metadata_location", "previous_metadata_location", "uuid", "transient_lastDdlTime"}
    versions = {"create_engine_version", "engine_version"}
    assert parameters.keys() >= told
    return {key: value for key, value in parameters.items() if key not in told | versions}


@pytest.mark.parametrize("shared", ["hive"], indirect=True)
def test_hive_is_shown_the_same_by_both(shared: Shared) -> None:
    query = "SELECT 1L AS id, 'x' AS s, current_date() AS d"
    shared.sql(f"CREATE VIEW CAT.DB.java TBLPROPERTIES ('a' = '1') AS {query}")
    shared.create("ours", query, properties={"a": "1"})
    shared.sql("ALTER VIEW CAT.DB.java SET TBLPROPERTIES ('b' = '2')")
    shared.read("ALTER VIEW CAT.DB.ours SET TBLPROPERTIES ('b' = '2')")
    shared.sql("ALTER VIEW CAT.DB.java UNSET TBLPROPERTIES ('a')")
    shared.read("ALTER VIEW CAT.DB.ours UNSET TBLPROPERTIES ('a')")
    with Metastore({"uri": shared.uri}).session() as session:
        javas, ours = (session.read("get_table", shared.db, name) for name in ("java", "ours"))
    assert of_one_view(ours.parameters) == of_one_view(javas.parameters)
    for each in (javas, ours):
        each.parameters, each.sd.location, each.tableName = {}, "", ""
        each.createTime = each.lastAccessTime = 0
    for name, said in vars(javas).items():
        assert getattr(ours, name) == said, name
