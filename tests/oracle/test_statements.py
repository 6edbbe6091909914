"""Statements of Iceberg's Spark documentation: ours on our table, Java's on its own, side by side.

Ours go by turns through the classic session and over Connect. After each statement both tables
have the same rows and, but for what Java sets unasked, the same definition; what SHOW, DESCRIBE and
CALL give is equal, ids of snapshots apart.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.by_turns import ByTurns

# `{c}` stands for the catalog.
DEFINITIONS = [
    """CREATE TABLE {c}.sqls.t (id bigint NOT NULL COMMENT 'unique id', data string,
       category string, ts timestamp, point struct<x: double NOT NULL, y: double>,
       tags map<string, int>, xs array<int>) USING iceberg
       PARTITIONED BY (bucket(4, id), days(ts), category)
       TBLPROPERTIES ('a.b' = 'c', d.e = 5) COMMENT 'it''s a table'""",
    """INSERT INTO {c}.sqls.t VALUES
       (1, 'a', 'x', TIMESTAMP '2024-01-01 10:00:00', named_struct('x', 1.0D, 'y', 2.0D),
        map('k', 1), array(1, 2)),
       (2, 'b', 'y', TIMESTAMP '2024-01-02 10:00:00', NULL, NULL, NULL)""",
    "INSERT INTO {c}.sqls.t (category, id, data) SELECT 'x', 3L, 'c; -- no comment'",
    "INSERT INTO {c}.sqls.t BY NAME SELECT 'd' AS data, 4 AS id, 'z' AS category",
    "WITH q AS (SELECT 5 AS id) INSERT INTO {c}.sqls.t (id, category) SELECT id, 'x' FROM q",
    "DESCRIBE TABLE {c}.sqls.t",
    "SHOW COLUMNS IN {c}.sqls.t",
    "SHOW TABLES IN {c}.sqls",
    "SHOW TABLES IN {c}.sqls LIKE 'z*|t'",
    "ALTER TABLE {c}.sqls.t ADD COLUMNS (n int COMMENT 'a number', m decimal(9, 2) AFTER data)",
    "ALTER TABLE {c}.sqls.t ADD COLUMN point.z double FIRST",
    "ALTER TABLE {c}.sqls.t ADD COLUMN first_one date FIRST",
    "ALTER TABLE {c}.sqls.t RENAME COLUMN data TO payload",
    "ALTER TABLE {c}.sqls.t ALTER COLUMN n TYPE bigint",
    "ALTER TABLE {c}.sqls.t ALTER COLUMN n COMMENT 'larger'",
    "ALTER TABLE {c}.sqls.t ALTER COLUMN n AFTER id",
    "ALTER TABLE {c}.sqls.t ALTER COLUMN id DROP NOT NULL",
    "ALTER TABLE {c}.sqls.t DROP COLUMN m",
    "ALTER TABLE {c}.sqls.t DROP COLUMN point.y",
    "ALTER TABLE {c}.sqls.t ADD PARTITION FIELD truncate(payload, 2)",
    "ALTER TABLE {c}.sqls.t REPLACE PARTITION FIELD ts_day WITH months(ts) AS month",
    "ALTER TABLE {c}.sqls.t DROP PARTITION FIELD bucket(4, id)",
    "ALTER TABLE {c}.sqls.t WRITE ORDERED BY category ASC NULLS LAST, id DESC",
    "ALTER TABLE {c}.sqls.t WRITE LOCALLY ORDERED BY bucket(8, id)",
    "ALTER TABLE {c}.sqls.t WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY category, id",
    "ALTER TABLE {c}.sqls.t WRITE DISTRIBUTED BY PARTITION",
    "ALTER TABLE {c}.sqls.t WRITE UNORDERED",
    "ALTER TABLE {c}.sqls.t SET TBLPROPERTIES ('x' = '1', 'y.z' = 'it''s; two')",
    "ALTER TABLE {c}.sqls.t UNSET TBLPROPERTIES ('x', 'a.b')",
    "COMMENT ON TABLE {c}.sqls.t IS 'another'",
    "DESCRIBE TABLE {c}.sqls.t",
]
ROWS = [
    "DELETE FROM {c}.sqls.t WHERE id = 1",
    "DELETE FROM {c}.sqls.t AS x WHERE x.id IN (SELECT max(id) FROM {c}.sqls.t)",
    "UPDATE {c}.sqls.t SET payload = concat(payload, '!'), point.x = 7 WHERE category = 'y'",
    "UPDATE {c}.sqls.t u SET u.n = CASE WHEN u.id > 3 THEN 1 ELSE 2 END",
    """MERGE INTO {c}.sqls.t target
       USING (SELECT 2L AS id, 'm' AS p, 'up' AS op UNION ALL SELECT 20L, 'n', 'in'
              UNION ALL SELECT 3L, 'gone', 'del') AS src
       ON target.id = src.id AND CASE WHEN src.id > 0 THEN true END
       WHEN MATCHED AND src.op = 'del' THEN DELETE
       WHEN MATCHED THEN UPDATE SET target.payload = src.p
       WHEN NOT MATCHED THEN INSERT (id, payload, category) VALUES (src.id, upper(src.p), 'w')
       WHEN NOT MATCHED BY SOURCE AND target.category = 'q' THEN DELETE""",
    """WITH s AS (SELECT * FROM {c}.sqls.t WHERE id = 20)
       MERGE INTO {c}.sqls.t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = 99""",
    "INSERT OVERWRITE {c}.sqls.t PARTITION (category = 'w') (id, payload) SELECT 30, 'only'",
    """INSERT INTO {c}.sqls.t REPLACE WHERE category = 'w'
       SELECT NULL, 31L, 1L, 'rw', 'w', NULL, NULL, NULL, NULL""",
    """MERGE INTO {c}.sqls.t USING (SELECT 31L AS sid, 'of no name' AS sv) ON id = sid
       WHEN MATCHED THEN UPDATE SET payload = sv""",
    """MERGE INTO {c}.sqls.t t
       USING (SELECT a.*, b.* FROM (SELECT 31L AS id, 'x' AS k) a
              JOIN (SELECT 'twice' AS w, 'x' AS k) b ON a.k = b.k) s
       ON t.id = s.id WHEN MATCHED THEN UPDATE SET payload = s.w""",
    """WITH a AS (SELECT 40L AS id, 'w' AS c) INSERT INTO {c}.sqls.t (id, category)
       WITH b AS (SELECT id + 1 AS id, c FROM a) SELECT id, c FROM b""",
    "DELETE FROM {c}.sqls.t WHERE id = 41 -- by C:\\\n AND id = 31",
]
REFERENCES = [
    "ALTER TABLE {c}.sqls.t CREATE BRANCH `audit`",
    "ALTER TABLE {c}.sqls.t CREATE BRANCH IF NOT EXISTS audit RETAIN 1 DAYS",
    "ALTER TABLE {c}.sqls.t CREATE TAG eoy RETAIN 365 DAYS",
    """ALTER TABLE {c}.sqls.t CREATE OR REPLACE BRANCH kept RETAIN 7 DAYS
       WITH SNAPSHOT RETENTION 2 SNAPSHOTS 3 DAYS""",
    "INSERT INTO {c}.sqls.t.branch_audit (id, category) VALUES (77, 'branch')",
    "DELETE FROM {c}.sqls.t.branch_audit WHERE id = 2",
    "SELECT id FROM {c}.sqls.t VERSION AS OF 'audit' ORDER BY id",
    "CALL {c}.system.fast_forward(table => 'sqls.t', branch => 'main', to => 'audit')",
    "ALTER TABLE {c}.sqls.t REPLACE TAG eoy RETAIN 10 DAYS",
    "ALTER TABLE {c}.sqls.t DROP BRANCH IF EXISTS nowhere",
    "ALTER TABLE {c}.sqls.t DROP BRANCH kept",
    "CALL {c}.system.rollback_to_timestamp('sqls.t', TIMESTAMP '2100-01-01 00:00:00')",
    "CALL {c}.system.ancestors_of('sqls.t')",
    "CALL {c}.system.expire_snapshots(table => 'sqls.t', retain_last => 100)",
]
MADE = [
    """CREATE TABLE {c}.sqls.made USING iceberg PARTITIONED BY (category)
       AS SELECT id, category FROM {c}.sqls.t""",
    "CREATE TABLE IF NOT EXISTS {c}.sqls.made (other int) USING iceberg",
    "REPLACE TABLE {c}.sqls.made USING iceberg AS SELECT id, 1 AS one FROM {c}.sqls.made",
    """CREATE OR REPLACE TABLE {c}.sqls.made (id bigint, two string) USING iceberg
       PARTITIONED BY (truncate(1, two))""",
    "INSERT INTO {c}.sqls.made VALUES (1, 'x')",
    "TRUNCATE TABLE {c}.sqls.made",
]
FIRST_VERSION = [
    """CREATE TABLE {c}.sqls.first (a int, b int, s string) USING iceberg
       PARTITIONED BY (a, bucket(4, s)) TBLPROPERTIES ('format-version' = '1')""",
    "INSERT INTO {c}.sqls.first VALUES (1, 2, 'x'), (1, 3, 'y')",
    "UPDATE {c}.sqls.first SET b = b + 1 WHERE s = 'x'",
    """MERGE INTO {c}.sqls.first t USING (SELECT 3 AS b, 'w' AS s) q ON t.s = q.s
       WHEN MATCHED THEN DELETE
       WHEN NOT MATCHED THEN INSERT (a, b, s) VALUES (9, b, upper(s))
       WHEN NOT MATCHED BY SOURCE AND b = 3 AND s = 'x' THEN UPDATE SET s = concat(s, s)""",
    "DELETE FROM {c}.sqls.first WHERE s IN ('y', 'W')",
    """CREATE OR REPLACE TABLE {c}.sqls.first (a int, b int, s string) USING iceberg
       PARTITIONED BY (bucket(8, s), b)""",
    "INSERT INTO {c}.sqls.first VALUES (3, 4, 'y')",
    """REPLACE TABLE {c}.sqls.first USING iceberg PARTITIONED BY (b)
       AS SELECT 1 AS a, 5 AS b, 'z' AS s, 6 AS n""",
    "ALTER TABLE {c}.sqls.first ADD PARTITION FIELD n",
    "INSERT INTO {c}.sqls.first VALUES (7, 8, 'q', 9)",
]
"""Version 1 counts the fields of every spec from 1000, so former ones stay as voids.

Java can't write where a void's column is gone, though it makes such tables.
"""
REFUSED = [  # what Java says, and what we say
    ("CREATE TABLE {c}.sqls.t (id int) USING iceberg", "ALREADY_EXISTS", "exists already"),
    ("ALTER TABLE {c}.sqls.t ADD COLUMN id int", "FIELD_ALREADY_EXISTS", "a column of that name"),
    (
        "ALTER TABLE {c}.sqls.t ALTER COLUMN n TYPE int",
        "NOT_SUPPORTED_CHANGE_COLUMN",
        "type of column 'n' from long to int",
    ),
    ("ALTER TABLE {c}.sqls.t DROP COLUMN nowhere", "`nowhere` cannot", "column 'nowhere'"),
    (
        "ALTER TABLE {c}.sqls.t DROP PARTITION FIELD nowhere",
        "Cannot find partition field to remove: nowhere",
        "Can't remove partition field 'nowhere'",
    ),
    ("ALTER TABLE {c}.sqls.t CREATE TAG eoy", "eoy already exists", "a tag 'eoy' already"),
    ("INSERT INTO {c}.sqls.t VALUES (1, 2)", "NOT_ENOUGH_DATA_COLUMNS", "2 columns .* 9 are"),
    ("INSERT INTO {c}.sqls.t (id, id) VALUES (1, 2)", "COLUMN_ALREADY_EXISTS", "column 'id' twice"),
    ("INSERT INTO {c}.sqls.t (id) VALUES ('no number')", "CANNOT_SAFELY_CAST", "`id` is of type"),
    ("UPDATE {c}.sqls.t SET id = 1, id = 2", "Multiple assignments", "'id' gets a value twice"),
    ("UPDATE {c}.sqls.t SET nowhere = 1", "`nowhere` cannot", "no column 'nowhere'"),
    ("DELETE FROM {c}.sqls.t WHERE nowhere = 1", "`nowhere` cannot", "`nowhere` cannot"),
    ("DELETE FROM {c}.sqls.nowhere", "TABLE_OR_VIEW_NOT_FOUND", "No table at .*nowhere"),
    ("SELECT 1; SELECT 2", "PARSE_SYNTAX_ERROR", "PARSE_SYNTAX_ERROR"),
    (
        "CALL {c}.system.rollback_to_snapshot('sqls.t')",
        "`snapshot_id` is required",
        "needs 'snapshot_id'",
    ),
    (
        "CALL {c}.system.rollback_to_snapshot(table => 'sqls.t', snapshot_id => 1)",
        "unknown snapshot id: 1",
        "No snapshot 1 in",
    ),
    ("CALL {c}.system.nothing('sqls.t')", "FAILED_TO_LOAD_ROUTINE", "no procedure 'nothing'"),
]
HIDDEN = [
    """CREATE TABLE {c}.sqls.hidden (id bigint, s string) USING iceberg PARTITIONED BY (s)
       TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')""",
    "INSERT INTO {c}.sqls.hidden SELECT /*+ COALESCE(1) */ id, 's' FROM range(5)",
    "DELETE FROM {c}.sqls.hidden WHERE id = 2",
    "SELECT * FROM {c}.sqls.hidden ORDER BY id",
    "SELECT *, _pos FROM {c}.sqls.hidden WHERE _pos > 1 ORDER BY _pos",
    "SELECT h._row_id, h.*, _spec_id FROM {c}.sqls.hidden AS h ORDER BY 1",
    "SELECT _partition.s, count(*) FROM {c}.sqls.hidden GROUP BY _partition.s",
    "SELECT id, _last_updated_sequence_number AS n FROM {c}.sqls.hidden ORDER BY id",
    "SELECT count(DISTINCT _file), min(_FILE) LIKE '%/data/%' FROM {c}.sqls.hidden",
    """SELECT a._pos - b._pos AS d, a.*, b.* FROM {c}.sqls.hidden a JOIN {c}.sqls.hidden b
       ON a.id = b.id + 1 ORDER BY a.id""",
    """SELECT *, a._pos FROM {c}.sqls.hidden a
       LEFT ANTI JOIN {c}.sqls.hidden b ON a.id = b._pos + 2 ORDER BY id""",
    """WITH w AS (SELECT *, _pos FROM {c}.sqls.hidden) SELECT w.*, _pos + 1 AS next FROM w
       ORDER BY id""",
    """SELECT _pos FROM {c}.sqls.hidden JOIN (SELECT 1L AS id, 'x' AS _pos) USING (id)""",
    "SELECT id AS _pos FROM {c}.sqls.hidden ORDER BY id",
    "SELECT * EXCEPT (s), _pos FROM {c}.sqls.hidden ORDER BY id",
    "SELECT id, _spec_id, _pos FROM {c}.sqls.hidden VERSION AS OF 'main' ORDER BY id",
]
HIDDEN_REFUSED = [
    (
        "SELECT count(hidden.*), max(_pos) FROM {c}.sqls.hidden",
        r"count\(hidden\.\*\) is not allowed",
        r"count\(hidden\.\*\) is not allowed",
    ),
    ("SELECT _pos FROM (SELECT * FROM {c}.sqls.hidden)", "`_pos` cannot", "`_pos` cannot"),
    (
        "SELECT _pos FROM {c}.sqls.hidden a JOIN {c}.sqls.hidden b ON a.id = b.id",
        "`_pos` is ambiguous",
        "`_pos` is ambiguous",
    ),
    ("SELECT _nothing FROM {c}.sqls.hidden", "`_nothing` cannot", "`_nothing` cannot"),
    ("SELECT * EXCEPT (_pos) FROM {c}.sqls.hidden", "`_pos` cannot", "EXCEPT.*_pos"),
]
UNASKED = ("owner", "write.parquet.compression-codec")


@pytest.fixture(scope="module")
def both(
    java: SparkSession, by_turns: ByTurns, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    java.sql("CREATE NAMESPACE j.sqls")
    with by_turns.with_catalog("o", str(tmp_path_factory.mktemp("ours"))):
        ice.sql(java, "CREATE NAMESPACE o.sqls")
        yield java


def given(frame: Any, statement: str) -> tuple[Any, ...]:
    """Return columns and rows; ids and times are made anew by each side.

    Java lists tables as the file system does, in no order.
    """
    kinds = [(field.name, field.dataType.simpleString()) for field in frame.schema.fields]
    rows = [tuple(row) for row in frame.collect()]
    if statement.startswith("CALL"):
        return kinds, len(rows), [[value is None for value in row] for row in rows]
    return kinds, sorted(rows) if statement.startswith("SHOW TABLES") else rows


def definition(place: str) -> dict[str, Any]:
    table = ice.load_table(place)
    metadata = table.metadata
    order = [one.snapshot_id for one in table.snapshots()]
    refs = table.refs().items()
    return {
        "schema": [str(field) for field in metadata.schema.fields],
        "docs": [field.doc for field in metadata.schema.fields],
        "spec": [(part.name, str(part.transform), part.field_id) for part in metadata.spec.fields],
        "order": str(metadata.sort_order.fields),
        "properties": {k: v for k, v in table.properties.items() if k not in UNASKED},
        "refs": {name: (ref.is_branch, order.index(ref.snapshot_id), ref.max_ref_age_ms,
                        ref.max_snapshot_age_ms, ref.min_snapshots_to_keep) for name, ref in refs},
        "operations": [one.operation for one in table.snapshots()],
    }  # fmt: skip


def kept(place: str) -> tuple[str, set[str]]:
    """Return a table's version, and all files in its folder."""
    files = {str(path) for path in Path(place).rglob("*") if path.is_file()}
    return ice.load_table(place).metadata_location, files


def content(place: str) -> list[str]:
    return sorted(str(row) for row in ice.load_table(place).scan().to_arrow().to_pylist())


def place(spark: SparkSession, catalog: str, table: str, namespace: str = "sqls") -> str:
    return str(Path(spark.conf.get(f"spark.sql.catalog.{catalog}.warehouse")) / namespace / table)


@pytest.mark.timeout(600)
def test_a_statement_does_what_javas_does_and_a_refused_one_nothing(
    both: SparkSession, by_turns: ByTurns
) -> None:
    for turn, statement in enumerate(DEFINITIONS + ROWS + REFERENCES + MADE + FIRST_VERSION):
        table = next((one for one in ("made", "first") if f"sqls.{one}" in statement), "t")
        theirs = given(both.sql(statement.format(c="j")), statement)
        assert by_turns.run(turn, ours_of(statement, statement.format(c="o"))) == theirs, statement
        mine, java = place(both, "o", table), place(both, "j", table)
        assert definition(mine) == definition(java), statement
        assert content(mine) == content(java), statement
    for turn, (statement, javas, ours) in enumerate(REFUSED):
        before = kept(place(both, "o", "t"))
        run = ours_of(statement, statement.format(c="o"))
        said = refusal(lambda text: both.sql(text).collect(), statement.format(c="j"))
        assert re.search(javas, said), (statement, said)
        said = refusal(partial(by_turns.run, turn), run)
        assert re.search(ours, said), (statement, said)
        assert kept(place(both, "o", "t")) == before, statement


@pytest.mark.timeout(300)
def test_metadata_columns_are_there_for_queries_that_name_them_as_in_java(
    both: SparkSession, by_turns: ByTurns
) -> None:
    for turn, statement in enumerate(HIDDEN):
        theirs = given(both.sql(statement.format(c="j")), statement)
        assert by_turns.run(turn, ours_of(statement, statement.format(c="o"))) == theirs, statement
    for turn, (statement, javas, ours) in enumerate(HIDDEN_REFUSED):
        run = ours_of(statement, statement.format(c="o"))
        said = refusal(lambda text: both.sql(text).collect(), statement.format(c="j"))
        assert re.search(javas, said), (statement, said)
        said = refusal(partial(by_turns.run, turn), run)
        assert re.search(ours, said), (statement, said)


def ours_of(statement: str, text: str) -> Callable[[Any], tuple[Any, ...]]:
    """What runs a statement by a session, and looks at what it gives."""
    return lambda session: given(ice.sql(session, text), statement)


def refused(run: Callable[[Any], object], given: object) -> bool:
    """Whether a statement is refused."""
    return refusal(run, given) != ""


def refusal(run: Callable[[Any], object], given: object) -> str:
    """What a statement is refused with, nothing where it is not."""
    try:
        run(given)
    except Exception as error:  # noqa: BLE001 (Java's are of many kinds)
        return str(error)
    return ""
