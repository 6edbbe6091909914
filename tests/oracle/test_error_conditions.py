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
    yield session
    java.sql("DROP TABLE j.conditions.t PURGE")
    ice.disable(session)


STATEMENTS = (
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
