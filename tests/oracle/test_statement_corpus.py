"""More statements of Iceberg's Spark documentation, page by page: ours and Java's side by side.

As in `test_statements`: after each both tables have the same rows and definition, and what is
shown is equal. `{id[0]}`, `{ms[0]}` are id and time of a side's first snapshot.
"""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.by_turns import ByTurns
from tests.oracle.test_statements import content, definition, given, ours_of, place

DDL = [
    """CREATE TABLE {c}.docs.t (id bigint NOT NULL, data string, category string, ts timestamp,
       catalog string, measurement float, location struct<lat: double, lon: double>)
       USING iceberg PARTITIONED BY (days(ts));""",
    "ALTER TABLE {c}.docs.t SET TBLPROPERTIES ('comment' = 'A table comment.')",
    """ALTER TABLE {c}.docs.t ADD COLUMNS ( -- with a comment; and a semicolon
         new_column string comment 'new_column docs')""",
    "ALTER TABLE {c}.docs.t ADD COLUMN points array<struct<x: double, y: double>>",
    "ALTER TABLE {c}.docs.t ADD COLUMN points.element.z double",
    "ALTER TABLE {c}.docs.t ADD COLUMN m map<struct<x: int>, struct<a: int>>",
    "ALTER TABLE {c}.docs.t ADD COLUMN m.value.b int",
    "ALTER TABLE {c}.docs.t ADD COLUMN location.alt bigint FIRST",
    "ALTER TABLE {c}.docs.t RENAME COLUMN location.lat TO latitude",
    "ALTER TABLE {c}.docs.t ALTER COLUMN measurement TYPE double",
    "ALTER TABLE {c}.docs.t ALTER COLUMN measurement COMMENT 'unit is kilobytes\\nper second'",
    "ALTER TABLE {c}.docs.t ALTER COLUMN data FIRST",
    "ALTER TABLE {c}.docs.t ALTER COLUMN location.alt AFTER lon",
    "ALTER TABLE {c}.docs.t SET IDENTIFIER FIELDS id",
    "SHOW TBLPROPERTIES {c}.docs.t ('identifier-fields')",
    "ALTER TABLE {c}.docs.t DROP IDENTIFIER FIELDS id",
    "ALTER TABLE {c}.docs.t ADD PARTITION FIELD catalog",
    "ALTER TABLE {c}.docs.t ADD PARTITION FIELD bucket(16, id) AS shard",
    "ALTER TABLE {c}.docs.t DROP PARTITION FIELD shard",
    "ALTER TABLE {c}.docs.t DROP PARTITION FIELD catalog",
    "ALTER TABLE {c}.docs.t REPLACE PARTITION FIELD ts_day WITH month(ts) AS month_of_ts",
    "ALTER TABLE {c}.docs.t WRITE ORDERED BY category ASC NULLS LAST, id DESC NULLS FIRST",
    """ALTER TABLE {c}.docs.t WRITE ORDERED BY truncate(data, 2), years(ts) DESC, bucket(4, id),
       location.lon""",
    "SHOW TBLPROPERTIES {c}.docs.t ('sort-order')",
    "ALTER TABLE {c}.docs.t WRITE UNORDERED",
    "SHOW TBLPROPERTIES {c}.docs.t ('write.distribution-mode')",
    "ALTER TABLE {c}.docs.t WRITE LOCALLY ORDERED BY (category, bucket(4, id) /* newest */ DESC)",
    "ALTER TABLE {c}.docs.t WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY (id)",
    "ALTER TABLE {c}.docs.t WRITE UNORDERED",
    "ALTER TABLE {c}.docs.t ADD PARTITION FIELD truncate(2, -- width\n data) AS short",
    "ALTER TABLE {c}.docs.t DROP PARTITION FIELD short",
    """ALTER TABLE {c}.docs.t CHANGE COLUMN points points
       array<struct<x: double, y: double, z: double>> COMMENT 'where' AFTER id""",
    "SHOW COLUMNS IN {c}.docs.t IN docs",
    """CREATE TABLE {c}.docs.f (Id bigint, p struct<x: double COMMENT 'east', y: int>) USING iceberg
       PARTITIONED BY (P.x, ID) TBLPROPERTIES (a = TRUE)""",
    "DESCRIBE TABLE {c}.docs.f",
    "DESCRIBE TABLE {c}.docs.f ID",
    "SHOW TBLPROPERTIES {c}.docs.f ('a')",
    """CREATE TABLE {c}.docs.orcs (Id bigint, Ts timestamp) USING orc
       PARTITIONED BY (days(ts), bucket(4, /* shards */ ID))""",
    "DESCRIBE TABLE {c}.docs.orcs",
    "SHOW TBLPROPERTIES {c}.docs.orcs ('write.format.default')",
    "SHOW TABLES IN {c}.docs LIKE '[d-o]*'",
    """CREATE TABLE {c}.docs.aws (id bigint, data string, category string) USING iceberg
       OPTIONS ('write.object-storage.enabled'=true, 'write.data.path'='/tmp/never-written')
       PARTITIONED BY (category)""",
    *(
        f"SHOW TBLPROPERTIES {{c}}.docs.aws ('{option}{key}')"
        for key in ("write.object-storage.enabled", "write.data.path")
        for option in ("", "option.")
    ),
]
ROWS = [
    """INSERT INTO {c}.docs.t (id, data, ts) VALUES
       (1, 'a', TIMESTAMP '2020-05-10 00:00:00'), (2, 'b', TIMESTAMP '2020-07-01 10:00:00')""",
    "INSERT INTO {c}.docs.t (id, data, ts) SELECT id + 2, upper(data), ts FROM {c}.docs.t",
    "INSERT INTO {c}.docs.t (id, data) SELECT 9, data FROM {c}.docs.t WHERE length(data) = 1",
    """DELETE FROM {c}.docs.t
       WHERE ts >= '2020-05-01 00:00:00' and ts < '2020-06-01 00:00:00' and id = 1""",
    "DELETE FROM {c}.docs.t AS a WHERE EXISTS (SELECT id FROM {c}.docs.t b WHERE a.id + 1 = b.id)",
    """UPDATE {c}.docs.t SET data = 'update_c1', category = "c2"
       WHERE id < (SELECT max(id) FROM {c}.docs.t)""",
    """MERGE INTO {c}.docs.t t USING (SELECT 4 AS id, 'delete' AS op UNION ALL SELECT 9, 'increment'
         UNION ALL SELECT 50, 'new') s ON t.id = s.id AND t.data <> 'b'
       WHEN MATCHED AND s.op = 'delete' THEN DELETE
       WHEN MATCHED AND t.measurement IS NULL AND s.op = 'increment'
         THEN UPDATE SET t.measurement = 0
       WHEN MATCHED AND s.op = 'increment' THEN UPDATE SET t.measurement = t.measurement + 1
       WHEN NOT MATCHED AND s.id > 9 THEN INSERT (id, data) VALUES (s.id, s.op)
       WHEN NOT MATCHED BY SOURCE THEN UPDATE SET category = 'invalid'""",
    "ALTER TABLE {c}.docs.t CREATE BRANCH `audit-branch` AS OF VERSION {id[0]} RETAIN 30 DAYS",
    "ALTER TABLE {c}.docs.t CREATE TAG `historical-tag` AS OF VERSION {id[1]} RETAIN 365 DAYS",
    "INSERT INTO {c}.docs.t.`branch_audit-branch` (id, data) VALUES (70, 'audit')",
    "ALTER TABLE {c}.docs.t DROP COLUMN location.alt",
]
REFERENCES = [
    "ALTER TABLE {c}.docs.t CREATE BRANCH a AS OF VERSION {id[0]}",
    "ALTER TABLE {c}.docs.t REPLACE BRANCH a AS OF VERSION {id[1]} RETAIN 3 HOURS",
    "ALTER TABLE {c}.docs.t REPLACE BRANCH a",
    "ALTER TABLE {c}.docs.t CREATE BRANCH b WITH SNAPSHOT RETENTION 3 DAYS",
    "ALTER TABLE {c}.docs.t REPLACE BRANCH b WITH SNAPSHOT RETENTION 2 SNAPSHOTS",
    "ALTER TABLE {c}.docs.t CREATE OR REPLACE TAG x AS OF VERSION {id[0]}",
    "ALTER TABLE {c}.docs.t CREATE OR REPLACE TAG x RETAIN 5 MINUTES",
    "ALTER TABLE {c}.docs.t CREATE TAG IF NOT EXISTS x AS OF VERSION {id[1]}",
    "ALTER TABLE {c}.docs.t CREATE TAG IF NOT EXISTS y",
    "ALTER TABLE {c}.docs.t DROP TAG IF EXISTS z",
    "ALTER TABLE {c}.docs.t DROP TAG IF EXISTS x",
    "ALTER TABLE {c}.docs.t DROP TAG y",
    "ALTER TABLE {c}.docs.t DROP BRANCH a",
    "ALTER TABLE {c}.docs.t DROP BRANCH b",
]
QUERIES = [
    "SELECT id, data FROM {c}.docs.t VERSION AS OF {id[1]} ORDER BY id",
    "SELECT id, data FROM {c}.docs.t FOR SYSTEM_VERSION AS OF 'audit-branch' ORDER BY id",
    "SELECT * FROM {c}.docs.t TIMESTAMP AS OF timestamp_millis({ms[1]}) ORDER BY id",
    "SELECT id FROM {c}.docs.t FOR SYSTEM_TIME AS OF timestamp_millis({ms[0]}) ORDER BY id",
    "SELECT count(*) FROM {c}.docs.t TIMESTAMP AS OF 4102444800",
    "SELECT id FROM {c}.docs.t.`branch_audit-branch` ORDER BY id",
    "SELECT id FROM {c}.docs.t.`tag_historical-tag` ORDER BY id",
    "SELECT {c}.docs.t.id AS n FROM {c}.docs.t WHERE {c}.docs.t.id > 2 ORDER BY 1",
    """SELECT h.is_current_ancestor, s.operation, s.summary['added-records']
       FROM {c}.docs.t.history h JOIN {c}.docs.t.snapshots s ON h.snapshot_id = s.snapshot_id
       ORDER BY made_current_at""",
    "SELECT content, sum(record_count) FROM {c}.docs.t.files GROUP BY 1 ORDER BY 1",
    "SELECT DISTINCT status FROM {c}.docs.t.all_entries ORDER BY 1",
    "SELECT name, type FROM {c}.docs.t.refs ORDER BY 1",
    """SELECT record_count, file_count FROM {c}.docs.t.partitions VERSION AS OF {id[1]}
       ORDER BY 1, 2""",
    """SELECT {c}.system.truncate(2, data) AS a, {c}.system.truncate(10, id - 5) AS b,
         {c}.system.truncate(3, CAST(id - 5 AS tinyint)) AS c,
         {c}.system.truncate(3, CAST(id - 5 AS smallint)) AS d,
         {c}.system.truncate(7, {c}.system.truncate(3, CAST(-id AS int))) AS e,
         {c}.system.truncate(50, CAST(id - 3.14 AS decimal(9, 2))) AS f,
         {c}.system.truncate(3, CAST(upper(data) AS binary)) AS g
       FROM {c}.docs.t ORDER BY id, data""",
    """SELECT {c}.system.bucket(16, id) AS a, {c}.system.bucket(16, CAST(id AS smallint)) AS b,
         {c}.system.bucket(16, CAST(id - 3.14 AS decimal(9, 2))) AS c,
         {c}.system.bucket(16, data) AS d, {c}.system.bucket(16Y, CAST(data AS binary)) AS e,
         {c}.system.bucket(16, CAST(ts AS date)) AS f, {c}.system.bucket(16, ts) AS g,
         {c}.system.bucket(16, CAST(ts AS timestamp_ntz)) AS h, {c}.system.years(ts) AS i,
         {c}.system.months(ts) AS j, {c}.system.days(ts) AS k, {c}.system.hours(ts) AS l,
         {c}.system.years(CAST(ts AS date)) AS m, {c}.system.months(CAST(ts AS date)) AS n,
         {c}.system.days(CAST(ts AS date)) AS o,
         {c}.system.hours(CAST(ts AS timestamp_ntz)) AS p
       FROM {c}.docs.t ORDER BY id, data""",
    """SELECT sum(added_data_files_count) FROM {c}.docs.t.manifests
       TIMESTAMP AS OF timestamp_millis({ms[1]})""",
    "SELECT id, data FROM {c}.docs.t WITH (versionAsOf = {id[1]}) ORDER BY id",
    """SELECT t.id FROM {c}.docs.t WITH ('versionAsOf' = 'audit-branch', `split-size` = 5) AS t
       JOIN {c}.docs.t WITH (versionasof = 'historical-tag') o ON t.id = o.id ORDER BY 1""",
    "SELECT id FROM {c}.docs.t WITH (timestampAsOf '2099-01-01 00:00:00') ORDER BY id",
    """SELECT sum(added_data_files_count) FROM {c}.docs.t.manifests
       WITH (`versionAsOf` = '{id[1]}')""",
]
PROCEDURES = [
    "CALL {c}.system.rollback_to_snapshot('docs.t', {id[2]})",
    "CALL {c}.system.set_current_snapshot('docs.t', {id[6]})",
    "CALL {c}.system.set_current_snapshot(table => 'docs.t', ref => 'historical-tag')",
    "CALL {c}.system.set_current_snapshot(snapshot_id => {id[6]}L, table => '{c}.docs.t')",
    "CALL {c}.system.cherrypick_snapshot('docs.t', {id[7]})",
    "CALL {c}.system.ancestors_of('docs.t', {id[1]})",
    "CALL {c}.system.rewrite_data_files(table => 'docs.t', where => 'id = 3 and data = \"foo\"')",
    """CALL {c}.system.rewrite_data_files(table => 'docs.t', strategy => 'sort',
       sort_order => 'id DESC NULLS LAST,data ASC NULLS FIRST',
       options => map('rewrite-all', 'true'))""",
    "CALL {c}.system.rewrite_manifests('docs.t', false)",
    """CALL {c}.system.rewrite_position_delete_files(table => 'docs.t',
       options => map('rewrite-all', 'true'))""",
    "CALL {c}.system.compute_table_stats(table => 'docs.t', columns => array('id', 'data'))",
    "CALL {c}.system.compute_partition_stats('docs.t')",
    "CALL {c}.system.remove_orphan_files(table => 'docs.t', dry_run => true)",
    "ALTER TABLE {c}.docs.t DROP BRANCH `audit-branch`",
    "ALTER TABLE {c}.docs.t DROP TAG `historical-tag`",
    "CALL {c}.system.expire_snapshots('docs.t', TIMESTAMP '2100-01-01 00:00:00.000', 1)",
]
OURS_ALONE = [
    "CALL o.system.maintenance_plan('docs.t')",
    "CALL o.system.convert_equality_deletes('docs.t')",
    "ALTER TABLE o.docs.t ALTER COLUMN measurement TYPE double COMMENT 'unit is bytes per second'",
    "CALL o.system.remove_orphan_files(table => 'docs.t', equal_schemes => map('file', 'file1'))",
]
"""What the documentation has, and Spark's parser or Java refuses here; and procedures of ours."""


@pytest.fixture(scope="module")
def both(
    java: SparkSession, by_turns: ByTurns, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    java.sql("CREATE NAMESPACE j.docs")
    with by_turns.with_catalog("o", str(tmp_path_factory.mktemp("ours"))):
        ice.sql(java, "CREATE NAMESPACE o.docs")
        yield java


def filled(spark: SparkSession, statement: str, catalog: str) -> str:
    ids: list[int] = []
    times: list[int] = []
    if "[" in statement:
        snapshots = ice.load_table(place(spark, catalog, "t", "docs")).snapshots()
        ids = [one.snapshot_id for one in snapshots]
        times = [one.timestamp_ms for one in snapshots]
    return statement.format(c=catalog, id=ids, ms=times)


@pytest.mark.timeout(600)
def test_the_documentations_statements_do_what_javas_do(
    both: SparkSession, by_turns: ByTurns
) -> None:
    for turn, statement in enumerate(DDL + ROWS + REFERENCES + QUERIES + PROCEDURES):
        theirs = given(both.sql(filled(both, statement, "j")), statement)
        ours = by_turns.run(turn, ours_of(statement, filled(both, statement, "o")))
        assert ours == theirs, statement
        if not statement.startswith("SELECT"):
            mine, java = (place(both, catalog, "t", "docs") for catalog in "oj")
            assert definition(mine) == definition(java), statement
            assert content(mine) == content(java), statement
    for turn, statement in enumerate(OURS_ALONE):
        by_turns.run(turn, ours_of(statement, statement))
