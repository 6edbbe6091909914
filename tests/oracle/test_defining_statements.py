"""Statements that define, write and list, by Java and by an enabled session: the same rows.

Both have a catalog in a database; `{c}` stands for its name. Ours go alternately through the
classic session and over Connect.
"""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.inspect.names import MetadataTable
from tests.oracle.by_turns import ByTurns, new_connect_session

JAVAS = "org.apache.iceberg.spark.SparkCatalog"
OURS, THEIRS = "dours", "djavas"

DEFINITIONS = [
    "CREATE TABLE {c}.d.t (id bigint NOT NULL, s string) USING iceberg COMMENT 'it''s'",
    "CREATE TABLE {c}.d.u (id bigint, s string) USING iceberg",
    """CREATE TABLE {c}.d.clustered (id bigint, s string) USING iceberg
       PARTITIONED BY (s) CLUSTERED BY (id) INTO 4 BUCKETS""",
    "SHOW CREATE TABLE {c}.d.clustered",
    "CREATE TABLE {c}.d.asked CLUSTERED BY (id) INTO 2 BUCKETS AS SELECT 1L AS id",
    "SHOW CREATE TABLE {c}.d.asked",
    "CREATE EXTERNAL TABLE {c}.d.ext (id bigint) USING iceberg",
    "CREATE EXTERNAL TABLE IF NOT EXISTS {c}.d.ext (other bigint) USING iceberg",
    "SHOW CREATE TABLE {c}.d.ext",
    "CREATE EXTERNAL TABLE {c}.d.ext2 USING iceberg AS SELECT 1 AS a",
    "SELECT * FROM {c}.d.ext2",
    "CREATE VIEW {c}.d.twice (a, b COMMENT 'second') AS SELECT id, id FROM {c}.d.t",
    "SELECT * FROM {c}.d.twice",
    "DESCRIBE {c}.d.twice",
    "DROP VIEW IF EXISTS {c}.d.nowhere",
    "DROP VIEW IF EXISTS {c}.nowhere.v",
    "DROP VIEW IF EXISTS {f}.nowhere.v",
]
ROWS = [
    "INSERT INTO {c}.d.t VALUES (1, 'a'), (9, 'z')",
    "INSERT INTO {c}.d.u SELECT 1, DEFAULT",
    "INSERT INTO {c}.d.u SELECT 2 AS x, default",
    "INSERT INTO {c}.d.u (s, id) SELECT DEFAULT, 5",
    "INSERT INTO {c}.d.u (SELECT id, DEFAULT FROM {c}.d.t WHERE id > 5)",
    "INSERT INTO {c}.d.u SELECT max(id), DEFAULT FROM {c}.d.t",
    "INSERT INTO {c}.d.u FROM {c}.d.t SELECT DEFAULT, s LIMIT 1",
    "INSERT INTO {c}.d.u SELECT 14, default FROM (SELECT 'w' AS default)",
    "SELECT * FROM {c}.d.u ORDER BY id, s",
    "FROM {c}.d.t INSERT INTO {c}.d.u SELECT id, 'f'",
    """FROM {c}.d.t INSERT INTO {c}.d.u SELECT id, 'g' WHERE id > 5
       INSERT INTO {c}.d.t (s, id) SELECT concat(s, s), id + 100
       INSERT INTO {c}.d.u BY NAME SELECT 'count' AS s, count(*) AS id""",
    "SELECT * FROM {c}.d.u ORDER BY id, s",
    "SELECT * FROM {c}.d.t ORDER BY id, s",
    """FROM {c}.d.t AS x JOIN {c}.d.u AS y ON x.id = y.id
       INSERT OVERWRITE {c}.d.u SELECT DISTINCT x.id, 'joined'""",
    "SELECT * FROM {c}.d.u ORDER BY id, s",
    """WITH q AS (SELECT 70L AS id) FROM q INSERT INTO {c}.d.u SELECT id, 'k'
       INSERT INTO {c}.d.t SELECT id, 'k'""",
    "FROM (SELECT * FROM {c}.d.t) INSERT INTO TABLE {c}.d.u SELECT id, s ORDER BY id LIMIT 1",
    "SELECT * FROM {c}.d.u ORDER BY id, s",
    "SELECT * FROM {c}.d.t ORDER BY id, s",
]
LISTINGS = [
    "SHOW TABLE EXTENDED IN {c}.d LIKE 't|ext'",
    "SHOW TABLE EXTENDED FROM {c}.d LIKE 'no*'",
    "SHOW USER FUNCTIONS IN {c}.system",
    "SHOW USER FUNCTIONS FROM {c}.system LIKE 'b*|y*'",
    "SHOW SYSTEM FUNCTIONS IN {c}.system LIKE 'sum'",
    "SHOW FUNCTIONS IN {c}.system 'bucket'",
    "SHOW FUNCTIONS {c}.system.days",
    "SHOW USER FUNCTIONS IN {c}.d",
    "SHOW PROCEDURES IN {c}.d",
]
AFTER_USE = [
    "USE {c}.d",
    "CREATE VIEW v AS SELECT id FROM t",
    "ALTER VIEW v RENAME TO w",
    "ALTER VIEW w RENAME TO e.x",
    "SHOW VIEWS IN {c}.e",
    "CREATE TEMPORARY VIEW tv_{c} AS SELECT 1 AS a",
    "SHOW VIEWS IN {c}.e LIKE 'x|tv*'",
    "SHOW TABLE EXTENDED LIKE 'no'",
    "SHOW TABLE EXTENDED LIKE 't'",
    "DROP VIEW tv_{c}",
    "ALTER VIEW e.x RENAME TO y",
    "ALTER VIEW y RENAME TO {c}.d.z",
    "SHOW VIEWS",
    "CREATE GLOBAL TEMPORARY VIEW g_{c} AS SELECT id FROM t",
    "SELECT * FROM global_temp.g_{c} ORDER BY id",
    "CREATE OR REPLACE GLOBAL TEMP VIEW g_{c} (renamed) AS SELECT id FROM t",
    "SELECT * FROM global_temp.g_{c} ORDER BY 1",
    "DROP VIEW global_temp.g_{c}",
    "CREATE TEMPORARY VIEW csv_{c} (id INT) USING csv OPTIONS (path '{csv}')",
    "SELECT * FROM csv_{c} ORDER BY id",
    "DROP VIEW csv_{c}",
    "DROP TEMPORARY FUNCTION IF EXISTS nowhere",
    "USE spark_catalog.default",
]
IN_ROOT = [
    "CREATE TABLE {c}.t (id bigint, s string) USING iceberg",
    "INSERT INTO {c}.t VALUES (1, 'a'), (2, 'b')",
    "SELECT {c}.t.id, t.s FROM {c}.t ORDER BY id",
    "SELECT count(*) FROM {c}.t.snapshots",
    "SELECT * FROM {c}.t.branch_main ORDER BY id",
    "SHOW TABLES IN {c}",
    "DESCRIBE TABLE {c}.t",
    "DESCRIBE TABLE {c}.t.history",
    "SHOW CREATE TABLE {c}.t",
    "UPDATE {c}.t SET s = 'c' WHERE id = 1",
    """MERGE INTO {c}.t USING (SELECT 3L AS id, 'x' AS s) s ON t.id = s.id
       WHEN NOT MATCHED THEN INSERT *""",
    "DELETE FROM {c}.t WHERE {c}.t.id = 2",
    "ALTER TABLE {c}.t ADD COLUMN n int",
    "ALTER TABLE {c}.t CREATE BRANCH audit",
    "INSERT INTO {c}.t.branch_audit VALUES (7, 'audit', 7)",
    "SELECT * FROM {c}.t.branch_audit ORDER BY id",
    "CALL {c}.system.rewrite_data_files('t')",
    "CREATE VIEW {c}.v AS SELECT id FROM {c}.t",
    "SELECT * FROM {c}.v ORDER BY id",
    "SHOW VIEWS IN {c}",
    "ALTER TABLE {c}.t RENAME TO u",
    "SHOW TABLES IN {c}",
    "ALTER TABLE {c}.u RENAME TO t",
    "USE {c}",
    "SHOW CURRENT NAMESPACE",
    "SELECT * FROM t ORDER BY id",
    "SELECT count(*) FROM t.snapshots",
    "SELECT {c}.t.id FROM t JOIN v ON t.id = v.id ORDER BY 1",
    "CREATE TABLE w AS SELECT * FROM t",
    "SHOW TABLES",
    "INSERT INTO w SELECT * FROM w",
    "SELECT * FROM w ORDER BY id",
    "TRUNCATE TABLE w",
    "DROP TABLE w",
    "USE spark_catalog.default",
    "CREATE VIEW {c}.d.v AS SELECT * FROM {c}.v",
    "SELECT * FROM {c}.d.v ORDER BY id",
    "DROP VIEW {c}.d.v",
    "DROP VIEW {c}.v",
    "CREATE OR REPLACE TABLE {c}.t AS SELECT 5 AS id",
    "SELECT * FROM {c}.t",
    "DROP TABLE {c}.t",
    "DROP TABLE IF EXISTS {c}.t",
    "CREATE TABLE {f}.root (id bigint) USING iceberg",
    "INSERT INTO {f}.root VALUES (1)",
    "SELECT * FROM {f}.root",
    "SELECT count(*) FROM {f}.root.files",
    "DROP TABLE {f}.root PURGE",
]
REFUSED = [
    "CREATE TABLE {c}.d.no (id bigint, s string) USING iceberg CLUSTERED BY (id, s) INTO 4 BUCKETS",
    """CREATE TABLE {c}.d.no (id bigint, s string) USING iceberg
       CLUSTERED BY (id) SORTED BY (s) INTO 4 BUCKETS""",
    "CREATE TABLE {c}.d.no (id bigint) USING iceberg CLUSTER BY (id)",
    "CREATE OR REPLACE EXTERNAL TABLE {c}.d.no (id bigint) USING iceberg",
    "CREATE VIEW {c}.d.no AS SELECT id, id FROM {c}.d.t",
    "CREATE VIEW {c}.d.no (a) AS SELECT 1, 2",
    "DROP VIEW {f}.nowhere.v",
    "ALTER VIEW {c}.d.twice RENAME TO {f}.nowhere.v",
    "INSERT INTO {c}.d.u SELECT 1 + DEFAULT, 'a'",
    "INSERT INTO {c}.d.u SELECT id, DEFAULT FROM {c}.d.t UNION ALL SELECT 19, DEFAULT",
    "FROM {c}.d.t INSERT INTO {c}.d.u SELECT id, 'lost' INSERT INTO {c}.d.nowhere SELECT id",
    "FROM {c}.d.t INSERT INTO {c}.d.u SELECT id, 'lost' INSERT INTO {c}.d.u SELECT id",
    "FROM {c}.d.t INSERT INTO {c}.d.u VALUES (1, 'q')",
    "FROM {c}.d.t DELETE FROM {c}.d.u",
    "SHOW TABLE EXTENDED IN {c}.d LIKE 't' PARTITION (s = 'a')",
    "SHOW TABLE EXTENDED IN {c}.d",
    "SHOW FUNCTIONS IN {c}.nowhere",
    "DROP TEMPORARY FUNCTION nowhere",
]


@pytest.fixture
def sides(all_sides: "Sides") -> "Sides":
    """Both sides, with namespaces `d` and `e` of the test's own."""
    fresh = replace(all_sides, suffix=f"_{uuid.uuid4().hex[:8]}")
    for namespace in "de":
        for run in (fresh.theirs, partial(fresh.ours, 0)):
            run(f"CREATE NAMESPACE {{c}}.{namespace}")
    return fresh


@pytest.fixture(scope="module")
def all_sides(java: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Sides"]:
    # New sessions: SHOW VIEWS would list the temporary views of other tests.
    theirs, classic, remote = java.newSession(), java.newSession(), new_connect_session(java)
    home = tmp_path_factory.mktemp("defining")
    (home / "numbers.csv").write_text("1\n2\n")
    jdbc = {"": JAVAS, ".type": "jdbc", ".uri": f"jdbc:sqlite:{home}/j.db", ".jdbc.user": ""}
    jdbc |= {".jdbc.schema-version": "V1", ".warehouse": f"{home}/j", ".cache-enabled": "false"}
    for key, value in jdbc.items():
        theirs.conf.set(f"spark.sql.catalog.{THEIRS}{key}", value)
    turns = ByTurns(classic, remote)
    with (
        turns.with_catalog(OURS, f"{home}/o", type="sql", uri=f"sqlite:///{home}/o.db"),
        turns.with_catalog("folders", f"{home}/f"),
    ):
        for session in (turns.classic, turns.remote):
            ice.enable(session)
        yield Sides(theirs, turns, home)
        for session in (turns.classic, turns.remote):
            ice.disable(session)
    remote.stop()


@dataclass(frozen=True)
class Sides:
    """Java's session, and ours; texts have `{c}` for a catalog and `d` and `e` for namespaces."""

    java: SparkSession
    turns: ByTurns
    home: Path
    suffix: str = ""

    def theirs(self, statement: str) -> Any:
        return rows(self.java, self._whole(statement, THEIRS, "j"), THEIRS)

    def ours(self, turn: int, statement: str) -> Any:
        text = self._whole(statement, OURS, "folders")
        return self.turns.run(turn, lambda session: rows(session, text, OURS))

    def _whole(self, statement: str, catalog: str, folders: str) -> str:
        text = re.sub(r"(\{c\}\.|\s)([de])\b", rf"\g<1>\g<2>{self.suffix}", statement)
        return text.format(c=catalog, f=folders, csv=self.home / "numbers.csv")


def rows(session: Any, text: str, catalog: str) -> tuple[list[str], list[list[Any]]]:
    """Return columns and rows, without what belongs to one side."""
    frame = session.sql(text)
    shown = [[comparable(value, catalog) for value in row] for row in frame.collect()]
    return frame.columns, shown


def comparable(value: object, catalog: str) -> object:
    if not isinstance(value, str):
        return value
    lines = value.replace(catalog, "{c}").splitlines()
    unlike = re.compile(
        r"LOCATION|\s*'(current-snap|format|write\.parq)|(Loc|Own|Table_t|Table Prop)"
    )
    return [line for line in lines if not unlike.match(line)]


def check(sides: Sides, statements: list[str], turns: int | None = None) -> None:
    for turn, statement in enumerate(statements):
        expected = sides.theirs(statement)
        assert sides.ours(turn if turns is None else turns, statement) == expected, statement


@pytest.mark.timeout(300)
def test_statements_give_javas_rows(sides: Sides) -> None:
    check(sides, [*DEFINITIONS, *ROWS, *LISTINGS])
    listed = sides.ours(1, "SHOW PROCEDURES IN {c}.system")
    javas = sides.theirs("SHOW PROCEDURES IN {c}.system")
    assert {row[3][0] for row in javas[1]} <= {row[3][0] for row in listed[1]}
    assert listed[0] == javas[0]


@pytest.mark.timeout(300)
def test_metadata_tables_are_described_as_in_java(sides: Sides) -> None:
    check(
        sides,
        [
            """CREATE TABLE {c}.d.t (id bigint, s string COMMENT 'x', p struct<a: int COMMENT 'y'>)
               USING iceberg PARTITIONED BY (bucket(4, id), s)""",
            *(f"DESCRIBE {{c}}.d.t.{name}" for name in MetadataTable if name.is_javas),
        ],
    )


@pytest.mark.parametrize("turn", [0, 1])
def test_statements_after_use_give_javas_rows(sides: Sides, turn: int) -> None:
    check(sides, ["CREATE TABLE {c}.d.t (id bigint) USING iceberg", *AFTER_USE], turn)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("turn", [0, 1])
def test_tables_and_views_of_the_root_namespace_are_javas(sides: Sides, turn: int) -> None:
    check(sides, IN_ROOT, turn)


@pytest.mark.timeout(300)
def test_statements_that_java_refuses_change_nothing(sides: Sides) -> None:
    check(sides, ["CREATE VIEW {c}.d.twice AS SELECT 1 AS a"])
    kept = ("SHOW TABLES IN {c}.d", "SHOW VIEWS IN {c}.d", "SELECT count(*) FROM {c}.d.u")
    for name in "tu":
        check(sides, [f"CREATE TABLE {{c}}.d.{name} (id bigint, s string) USING iceberg"])
    before = [sides.ours(0, text) for text in kept]
    for turn, statement in enumerate(REFUSED):
        for run in (sides.theirs, partial(sides.ours, turn)):
            with pytest.raises(Exception):  # noqa: B017, PT011 - Java's are of many kinds
                run(statement)
    assert [sides.ours(0, text) for text in kept] == before


STRUCTS = (
    "named_struct('a', 5)",
    "named_struct('b', named_struct('c', 7), 'a', 5)",
    "CAST(NULL AS struct<a: int>)",
    "named_struct('a', 5, 'b', CAST(NULL AS struct<c: int>))",
    "named_struct('a', 5, 'z', 1)",
)
MERGES = (
    (
        "MERGE INTO {c}.d.n t USING (SELECT id, %s AS p FROM range(2)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET *"
    ),
    (
        "MERGE WITH SCHEMA EVOLUTION INTO {c}.d.n USING (SELECT 9L AS id, %s AS p) s "
        "ON n.id = s.id WHEN NOT MATCHED THEN INSERT *"
    ),
)


@pytest.mark.timeout(300)
def test_structs_that_lack_fields_are_merged_as_in_java(sides: Sides) -> None:
    """Where spark.sql.mergeNestedTypeCoercion.enabled lets them."""
    setting = "spark.sql.mergeNestedTypeCoercion.enabled"
    sessions = (sides.java, sides.turns.classic, sides.turns.remote)
    for session in sessions:
        session.conf.set(setting, "true")
    try:
        check(
            sides,
            [
                (
                    "CREATE TABLE {c}.d.n (id bigint, p struct<a: int, b: struct<c: int, e: int>>) "
                    "USING iceberg"
                ),
                (
                    "INSERT INTO {c}.d.n VALUES "
                    "(0, named_struct('a', 1, 'b', named_struct('c', 1, 'e', 2))), (1, NULL)"
                ),
            ],
        )
        for struct in STRUCTS:
            for merge in MERGES:
                check(sides, [merge % struct, "SELECT * FROM {c}.d.n ORDER BY id, p"])
        refused = "MERGE INTO {c}.d.n t USING (SELECT 7L AS id, named_struct('a', 5) AS p) s "
        for action in (
            "t.id = s.id WHEN NOT MATCHED THEN INSERT *",
            "true WHEN MATCHED THEN UPDATE SET p = s.p",
        ):
            for run in (sides.theirs, partial(sides.ours, 0)):
                with pytest.raises(Exception):  # noqa: B017, PT011
                    run(f"{refused} ON {action}")
    finally:
        for session in sessions:
            session.conf.unset(setting)
