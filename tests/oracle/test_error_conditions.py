"""Statements that fail have Spark's error conditions, as with Java's catalogs."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.errors import IcebergError
from tests.oracle.by_turns import new_connect_session


@pytest.fixture(scope="module")
def ours(java: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """An enabled session with a catalog `mine`; `java` has its own catalog `j`."""
    session = java.newSession()
    place = str(tmp_path_factory.mktemp("conditions"))
    catalog = "spark.sql.catalog.mine"
    for key, value in {"type": "sql", "uri": f"sqlite:///{place}/c.db", "warehouse": place}.items():
        session.conf.set(f"{catalog}.{key}", value)
    ice.enable(session)
    for one, name in ((java, "j"), (session, "mine")):
        one.sql(f"CREATE NAMESPACE IF NOT EXISTS {name}.conditions")
        one.sql(f"CREATE TABLE {name}.conditions.t (id bigint, region string) USING iceberg")
        one.sql(f"CREATE TABLE {name}.conditions.r ({COLUMNS}) USING iceberg")
        one.sql(f"CREATE TABLE {name}.conditions.e ({COLUMNS}) USING iceberg")
        one.sql(f"CREATE TABLE {name}.conditions.q (v int, p int) USING iceberg PARTITIONED BY (p)")
        one.sql(f"CREATE TABLE {name}.conditions.d (d decimal(3, 1)) USING iceberg")
        one.sql(f"CREATE TABLE {name}.conditions.l (l array<int>, m map<int, int>) USING iceberg")
        one.sql(f"CREATE TABLE {name}.conditions.v3 (id bigint) USING iceberg {VERSION_3}")
        one.sql(f"INSERT INTO {name}.conditions.r VALUES (1, 1, named_struct('a', 1, 'b', 'x'))")
    yield session
    for table in (*"treqld", "v3"):
        java.sql(f"DROP TABLE j.conditions.{table} PURGE")
    ice.disable(session)


@pytest.fixture(scope="module")
def remote(java: SparkSession, ours: SparkSession) -> Iterator[Any]:
    """A session like `ours`, over Connect."""
    session = new_connect_session(java)
    prefix = "spark.sql.catalog.mine"
    for key in ("type", "uri", "warehouse"):
        session.conf.set(f"{prefix}.{key}", str(ours.conf.get(f"{prefix}.{key}")))
    ice.enable(session)
    yield session
    ice.disable(session)
    session.stop()


VERSION_3 = "TBLPROPERTIES ('format-version' = '3')"
COLUMNS = "id bigint NOT NULL, i int, p struct<a: int, b: string>"
SOURCE = "MERGE INTO {c}.conditions.r t USING (SELECT 1L AS id, 'a' AS i) s ON t.id = s.id"
STORED = (
    "INSERT INTO {c}.conditions.t VALUES ('a', 'a')",
    "INSERT INTO {c}.conditions.t SELECT array(1), 'a'",
    "INSERT INTO {c}.conditions.r (id, i) VALUES (1, DATE '2020-01-01')",
    "INSERT INTO {c}.conditions.r (id, p) VALUES (1, named_struct('a', 'no', 'b', 'x'))",
    "INSERT INTO {c}.conditions.r (id, p) VALUES (1, named_struct('a', 1))",
    "INSERT INTO {c}.conditions.r (id, p) VALUES (1, named_struct('a', 1, 'b', 'x', 'c', 1))",
    "INSERT INTO {c}.conditions.r BY NAME SELECT 1 AS id, named_struct('a', 1) AS p",
    "INSERT INTO {c}.conditions.r BY NAME SELECT 1 AS id, 'x' AS i",
    "INSERT INTO {c}.conditions.r BY NAME SELECT 1 AS i",
    "INSERT INTO {c}.conditions.r (id) VALUES (NULL)",
    "INSERT OVERWRITE {c}.conditions.t VALUES ('a', 'a')",
    "UPDATE {c}.conditions.r SET i = 'a'",
    "UPDATE {c}.conditions.r SET p.a = 'x'",
    "UPDATE {c}.conditions.r SET p = named_struct('a', 1)",
    "UPDATE {c}.conditions.r SET id = NULL",
    f"{SOURCE} WHEN MATCHED THEN UPDATE SET t.i = s.i",
    f"{SOURCE} WHEN MATCHED THEN UPDATE SET t.id = NULL",
    f"{SOURCE} WHEN NOT MATCHED THEN INSERT (id, i) VALUES (s.id, s.i)",
    """MERGE INTO {c}.conditions.r t USING (SELECT 1L AS id FROM range(2)) s ON t.id = s.id
       WHEN MATCHED THEN UPDATE SET i = 2""",
)

MATCHED = """MERGE INTO {c}.conditions.r t
    USING (SELECT 1L AS id, 'a' AS s, 5 AS n) s ON t.id = s.id WHEN"""
TWICE = """MERGE INTO {c}.conditions.r t
    USING (SELECT 1L AS id, 1 AS i, 2 AS i, NULL AS p) s ON t.id = s.id"""
ASSIGNED = (
    "INSERT INTO {c}.conditions.t BY NAME SELECT 1 AS id, 'a' AS region, 2 AS x",
    "INSERT INTO {c}.conditions.t BY NAME SELECT 1 AS id, 'a' AS regionx",
    "INSERT INTO {c}.conditions.t BY NAME SELECT 1 AS x, 2 AS y",
    "INSERT INTO {c}.conditions.t BY NAME SELECT 1 AS id, 2 AS id",
    "INSERT OVERWRITE {c}.conditions.t BY NAME SELECT 1 AS id, 'a' AS region, 2 AS x",
    "INSERT INTO {c}.conditions.t (id, id) VALUES (1, 2)",
    "INSERT INTO {c}.conditions.r VALUES (DEFAULT, 1, NULL)",
    "INSERT INTO {c}.conditions.r (i) VALUES (1)",
    "INSERT INTO {c}.conditions.r SELECT 1, 1, named_struct('a', 1)",
    "INSERT INTO {c}.conditions.q PARTITION (nothing = 1) SELECT 1",
    "INSERT INTO {c}.conditions.q PARTITION (v = 1) SELECT 1",
    "INSERT INTO {c}.conditions.q PARTITION (p = 1, p = 2) SELECT 1",
    "INSERT INTO {c}.conditions.q PARTITION (p = 1) (p, v) SELECT 1, 2",
    "UPDATE {c}.conditions.r SET i = 1, i = 2",
    "UPDATE {c}.conditions.r SET p.a = 1, p = NULL",
    "UPDATE {c}.conditions.r SET p.a = 1, p.a = 2",
    "UPDATE {c}.conditions.r SET p.x = 1",
    "UPDATE {c}.conditions.r SET i.x = 1",
    "UPDATE {c}.conditions.r SET id = DEFAULT",
    "UPDATE {c}.conditions.r SET i = sum(i)",
    "UPDATE {c}.conditions.e SET i = 'a'",
    "UPDATE {c}.conditions.e SET p.a = 'a'",
    "UPDATE {c}.conditions.e SET i = nothing",
    "DELETE FROM {c}.conditions.r WHERE sum(i) = 1",
    "DELETE FROM {c}.conditions.r WHERE row_number() OVER (ORDER BY id) > 1",
    "DELETE FROM {c}.conditions.r WHERE rand() > 0.5",
    "DELETE FROM {c}.conditions.r WHERE i = 'x'",
    "DELETE FROM {c}.conditions.r WHERE 1 / 0 = i",
    "DELETE FROM {c}.conditions.r WHERE p.x = 1",
    f"{MATCHED} MATCHED THEN UPDATE SET t.i = 1, t.i = 2",
    f"{MATCHED} MATCHED THEN UPDATE SET t.p.a = 1, t.p = NULL",
    f"{MATCHED} MATCHED THEN UPDATE SET *",
    f"{MATCHED} NOT MATCHED THEN INSERT *",
    f"{MATCHED} NOT MATCHED THEN INSERT (i) VALUES (1)",
    f"{MATCHED} NOT MATCHED THEN INSERT (id, id) VALUES (9L, 1L)",
    f"{MATCHED} NOT MATCHED THEN INSERT (id, p.a) VALUES (9L, 1L)",
    f"{MATCHED} NOT MATCHED THEN INSERT (id, i) VALUES (9L)",
    f"{MATCHED} NOT MATCHED THEN INSERT (id, i) VALUES (DEFAULT, 1)",
    f"{MATCHED} MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET i = 1",
    f"{MATCHED} NOT MATCHED THEN INSERT (id) VALUES (1L) WHEN NOT MATCHED THEN INSERT *",
    f"{MATCHED} NOT MATCHED BY SOURCE THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE",
    f"{MATCHED} MATCHED AND sum(s.n) = 1 THEN DELETE",
    f"{MATCHED} MATCHED AND rand() > 0.5 THEN DELETE",
    f"{MATCHED} MATCHED AND nothing = 1 THEN DELETE",
    f"{MATCHED} MATCHED THEN UPDATE SET i = row_number() OVER (ORDER BY t.id)",
    f"{MATCHED} MATCHED THEN UPDATE SET i = sum(s.n)",
    f"{MATCHED} NOT MATCHED BY SOURCE THEN UPDATE SET i = sum(t.i) OVER ()",
    f"{MATCHED} MATCHED AND row_number() OVER (ORDER BY t.id) = 1 THEN DELETE",
    f"{MATCHED} MATCHED THEN UPDATE SET t.p.nothing = 1",
    f"{MATCHED} MATCHED THEN UPDATE SET t.i.x = 1",
    f"{TWICE} WHEN MATCHED THEN UPDATE SET t.i = s.i",
    f"{TWICE} WHEN MATCHED THEN UPDATE SET *",
    f"{TWICE} WHEN NOT MATCHED THEN INSERT *",
    f"{TWICE} AND s.i = 1 WHEN MATCHED THEN DELETE",
    "MERGE INTO {c}.conditions.r t USING {c}.conditions.r s ON t.id WHEN MATCHED THEN DELETE",
    "MERGE INTO {c}.conditions.r t USING {c}.conditions.r s ON t.p = 1 WHEN MATCHED THEN DELETE",
    f"{SOURCE} AND row_number() OVER (ORDER BY t.id) = 1 WHEN MATCHED THEN DELETE",
    "UPDATE {c}.conditions.r SET i = 1 WHERE sum(i) = 1",
    "UPDATE {c}.conditions.r SET i = 1 WHERE row_number() OVER (ORDER BY id) = 1",
    f"{SOURCE} AND rand() > 0 WHEN MATCHED THEN DELETE",
    f"{SOURCE} AND sum(t.id) > 0 WHEN MATCHED THEN DELETE",
    SOURCE,
)
NOT_A_VALUE = (
    "INSERT INTO {c}.conditions.t SELECT 1, upper(DEFAULT)",
    "UPDATE {c}.conditions.t SET id = DEFAULT + 1",
    "UPDATE {c}.conditions.t SET id = 1 WHERE id = DEFAULT",
    "INSERT INTO {c}.conditions.t SELECT DEFAULT, 'a' UNION SELECT 1, 'b'",
    "INSERT INTO {c}.conditions.t SELECT 1, 'a' WHERE DEFAULT = 1",
    "INSERT INTO {c}.conditions.t VALUES (DEFAULT + 1, 'a')",
    "INSERT INTO {c}.conditions.t VALUES (1, 'a'), (DEFAULT + 1, 'a')",
    "INSERT INTO {c}.conditions.q PARTITION (p = 'x') SELECT 1",
    "INSERT OVERWRITE {c}.conditions.q PARTITION (p = 3000000000) SELECT 1",
)
TOO_LARGE = (
    "INSERT INTO {c}.conditions.r (id, i) VALUES (1, 3000000000L)",
    "INSERT INTO {c}.conditions.r (id, p) VALUES (1, named_struct('a', 3000000000L, 'b', 'x'))",
    "INSERT INTO {c}.conditions.d VALUES (123456.78)",
    "INSERT INTO {c}.conditions.d SELECT CAST(id * 300000 AS decimal(3, 1)) FROM {c}.conditions.r",
    "INSERT INTO {c}.conditions.r (id, i) SELECT 1, CAST(id * 3000000000 AS int) FROM range(1, 2)",
    "UPDATE {c}.conditions.r SET i = 3000000000L",
    f"{MATCHED} MATCHED THEN UPDATE SET t.i = 3000000000L",
)
EXPIRE = "CALL {c}.system.expire_snapshots("
CALLED = (
    f"{EXPIRE}table => 'conditions.t', older_than => 'x')",
    f"{EXPIRE}table => 'conditions.t', older_than => 5)",
    f"{EXPIRE}table => 'conditions.t', retain_last => true)",
    f"{EXPIRE}table => 'conditions.t', retain_last => 3000000000)",
    f"{EXPIRE}table => 'conditions.t', snapshot_ids => array('x'))",
    f"{EXPIRE}table => 'conditions.t', table => 'conditions.t')",
    f"{EXPIRE}'conditions.t', table => 'conditions.t')",
    f"{EXPIRE}table => 'conditions.t', 5)",
    f"{EXPIRE}'conditions.t', 1, 2, 3, 4, 5, 6, 7, 8, 9)",
    "CALL {c}.system.rewrite_data_files(table => 'conditions.t', options => 'x')",
    "CALL {c}.nowhere.expire_snapshots('conditions.t')",
    "CALL {c}.system.create_changelog_view('conditions.r', identifier_columns => array('x'))",
    "DESCRIBE PROCEDURE {c}.system.nothing",
    "DESCRIBE FUNCTION {c}.system.bucket",
    "DESCRIBE EXTENDED {c}.conditions.t AS JSON",
)
ALTERED = tuple(
    f"ALTER TABLE {{c}}.conditions.r {change}"
    for change in (
        "ADD COLUMN i.x int",
        "ADD COLUMN nothing.x int",
        "ADD COLUMN p.nothing.x int",
        "ADD COLUMNS (x int, x int)",
        "ADD COLUMN p.a int",
        "ADD COLUMN x int AFTER nothing",
        "ADD COLUMN p.x int AFTER nothing",
        "ALTER COLUMN id TYPE int",
        "ALTER COLUMN i TYPE date",
        "ALTER COLUMN p TYPE int",
        "ALTER COLUMN p TYPE struct<a: bigint>",
        "ALTER COLUMN i TYPE array<int>",
        "ALTER COLUMN i TYPE map<int, int>",
        "ALTER COLUMN i.x TYPE int",
        "ALTER COLUMN p.x TYPE int",
        "ALTER COLUMN nothing FIRST",
        "ALTER COLUMN i AFTER nothing",
        "ALTER COLUMN p.a AFTER nothing",
        "RENAME COLUMN i.x TO y",
        "DROP COLUMN i.x",
        "DROP COLUMN p.x",
        "ADD PARTITION (p = 1)",
        "ADD IF NOT EXISTS PARTITION (p = 1)",
        "DROP PARTITION (p = 1)",
        "PARTITION (p = 1) RENAME TO PARTITION (p = 2)",
        "RECOVER PARTITIONS",
        "SET SERDE 'x'",
        "ADD CONSTRAINT x CHECK (id > 1)",
        "ADD CHECK (id > 1)",
        "ADD UNIQUE (id)",
        "ADD PRIMARY KEY (id)",
        "ADD FOREIGN KEY (id) REFERENCES {c}.conditions.t (id)",
        "REPLACE COLUMNS (id bigint, ID int)",
        "DROP CONSTRAINT x",
    )
)
OVERWRITTEN = tuple(
    f"INSERT INTO {{c}}.conditions.t REPLACE WHERE {condition} SELECT 1, 'a'"
    for condition in (
        "nothing = 1",
        "sum(id) = 1",
        "sum(id) OVER () = 1",
        "rand() > 0.1",
        "id IN (SELECT id FROM {c}.conditions.t)",
        "id = 'x'",
    )
)
PARSED = (
    "ALTER TABLE {c}.conditions.l RENAME COLUMN l.element TO x",
    "ALTER TABLE {c}.conditions.l ADD COLUMN m.value.x int",
    "ALTER TABLE {c}.conditions.r ADD COLUMN x nothing",
    "ALTER TABLE {c}.conditions.r ALTER COLUMN i TYPE nothing",
    "ALTER TABLE {c}.conditions.r SET TBLPROPERTIES ('provider' = 'x')",
)
DESCRIBED = (
    "DESCRIBE {c}.conditions.r i.x",
    "DESCRIBE {c}.conditions.r p.x",
    "SHOW CREATE TABLE {c}.conditions.r AS SERDE",
    "SHOW COLUMNS IN {c}.conditions.r IN nowhere",
)
COMMANDS = (
    "ANALYZE TABLE {c}.conditions.r COMPUTE STATISTICS",
    "MSCK REPAIR TABLE {c}.conditions.r",
    "LOAD DATA INPATH '/nothing' INTO TABLE {c}.conditions.r",
)
DEFAULTS = (
    *(
        f"CREATE TABLE {{c}}.conditions.new ({column}) USING iceberg {VERSION_3}"
        for column in (
            "id bigint DEFAULT 'x'",
            "id int DEFAULT 3000000000",
            "id decimal(3, 1) DEFAULT 123.45",
            "id int DEFAULT nothing",
            "id int, x int DEFAULT id + 1",
            "id int DEFAULT nothing(1)",
            "id int DEFAULT (SELECT 1)",
            "id double DEFAULT rand()",
        )
    ),
    "CREATE TABLE {c}.conditions.new (id int DEFAULT 5) USING iceberg",
    "ALTER TABLE {c}.conditions.v3 ADD COLUMN x int DEFAULT 'a'",
    "ALTER TABLE {c}.conditions.v3 ADD COLUMN x int DEFAULT nothing",
    "ALTER TABLE {c}.conditions.v3 ALTER COLUMN id SET DEFAULT 'a'",
)
DEFINED = (
    "CREATE TABLE {c}.conditions.new (id bigint, UNIQUE (id)) USING iceberg",
    "CREATE TABLE {c}.conditions.new (id bigint, PRIMARY KEY (id)) USING iceberg",
    "CREATE TABLE {c}.conditions.new (id bigint, CHECK (id > 1)) USING iceberg",
    "CREATE TABLE {c}.conditions.new (id bigint, CONSTRAINT x CHECK (id > 1)) USING iceberg",
    "CREATE TABLE {c}.conditions.new (id bigint GENERATED ALWAYS AS IDENTITY) USING iceberg",
    "CREATE TABLE {c}.conditions.new (id bigint PRIMARY KEY) USING iceberg",
    "TRUNCATE TABLE {c}.conditions.q PARTITION (p = 1)",
    "CREATE TABLE {c}.conditions.new (id bigint, id int) USING iceberg",
    "CREATE TABLE {c}.conditions.new USING iceberg AS SELECT 1 AS a, 2 AS a",
    "CREATE TABLE {c}.conditions.new (id nothing) USING iceberg",
    "ALTER TABLE {c}.conditions.r RENAME COLUMN i TO id",
    "SHOW PARTITIONS {c}.conditions.r",
    "SELECT {c}.system.nothing(1)",
    "CALL {c}.system.expire_snapshots()",
    "CALL {c}.system.rollback_to_snapshot('conditions.r')",
    "CALL {c}.system.expire_snapshots(nothing => 'conditions.r')",
)

STATEMENTS = (
    *STORED,
    *ASSIGNED,
    *DEFINED,
    *NOT_A_VALUE,
    *TOO_LARGE,
    *CALLED,
    *DESCRIBED,
    *COMMANDS,
    *DEFAULTS,
    *ALTERED,
    *PARSED,
    *OVERWRITTEN,
    "SELECT * FROM {c}.conditions.t.nothing",
    "SELECT * FROM {c}.conditions.nothing",
    "SELECT * FROM {c}.nowhere.t",
    "INSERT INTO {c}.conditions.nothing VALUES (1)",
    "DROP TABLE {c}.conditions.nothing",
    "DESCRIBE TABLE {c}.conditions.nothing",
    "ALTER TABLE {c}.conditions.nothing ADD COLUMN x int",
    "TRUNCATE TABLE {c}.conditions.nothing",
    "CREATE TABLE {c}.conditions.t (id bigint) USING iceberg",
    "CREATE NAMESPACE {c}.conditions",
    "DESCRIBE NAMESPACE {c}.nowhere",
    "DROP NAMESPACE {c}.nowhere",
    "SELEC 1 FROM {c}.conditions.t",
    "SELECT * FROM {c}.conditions.t WHERE id = = 3",
    "INSRT INTO {c}.conditions.t VALUES (1)",
    "SELECT unknown(id) FROM {c}.conditions.t",
    "SELECT regon FROM {c}.conditions.t",
    "SELECT * FROM {c}.conditions.t WHERE id > 'a' AND",
    "USE CATALOG {c}",
    "INSERT INTO {c}.conditions.t VALUES (1)",
    "INSERT INTO {c}.conditions.t VALUES (1, 'a', 2)",
    "INSERT INTO {c}.conditions.t (id, nothing) VALUES (1, 'a')",
    "ALTER TABLE {c}.conditions.t DROP COLUMN nothing",
    "ALTER TABLE {c}.conditions.t RENAME COLUMN nothing TO x",
    "ALTER TABLE {c}.conditions.t ADD COLUMN id int",
    "DELETE FROM {c}.conditions.t WHERE nothing = 1",
    "UPDATE {c}.conditions.t SET nothing = 1",
    "MERGE INTO {c}.conditions.t USING {c}.conditions.t s ON s.x = 1 WHEN MATCHED THEN DELETE",
    "SELECT count(id, ) FROM {c}.conditions.t",
    "SELECT id FROM {c}.conditions.t GROUP BY region",
    "SELECT * FROM {c}.conditions.t JOIN {c}.conditions.t ON id = id",
    "DESCRIBE TABLE {c}.conditions.t nothing",
    "SHOW COLUMNS IN {c}.conditions.nothing",
    "CALL {c}.system.nothing()",
)


def failure(session: SparkSession, text: str) -> Any:
    with pytest.raises(PySparkException) as caught:
        session.sql(text).collect()
    return caught.value


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_fails_with_javas_condition(
    java: SparkSession, ours: SparkSession, statement: str
) -> None:
    theirs = failure(java, statement.format(c="j"))
    own = failure(ours, statement.format(c="mine"))
    check_same(own, theirs)


@pytest.mark.parametrize(
    "statement",
    [
        *STORED,
        *ASSIGNED,
        *DEFINED,
        *NOT_A_VALUE,
        *CALLED,
        *DESCRIBED,
        *COMMANDS,
        *DEFAULTS,
        *ALTERED,
        *OVERWRITTEN,
        *TOO_LARGE,
    ],
)
def test_a_statement_over_connect_fails_with_javas_condition(
    java: SparkSession, remote: Any, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = failure(java, statement.format(c="j"))
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")
    check_same(failure(remote, statement.format(c="mine")), theirs)


VIEWS = (
    "CREATE VIEW {c}.conditions.new (a) AS SELECT 1, 2",
    "CREATE VIEW {c}.conditions.new (a, b) AS SELECT 1",
    "CREATE VIEW {c}.conditions.new (a, a) AS SELECT 1, 2",
    "CREATE VIEW {c}.conditions.new AS SELECT 1 AS a, 2 AS A",
    "ALTER VIEW {c}.conditions.nothing AS SELECT 1",
    "ALTER VIEW {c}.conditions.nothing RENAME TO x",
    "ALTER VIEW {c}.conditions.nothing SET TBLPROPERTIES ('a' = 'b')",
    "ALTER VIEW {c}.conditions.nothing UNSET TBLPROPERTIES IF EXISTS ('a')",
)


@pytest.fixture(scope="module")
def java_views(java: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    """The session with a catalog `jv` of Java's that has views."""
    place, catalog = tmp_path_factory.mktemp("views"), "spark.sql.catalog.jv"
    java.conf.set(catalog, "org.apache.iceberg.spark.SparkCatalog")
    settings = {"type": "jdbc", "uri": f"jdbc:sqlite:{place}/v.db", "jdbc.schema-version": "V1"}
    for key, value in {**settings, "warehouse": str(place)}.items():
        java.conf.set(f"{catalog}.{key}", value)
    java.sql("CREATE NAMESPACE jv.conditions")
    return java


@pytest.mark.parametrize("statement", VIEWS)
def test_a_statement_on_a_view_fails_with_javas_condition(
    java_views: SparkSession, ours: SparkSession, statement: str
) -> None:
    theirs = failure(java_views, statement.format(c="jv"))
    check_same(failure(ours, statement.format(c="mine")), theirs)


def test_replaced_columns_are_empty_as_with_java(java: SparkSession, ours: SparkSession) -> None:
    rows = []
    for session, name in ((java, "j"), (ours, "mine")):
        table = f"{name}.conditions.replaced"
        session.sql(f"CREATE TABLE {table} (id bigint, x int, p struct<a: int>) USING iceberg")
        session.sql(f"INSERT INTO {table} VALUES (1, 2, named_struct('a', 3))")
        session.sql(f"ALTER TABLE {table} REPLACE COLUMNS (id bigint, y int COMMENT 'new')")
        rows.append((session.table(table).collect(), session.sql(f"DESCRIBE {table}").collect()))
        session.sql(f"DROP TABLE {table}")
    assert rows[0] == rows[1]


def check_same(own: Any, theirs: Any) -> None:
    assert own.getCondition() == theirs.getCondition()
    assert own.getSqlState() == theirs.getSqlState()
    assert isinstance(own, AnalysisException) == isinstance(theirs, AnalysisException)
    if not theirs.getCondition().startswith("_LEGACY"):
        assert f"[{theirs.getCondition()}]" in str(own)
    assert "__iceberg" not in str(own), "a name of this library's own in a message"


def test_a_missing_table_is_both(ours: SparkSession) -> None:
    error = failure(ours, "SELECT * FROM mine.conditions.nothing")
    assert isinstance(error, IcebergError)
    assert "conditions.nothing" in str(error)


WRITES = {
    "append": lambda rows, name: rows.writeTo(name).append(),
    "insertInto": lambda rows, name: rows.write.insertInto(name),
    "saveAsTable": lambda rows, name: rows.write.format("iceberg").mode("append").saveAsTable(name),
}
ROWS = (
    "SELECT 1L AS id, 1 AS i, NULL AS p, 2 AS x",
    "SELECT 1L AS id, 1 AS i, 2 AS x",
    "SELECT 1L AS id, 1 AS i, 2 AS i",
    "SELECT 'a' AS id, 1 AS i, named_struct('a', 1, 'b', 'x') AS p",
    "SELECT 1L AS id, 1 AS i, named_struct('a', 1) AS p",
    "SELECT 1L AS id, 1 AS i, named_struct('a', 1, 'b', 'x', 'c', 1) AS p",
    "SELECT CAST(NULL AS bigint) AS id, 1 AS i, named_struct('a', 1, 'b', 'x') AS p",
)


BY_POSITION = (*ROWS[:1], *ROWS[3:])


@pytest.mark.parametrize("way", WRITES)
def test_a_write_of_a_frame_fails_with_javas_condition(
    java: SparkSession, ours: SparkSession, way: str
) -> None:
    by_position = way == "insertInto"
    for query in BY_POSITION if by_position else ROWS:
        found = []
        for session, name in ((java, "j"), (ours, "mine")):
            with pytest.raises(PySparkException) as caught:
                WRITES[way](session.sql(query), f"{name}.conditions.r")
            found.append(caught.value.getCondition())
        assert found[0] == found[1], query


def test_a_procedure_is_described_as_by_java(java: SparkSession, ours: SparkSession) -> None:
    text = "DESCRIBE PROCEDURE {c}.system.expire_snapshots"
    theirs, own = java.sql(text.format(c="j")), ours.sql(text.format(c="mine"))
    assert own.columns == theirs.columns
    (name, description), (own_name, own_description) = theirs.collect(), own.collect()
    assert own_name == name
    assert description[0].startswith("Description: ")
    assert own_description[0].startswith("Description: Remove old snapshots")


CALLS = {
    "stream": lambda s, c: s.readStream.table(f"{c}.conditions.nothing"),
    "merge": lambda s, c: s.range(1).mergeInto(f"{c}.conditions.t", sf.expr("true")).merge(),
    "recover": lambda s, c: s.catalog.recoverPartitions(f"{c}.conditions.t"),
    "as of a text": lambda s, c: s.read.option("timestampAsOf", "x").table(f"{c}.conditions.t"),
    "as of a month": lambda s, c: s.read.option("timestampAsOf", "2024-13-01").table(
        f"{c}.conditions.t"
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_method_fails_with_javas_condition(
    java: SparkSession, ours: SparkSession, call: str
) -> None:
    errors = []
    for session, name in ((java, "j"), (ours, "mine")):
        with pytest.raises(PySparkException) as caught:
            CALLS[call](session, name)
        errors.append(caught.value)
    check_same(errors[1], errors[0])


CONDITIONS = {
    "unknown": lambda: sf.col("nothing") == 1,
    "aggregate": lambda: sf.sum("id") == 1,
    "random": lambda: sf.rand() > 0.1,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_condition_of_an_overwrite_fails_as_in_java(
    java: SparkSession, ours: SparkSession, condition: str
) -> None:
    conditions = []
    for session, name in ((java, "j"), (ours, "mine")):
        rows = session.sql("SELECT 1L AS id, 'a' AS region")
        with pytest.raises(AnalysisException) as caught:
            rows.writeTo(f"{name}.conditions.t").overwrite(CONDITIONS[condition]())
        conditions.append(caught.value.getCondition())
    assert conditions[0] == conditions[1]


@pytest.mark.parametrize(
    "call",
    ["bucket(1)", "bucket(1, 2, 3)", "years()", "years(DATE '2020-01-01', 1)", "truncate(2)"],
)
def test_a_function_with_other_arguments_fails_during_analysis_as_in_java(
    java: SparkSession, ours: SparkSession, call: str
) -> None:
    for session, name in ((java, "j"), (ours, "mine")):
        with pytest.raises(AnalysisException, match=call.partition("(")[0]):
            session.sql(f"SELECT {name}.system.{call} FROM {name}.conditions.e")
