"""The catalog of a statement is found in its text, without a request to Spark."""

from typing import get_args

import pytest

from iceberg_spark.expr.dialect import SPARK
from iceberg_spark.spark.sql.references_iceberg import catalogs_in
from iceberg_spark.spark.sql.statements.read import Command, read_statement

KINDS = ("NAMESPACE", "DATABASE", "SCHEMA")
OF_NAMESPACES = [
    "CREATE {kind} {c}.d",
    "CREATE {kind} IF NOT EXISTS {c}.d COMMENT 'x'",
    "DROP {kind} {c}.d CASCADE",
    "DROP {kind} IF EXISTS {c}.d",
    "ALTER {kind} {c}.d SET PROPERTIES ('a' = 'b')",
    "ALTER {kind} {c}.d UNSET PROPERTIES ('a')",
    "ALTER {kind} {c}.d SET LOCATION '/x'",
    "COMMENT ON {kind} {c}.d IS 'x'",
    "DESCRIBE {kind} {c}.d",
    "DESC {kind} EXTENDED {c}.d",
    "USE {kind} {c}.d",
]
OTHERS = [
    "USE {c}",
    "USE {c}.d",
    "SET CATALOG {c}",
    "SET CATALOG 'c'",
    "SHOW NAMESPACES IN {c}",
    "SHOW DATABASES FROM {c} LIKE 'a*'",
    "SHOW SCHEMAS IN {c}.d",
    "SHOW TABLES IN {c}.d",
    "SHOW TABLES FROM {c}.d LIKE 'a*'",
    "SHOW VIEWS IN {c}",
    "SHOW VIEWS FROM {c}.d 'a*'",
    "SHOW TABLE EXTENDED IN {c}.d LIKE 'a*'",
    "SHOW PROCEDURES IN {c}.system",
    "DESCRIBE PROCEDURE {c}.system.expire_snapshots",
    "SHOW USER FUNCTIONS IN {c}.system",
    "SHOW FUNCTIONS {c}.system.days",
    "SHOW COLUMNS IN t FROM {c}.d",
    "SHOW COLUMNS IN t IN {c}.d",
    "SHOW COLUMNS IN {c}.d.t",
    "SHOW PARTITIONS {c}.d.t",
    "SHOW TBLPROPERTIES {c}.d.t ('a')",
    "SHOW CREATE TABLE {c}.d.t",
    "DESCRIBE {c}.d.t",
    "DESCRIBE TABLE EXTENDED {c}.d.t",
    "DESCRIBE FORMATTED {c}.d.t a",
    "REFRESH TABLE {c}.d.t",
    "COMMENT ON TABLE {c}.d.t IS NULL",
    "CREATE TABLE {c}.d.t (id int)",
    "CREATE TABLE IF NOT EXISTS {c}.1d.t AS SELECT 1",
    "REPLACE TABLE {c}.d.t AS SELECT 1",
    "DROP TABLE IF EXISTS {c}.d.t PURGE",
    "ALTER TABLE {c}.d.t SET LOCATION '/x'",
    "ALTER TABLE {c}.d.t CREATE BRANCH b",
    "CREATE VIEW {c}.d.v AS SELECT 1",
    "CREATE OR REPLACE VIEW {c}.d.v AS SELECT 1",
    "ALTER VIEW {c}.d.v RENAME TO w",
    "DROP VIEW IF EXISTS {c}.d.v",
    "INSERT INTO {c}.d.t VALUES (1)",
    "INSERT OVERWRITE TABLE {c}.d.t.branch_b SELECT 1",
    "DELETE FROM {c}.d.t",
    "UPDATE {c}.d.t SET a = 1",
    "MERGE INTO {c}.d.t USING s ON true WHEN MATCHED THEN DELETE",
    "TRUNCATE TABLE {c}.d.t",
    "CALL {c}.system.ancestors_of('d.t')",
]
EVERY = [text.replace("{kind}", kind) for text in OF_NAMESPACES for kind in KINDS] + OTHERS


@pytest.mark.parametrize("text", EVERY)
def test_the_catalog_of_every_statement_is_recognized(text: str) -> None:
    for written in ("c", "`c`"):
        assert "c" in (catalogs_in(text.format(c=written), SPARK) or ()), text


def test_every_command_is_covered() -> None:
    nameless = {"ShowCurrentNamespace"}
    read = {type(read_statement(text.format(c="c"))).__name__ for text in EVERY}
    known = {kind.__name__ for kind in get_args(Command)}
    assert known - read == nameless
    assert read <= known


def test_a_location_may_be_an_iceberg_table_and_an_unreadable_text_is_not() -> None:
    assert catalogs_in("DROP TABLE `/data/t`", SPARK) is None
    assert catalogs_in("SELECT 'never closed", SPARK) == []
    assert catalogs_in("SELECT 'in c.d.t' AS x", SPARK) == []
