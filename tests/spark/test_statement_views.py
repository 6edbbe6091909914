"""Statements about views, of a catalog in a database."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.catalog.catalog import Views
from iceberg_spark.catalog.registry import load_catalog
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchViewError,
    UnsupportedError,
    ViewAlreadyExistsError,
)
from iceberg_spark.spec.view import ViewMetadata


@pytest.fixture
def views(sql_home: Path) -> Views:
    found = load_catalog("st").views
    assert found is not None
    return found


def kept(views: Views) -> dict[str, ViewMetadata]:
    return {name[-1]: views.load(".".join(name)) for name in views.list_views(("d",))}


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def lasting(spark: Any, text: str) -> list[tuple[Any, ...]]:
    """Return the views that SHOW VIEWS lists, without those of the session."""
    return [row for row in rows(ice.sql(spark, text)) if not row[2]]


def test_a_views_life_in_statements(spark: Any, views: Views) -> None:
    def run(text: str) -> list[tuple[Any, ...]]:
        return rows(ice.sql(spark, text))

    run("CREATE TABLE st.d.t (id int, `a b` string)")
    run("INSERT INTO st.d.t VALUES (1, 'x'), (2, NULL)")
    run(
        """CREATE VIEW st.d.v (n COMMENT 'the ''id''', `b c`) COMMENT 'some; -- text'
           TBLPROPERTIES ('k' = 'v1', 'gone' = '') AS SELECT id + 1, `a b` FROM t -- of d"""
    )
    assert run("SELECT * FROM st.d.v ORDER BY n") == [(2, "x"), (3, None)]
    assert run("DESCRIBE st.d.v") == [("n", "int", "the 'id'"), ("b c", "string", "")]
    extended = dict(row[:2] for row in run("DESCRIBE EXTENDED st.d.v"))
    assert extended["Comment"] == "some; -- text"
    assert extended["View Catalog and Namespace"] == "st.d"
    assert run("SHOW COLUMNS IN st.d.v") == [("n",), ("b c",)]
    run("ALTER VIEW st.d.v SET TBLPROPERTIES ('k' = 'v2')")
    run("ALTER VIEW st.d.v UNSET TBLPROPERTIES ('gone')")
    run("ALTER VIEW st.d.v UNSET TBLPROPERTIES IF EXISTS ('gone')")
    lies = views.load("d.v").location
    assert run("SHOW TBLPROPERTIES st.d.v") == [
        ("format-version", "1"), ("k", "v2"), ("location", lies), ("provider", "iceberg")
    ]  # fmt: skip
    shown = run("SHOW CREATE TABLE st.d.v")[0][0]
    run("ALTER VIEW st.d.v RENAME TO d.w")
    assert lasting(spark, "SHOW VIEWS IN st.d") == [("d", "w", False)]
    assert lasting(spark, "SHOW VIEWS IN st") == []  # those of the root namespace, as in Java
    assert lasting(spark, "SHOW VIEWS FROM st LIKE 'v*'") == []
    run(shown)
    assert run("SELECT * FROM st.d.v") == run("SELECT * FROM st.d.w")
    assert run("SHOW CREATE TABLE st.d.v")[0][0] == shown
    run("CREATE OR REPLACE VIEW st.d.v AS SELECT max(id) AS top FROM st.d.t")
    run("CREATE VIEW IF NOT EXISTS st.d.v AS SELECT 1 AS other")
    assert run("SELECT * FROM st.d.v") == [(2,)]
    assert len(views.load("d.v").versions) == 2
    assert lasting(spark, "SHOW VIEWS IN st.d LIKE 'v*'") == [("d", "v", False)]
    run("USE st.d")
    run("CREATE TEMP VIEW renamed (one COMMENT 'x') AS SELECT top FROM v")
    assert run("SELECT one FROM renamed") == [(2,)]
    run("DROP VIEW renamed")
    run("USE spark_catalog.default")
    run("DROP VIEW st.d.w")
    run("DROP VIEW IF EXISTS st.d.w")
    run("DROP NAMESPACE st.d CASCADE")
    assert not views.exists("d.v")
    with pytest.raises(NoSuchNamespaceError):
        run("SHOW TABLES IN st.d")


def test_a_view_is_stored_at_the_location_of_its_statement(
    spark: Any, views: Views, tmp_path: Path
) -> None:
    def run(text: str) -> list[tuple[Any, ...]]:
        return rows(ice.sql(spark, text))

    run(f"CREATE VIEW st.d.v TBLPROPERTIES ('location' = '{tmp_path}/v/') AS SELECT 1 AS id")
    assert views.load("d.v").location == f"{tmp_path}/v"
    assert "location" not in views.load("d.v").properties
    assert run("SHOW TBLPROPERTIES st.d.v ('location')") == [("location", f"{tmp_path}/v")]
    run("CREATE OR REPLACE VIEW st.d.v AS SELECT 2 AS id")
    assert views.load("d.v").location == f"{tmp_path}/v" and run("TABLE st.d.v") == [(2,)]
    run(
        f"""CREATE OR REPLACE VIEW st.d.v TBLPROPERTIES
            ('location' = '{tmp_path}/w', 'write.metadata.path' = '{tmp_path}/else') AS
            SELECT 2 AS id"""
    )
    assert views.load("d.v").location == f"{tmp_path}/w" and run("TABLE st.d.v") == [(2,)]
    assert len(list(tmp_path.glob("v/metadata/*"))) == 2
    assert len(list(tmp_path.glob("else/00002-*"))) == 1
    (shown,) = run("SHOW CREATE TABLE st.d.v")[0]
    run("DROP VIEW st.d.v")
    assert not list(tmp_path.glob("else/*"))
    run(shown)
    assert run("SHOW CREATE TABLE st.d.v") == [(shown,)] and run("TABLE st.d.v") == [(2,)]


def test_a_view_of_a_format_to_come_is_no_missing_table(
    spark: Any, views: Views, sql_home: Path
) -> None:
    ice.sql(spark, "CREATE VIEW st.d.v AS SELECT 1 AS id")
    (path,) = (sql_home / "st" / "d" / "v").glob("metadata/*.gz.metadata.json")
    node = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps({**node, "format-version": 2}).encode()))
    for text in ("SELECT * FROM st.d.v", "DESCRIBE st.d.v"):
        with pytest.raises(UnsupportedError, match="format version 2"):
            ice.sql(spark, text)
    ice.sql(spark, "DROP VIEW st.d.v")
    assert not views.exists("d.v")


def test_a_refused_statement_about_a_view_changes_nothing(spark: Any, views: Views) -> None:
    ice.sql(spark, "CREATE VIEW st.d.v TBLPROPERTIES ('k' = 'v') AS SELECT 1 AS id")
    before = kept(views)
    for text, error in {
        "CREATE VIEW st.d.v AS SELECT 2 AS id": ViewAlreadyExistsError,
        "CREATE VIEW st.d.w AS SELECT * FROM st.d.w": Exception,
        "CREATE VIEW st.d.w (a, a) AS SELECT 1, 2": InvalidInputError,
        "CREATE VIEW st.d.w (a) AS SELECT 1, 2": InvalidInputError,
        "CREATE VIEW st.d.w TBLPROPERTIES ('location' = 'x') AS SELECT 1": InvalidInputError,
        "CREATE VIEW st.d.w TBLPROPERTIES ('location' = '') AS SELECT 1": InvalidInputError,
        "CREATE VIEW st.d.w TBLPROPERTIES ('provider' = 'x') AS SELECT 1": InvalidInputError,
        "CREATE VIEW st.d.w TBLPROPERTIES ('format-version' = '2') AS SELECT 1": InvalidInputError,
        "ALTER VIEW st.d.v SET TBLPROPERTIES ('location' = '/x')": InvalidInputError,
        "ALTER VIEW st.d.v UNSET TBLPROPERTIES IF EXISTS ('location')": InvalidInputError,
        "CREATE OR REPLACE VIEW st.d.v AS SELECT nowhere": Exception,
        "DROP VIEW st.d.w": NoSuchViewError,
        "ALTER VIEW st.d.w SET TBLPROPERTIES ('a' = 'b')": NoSuchViewError,
        "ALTER VIEW st.d.v UNSET TBLPROPERTIES ('a')": InvalidInputError,
        "ALTER VIEW st.d.v SET TBLPROPERTIES ('spark.query-column-names' = 'x')": InvalidInputError,
        "ALTER VIEW st.d.v AS SELECT 3 AS id": InvalidInputError,
        "CREATE VIEW plain AS SELECT * FROM st.d.v": UnsupportedError,
    }.items():
        with pytest.raises(error):
            ice.sql(spark, text)
        assert kept(views) == before, text


def test_a_view_keeps_its_text_with_functions_of_catalogs(spark: Any, views: Views) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t AS SELECT 1L AS id, TIMESTAMP '2024-05-06 07:08:09' AS ts")
    text = "SELECT st.system.bucket(4, id) AS b, system.days(ts) AS d FROM st.d.t"
    ice.sql(spark, f"CREATE VIEW st.d.v AS {text}")
    (made,) = kept(views)["v"].current_version.representations
    assert made.sql == text
    for session in (spark, spark.newSession()):
        found = rows(ice.sql(session, "SELECT b, string(d) FROM st.d.v"))
        assert found == rows(ice.sql(spark, "SELECT st.system.bucket(4, 1L), '2024-05-06'"))


def test_a_view_of_a_temporary_function_is_refused(spark: Any, views: Views) -> None:
    spark.udf.register("of_this_session", lambda number: number, "bigint")
    try:
        with pytest.raises(InvalidInputError, match="of_this_session"):
            ice.sql(spark, "CREATE VIEW st.d.v AS SELECT of_this_session(1L) AS id")
        assert not views.exists("d.v")
    finally:
        spark.sql("DROP TEMPORARY FUNCTION of_this_session")
