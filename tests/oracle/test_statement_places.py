"""Statements for catalogs in a database, where namespaces have properties and tables places.

Ours on our catalog and Java's on its own, side by side, as in `test_statements`. In what is shown,
each side's folder is `F`.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.pyspark_hooks.frame_writer import FrameWriter
from tests.oracle.by_turns import ByTurns
from tests.oracle.test_statements import refused

NAMESPACES = [
    """CREATE NAMESPACE {c}.e COMMENT 'a; comment' LOCATION '{f}/else/e'
       WITH PROPERTIES ('p' = 'q')""",
    "CREATE DATABASE IF NOT EXISTS {c}.e COMMENT 'another'",
    "DESCRIBE NAMESPACE {c}.e",
    "DESCRIBE SCHEMA EXTENDED {c}.e",
    "ALTER NAMESPACE {c}.e SET PROPERTIES ('k' = 'v', 'p' = 'r')",
    "DESCRIBE DATABASE EXTENDED {c}.e",
    "ALTER SCHEMA {c}.e UNSET PROPERTIES ('k', 'never there')",
    "ALTER NAMESPACE {c}.e SET LOCATION '{f}/else/moved'",
    "COMMENT ON NAMESPACE {c}.e IS 'said'",
    "ALTER NAMESPACE {c}.e SET PROPERTIES ('my.token' = 'hush', 'home' = 'some url', 'n' = '1')",
    "DESCRIBE NAMESPACE EXTENDED {c}.e",
    "SHOW NAMESPACES IN {c}",
    "SHOW NAMESPACES IN {c} LIKE 'x*|e'",
    "DROP NAMESPACE IF EXISTS {c}.nowhere",
    "DROP NAMESPACE {c}.e",
    "SHOW DATABASES IN {c}",
]
TABLES = [
    """CREATE TABLE {c}.d.t (id bigint NOT NULL COMMENT 'the id', `a b` string, ts timestamp)
       USING iceberg PARTITIONED BY (`a b`) COMMENT 'said' LOCATION '{f}/else/t'""",
    "ALTER TABLE {c}.d.t SET IDENTIFIER FIELDS id",
    "ALTER TABLE {c}.d.t WRITE ORDERED BY `a b`, hours(ts) DESC",
    "DESCRIBE TABLE EXTENDED {c}.d.t",
    "DESCRIBE TABLE {c}.d.t id",
    "DESCRIBE EXTENDED {c}.d.t",
    "ALTER TABLE {c}.d.t REPLACE PARTITION FIELD `a b` WITH days(ts)",
    "ALTER TABLE {c}.d.t SET TBLPROPERTIES ('format-version' = '3')",
    "DESCRIBE FORMATTED {c}.d.t",
    "SHOW TBLPROPERTIES {c}.d.t ('location')",
    "ALTER TABLE {c}.d.t SET TBLPROPERTIES ('a-password' = 'hush', 'said' = 'Token', 'URLs' = '')",
    "SHOW TBLPROPERTIES {c}.d.t ('a-password')",
    "SHOW TBLPROPERTIES {c}.d.t ('said')",
    "SHOW TBLPROPERTIES {c}.d.t ('URLs')",
    "DESCRIBE EXTENDED {c}.d.t",
    "CREATE TABLE {c}.d.u LOCATION '{f}/else/u' AS SELECT 1 AS id",
    "INSERT INTO {c}.d.u VALUES (2)",
    "ALTER TABLE {c}.d.u SET TBLPROPERTIES ('current-snapshot-id' = '{id[0]}', 'a' = 'b')",
    "ALTER TABLE {c}.d.u SET TBLPROPERTIES ('cherry-pick-snapshot-id' = '{id[1]}')",
    "SELECT id FROM {c}.d.u ORDER BY id",
    "ALTER TABLE {c}.d.u SET LOCATION '{f}/else/v'",
    "INSERT INTO {c}.d.u VALUES (3)",
    "REPLACE TABLE {c}.d.u LOCATION '{f}/else/w' AS SELECT 4 AS id",
    "CREATE OR REPLACE TABLE {c}.d.u (id int, n int) USING iceberg LOCATION '{f}/else/x/'",
    """CREATE TABLE {c}.d.o (id bigint, c string) USING iceberg
       OPTIONS ('write.object-storage.enabled'=true, 'write.data.path'='{f}/else/data', k 1, k 2,
         a.b = -3, e=1e3, f=1.50, l 10L, `p q` 'a' 'b', s '', g=1+2, d=DATE '2024-05-06',
         K FALSE, 'option.g'='i', path='{f}/else/o/')
       PARTITIONED BY (c)
       TBLPROPERTIES ('k'='t', 'option.k'='u', 'z'='y', 'option.y'='h') COMMENT 'said'""",
    "DESCRIBE EXTENDED {c}.d.o",
    "INSERT INTO {c}.d.o VALUES (1, 'x')",
    """REPLACE TABLE {c}.d.o USING iceberg OPTIONS (k2 'v', 'PATH'='{f}/else/p')
       AS SELECT 1L AS id, 'y' AS c""",
    "DESCRIBE EXTENDED {c}.d.o",
    """CREATE OR REPLACE TABLE {c}.d.o (id bigint, c string)
       OPTIONS ('comment'='by an option', k 'again')""",
    "DESCRIBE EXTENDED {c}.d.o",
    """CREATE TABLE {c}.d.p PARTITIONED BY (id) OPTIONS ('comment'='a', 'format-version'=3)
       COMMENT 'b' AS SELECT 1 AS id""",
    "DESCRIBE EXTENDED {c}.d.p",
    """CREATE TABLE {c}.d.r (id int) USING orc TBLPROPERTIES ('comment'='t')
       OPTIONS ('compression' 'snappy', 'comment' 'o')""",
    "DESCRIBE EXTENDED {c}.d.r",
]
REFUSED = [
    "CREATE NAMESPACE {c}.d",
    "DROP NAMESPACE {c}.nowhere",
    "DROP NAMESPACE {c}.d",
    "DESCRIBE NAMESPACE EXTENDED {c}.nowhere",
    "ALTER TABLE {c}.d.u SET TBLPROPERTIES ('sort-order' = 'id')",
    "ALTER TABLE {c}.d.u SET TBLPROPERTIES ('identifier-fields' = 'id')",
    "ALTER TABLE {c}.d.u SET TBLPROPERTIES ('current-snapshot-id' = 'none')",
    "ALTER TABLE {c}.d.u SET TBLPROPERTIES ('cherry-pick-snapshot-id' = '1')",
    """ALTER TABLE {c}.d.u SET TBLPROPERTIES
       ('current-snapshot-id' = '{id[0]}', 'cherry-pick-snapshot-id' = '{id[1]}')""",
    *(
        text.replace("KEY", key)
        for key in ("location", "provider", "owner", "external", "is_managed_location")
        for text in (
            "CREATE TABLE {c}.d.k (id int) USING iceberg TBLPROPERTIES ('KEY' = 'x')",
            "ALTER TABLE {c}.d.u SET TBLPROPERTIES ('KEY' = 'x')",
            "ALTER TABLE {c}.d.u UNSET TBLPROPERTIES ('KEY')",
            "CREATE TABLE {c}.d.k (id int) USING iceberg OPTIONS ('KEY' = 'x')",
        )
    ),
    *(
        "CREATE TABLE {c}.d.k (id int) USING iceberg " + text
        for text in (
            "OPTIONS ('table_type' = 'x')",
            "OPTIONS ('path' = '{f}/k') LOCATION '{f}/k'",
            "OPTIONS ('path' = '{f}/k', 'PATH' = '{f}/l')",
            "OPTIONS ('path' = '')",
            "OPTIONS (a)",
            "OPTIONS ()",
            "OPTIONS (a 1) OPTIONS (b 1)",
            "OPTIONS (a = null)",
            "OPTIONS (a = array(1))",
            "OPTIONS (a = id)",
            "OPTIONS (a-b = 1)",
        )
    ),
    "CREATE TABLE {c}.d.k (id int) USING orc OPTIONS ('write.format.default' = 'parquet')",
]
UNLIKE = ("Owner", "Table_type", "Statistics")
"""What Java sets unasked, newer Sparks add, and Spark asks of a scan."""
UNASKED = ",write.parquet.compression-codec=zstd"
FRAMES: list[Callable[[Any, str], object]] = [
    lambda writer, at: writer.tableProperty("location", f"{at}/1").create(),
    lambda writer, _: writer.option("write-format", "orc").tableProperty("a", "b").replace(),
    lambda writer, at: writer.tableProperty("location", f"{at}/2").createOrReplace(),
]


@pytest.fixture(scope="module")
def folders(
    java: SparkSession, by_turns: ByTurns, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Path]]:
    """The folders of Java's catalog `q` and of ours `o`, which both have a namespace `d`."""
    found = {name: tmp_path_factory.mktemp(name) for name in "qo"}
    settings = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "jdbc",
        ".uri": f"jdbc:sqlite:{found['q']}/q.db",
        ".warehouse": str(found["q"]),
        ".cache-enabled": "false",
    }
    for key, value in settings.items():
        java.conf.set(f"spark.sql.catalog.q{key}", value)
    java.sql("CREATE NAMESPACE q.d")
    uri = f"sqlite:///{found['o']}/o.db"
    with by_turns.with_catalog("o", str(found["o"]), type="sql", uri=uri):
        ice.sql(java, "CREATE NAMESPACE o.d")
        yield found


def shown(frame: Any, folder: Path) -> list[tuple[str, ...]]:
    """Return rows as texts; Java's places may have a scheme."""
    texts = [tuple("" if one is None else str(one) for one in row) for row in frame.collect()]
    places = [tuple(one.replace(UNASKED, "").replace("file:/", "/") for one in row)
              for row in texts if row[0] not in UNLIKE]  # fmt: skip
    return [tuple(_neutral(one.replace(str(folder), "F")) for one in row) for row in places]


def _neutral(text: str) -> str:
    """Return a text without a snapshot's id and the catalog's name."""
    text = re.sub(r"(?<=current-snapshot-id=)\w+", "", text)
    return re.sub(r"\b[qo](?=[.]d[.])|^[qo]$", "C", text)


def catalog(java: SparkSession, name: str, folder: Path) -> ice.TableCatalog:
    database = f"sqlite:///{folder}/{name}.db"
    return ice.load_catalog(name, type="sql", uri=database, warehouse=str(folder))


def lies(table: ice.Table, folder: Path) -> list[str]:
    """Return where a table, its newest metadata and its files are, without what is drawn."""
    files = [row["file_path"] for row in table.inspect.files().to_pylist()]
    folders = [re.sub(r"/(metadata|data)/.*", r"/\1", one)
               for one in (table.metadata_location, *files)]  # fmt: skip
    places = [one.removeprefix("file:") for one in (table.location(), *folders)]
    found = [one.replace(str(folder), "F") for one in places]
    return [found[0], *sorted(found[1:]), *sorted(Path(one).suffix for one in files)]


@pytest.mark.timeout(600)
def test_a_statement_about_a_place_does_what_javas_does(
    java: SparkSession, by_turns: ByTurns, folders: dict[str, Path]
) -> None:
    catalogs = {name: catalog(java, name, folder) for name, folder in folders.items()}

    def text(statement: str, name: str) -> str:
        ids = []
        if "[" in statement:
            ids = [one.snapshot_id for one in catalogs[name].load_table("d.u").snapshots()]
        return statement.format(c=name, f=folders[name], id=ids)

    for turn, statement in enumerate(NAMESPACES + TABLES):
        theirs = shown(java.sql(text(statement, "q")), folders["q"])
        run = partial(_shown_by_us, text(statement, "o"), folders["o"])
        assert by_turns.run(turn, run) == theirs, statement
        for table in [one for one in ("d.u", "d.o") if f".{one}" in statement]:
            mine, javas = (lies(catalogs[c].load_table(table), folders[c]) for c in "oq")
            assert mine == javas, statement
    for turn, statement in enumerate(REFUSED):
        before = {path for path in folders["o"].rglob("*") if path.is_file()}
        run = partial(_shown_by_us, text(statement, "o"), folders["o"])
        assert refused(lambda given: java.sql(given).collect(), text(statement, "q")), statement
        assert refused(partial(by_turns.run, turn), run), statement
        assert {path for path in folders["o"].rglob("*") if path.is_file()} == before, statement


def _shown_by_us(text: str, folder: Path, session: Any) -> list[tuple[str, ...]]:
    return shown(ice.sql(session, text), folder)


def test_a_frame_makes_a_table_where_javas_does(
    java: SparkSession, by_turns: ByTurns, folders: dict[str, Path]
) -> None:
    for turn, does in enumerate(FRAMES):
        does(java.range(2).writeTo("q.d.w").using("iceberg"), str(folders["q"] / "frames"))
        ours = str(folders["o"] / "frames")

        def run(session: Any, does: Any = does, ours: str = ours) -> None:
            does(FrameWriter(session.range(2), ("o", "d", "w")), ours)

        by_turns.run(turn, run)
        mine, javas = (catalog(java, c, folders[c]).load_table("d.w") for c in "oq")
        assert mine.location().replace(str(folders["o"]), "F") == javas.location().replace(
            str(folders["q"]), "F"
        )
        assert {*lies(mine, folders["o"])} == {*lies(javas, folders["q"])}
        assert mine.properties.get("a") == javas.properties.get("a")
