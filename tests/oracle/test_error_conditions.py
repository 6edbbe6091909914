"""Statements that fail have Spark's error conditions, as with Java's catalogs."""

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.errors import IcebergError


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
        one.sql(f"INSERT INTO {name}.conditions.r VALUES (1, 1, named_struct('a', 1, 'b', 'x'))")
    yield session
    java.sql("DROP TABLE j.conditions.t PURGE")
    java.sql("DROP TABLE j.conditions.r PURGE")
    ice.disable(session)


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

STATEMENTS = (
    *STORED,
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
    assert own.getCondition() == theirs.getCondition()
    assert own.getSqlState() == theirs.getSqlState()
    assert isinstance(own, AnalysisException) == isinstance(theirs, AnalysisException)
    assert f"[{theirs.getCondition()}]" in str(own)


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
    "SELECT 'a' AS id, 1 AS i, named_struct('a', 1, 'b', 'x') AS p",
    "SELECT 1L AS id, 1 AS i, named_struct('a', 1) AS p",
    "SELECT 1L AS id, 1 AS i, named_struct('a', 1, 'b', 'x', 'c', 1) AS p",
    "SELECT CAST(NULL AS bigint) AS id, 1 AS i, named_struct('a', 1, 'b', 'x') AS p",
)


@pytest.mark.parametrize("way", WRITES)
def test_a_write_of_a_frame_fails_with_javas_condition(
    java: SparkSession, ours: SparkSession, way: str
) -> None:
    by_position = way == "insertInto"  # where Spark has other conditions for nested fields
    for query in ROWS[::3] if by_position else ROWS:
        found = []
        for session, name in ((java, "j"), (ours, "mine")):
            with pytest.raises(PySparkException) as caught:
                WRITES[way](session.sql(query), f"{name}.conditions.r")
            found.append(caught.value.getCondition())
        assert found[0] == found[1], query
