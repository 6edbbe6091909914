"""Statements over tables of ours: `ice.sql`, and `spark.sql` of an enabled session."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException

import iceberg_spark as ice
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchTableError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.spark.session.classic_session import is_connect


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A catalog `st` in a database and `fs` in folders, with a namespace `d` each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYICEBERG_CATALOG__ST__URI", f"sqlite:///{tmp_path}/st.db")
        patch.setenv("PYICEBERG_CATALOG__ST__WAREHOUSE", str(tmp_path / "st"))
        patch.setenv("PYICEBERG_CATALOG__FS__TYPE", "filesystem")
        patch.setenv("PYICEBERG_CATALOG__FS__WAREHOUSE", str(tmp_path / "fs"))
        ice.load_catalog("st").create_namespace("d")
        yield tmp_path


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def test_a_tables_life_in_statements(any_spark: Any, home: Path) -> None:
    def run(text: str) -> list[tuple[Any, ...]]:
        return rows(ice.sql(any_spark, text))

    assert run("CREATE TABLE st.d.t (id bigint NOT NULL, `a b` string) PARTITIONED BY (id)") == []
    run("INSERT INTO st.d.t VALUES (1, 'x'), (2, 'y'), (3, NULL)")
    run("UPDATE st.d.t AS u SET u.`a b` = concat(u.`a b`, '!') WHERE u.id IN (SELECT 2)")
    run("DELETE FROM st.d.t WHERE EXISTS (SELECT 1 FROM st.d.t x WHERE x.id = t.id + 2)")
    run(
        """MERGE INTO st.d.t USING (SELECT 2 AS id, 'm' AS v UNION ALL SELECT 9, 'n') AS src
           ON t.id = src.id WHEN MATCHED THEN UPDATE SET `a b` = src.v
           WHEN NOT MATCHED THEN INSERT (id, `a b`) VALUES (src.id, src.v)"""
    )
    assert run("SELECT * FROM st.d.t ORDER BY id") == [(2, "m"), (3, None), (9, "n")]
    run("CREATE TABLE st.d.copy AS SELECT `a b`, count(*) AS n FROM st.d.t GROUP BY 1")
    assert run("SHOW TABLES IN st.d") == [("d", "copy", False), ("d", "t", False)]
    run("ALTER TABLE st.d.copy RENAME TO st.d.renamed")
    run("DROP TABLE st.d.renamed PURGE")
    assert [row[0] for row in run("DESCRIBE st.d.t")][:2] == ["id", "a b"]


def test_a_location_is_named_in_backticks(spark: Any, tmp_path: Path) -> None:
    place = f"`{tmp_path}/t`"
    ice.sql(spark, f"CREATE TABLE {place} (id int, s string)")
    ice.sql(spark, f"INSERT INTO {place} (s) VALUES ('{{braces}}')")
    ice.sql(spark, f"ALTER TABLE `pyiceberg-lite`.{place} ADD COLUMN n int FIRST")
    assert rows(ice.sql(spark, f"SELECT * FROM {place}")) == [(None, None, "{braces}")]
    ice.sql(spark, f"DROP TABLE {place}")
    with pytest.raises(NoSuchTableError):
        ice.load_table(str(tmp_path / "t"))


def test_null_is_no_match_of_not_in(spark: Any, home: Path) -> None:
    """As SQL says: `NOT IN` with a NULL inside is never true, so nothing is deleted."""
    ice.sql(spark, "CREATE TABLE st.d.n (id int)")
    ice.sql(spark, "INSERT INTO st.d.n VALUES (1), (2), (NULL)")
    ice.sql(spark, "DELETE FROM st.d.n WHERE id NOT IN (SELECT id FROM st.d.n WHERE id IS NULL)")
    assert ice.load_table("st.d.n").scan().count() == 3
    ice.sql(spark, "DELETE FROM st.d.n WHERE NOT (id IN (SELECT 1))")
    found = rows(ice.sql(spark, "SELECT * FROM st.d.n ORDER BY id"))
    assert found == [(None,), (1,)]


def test_a_reader_of_a_branch_name_changes_the_branch(spark: Any, home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.b AS SELECT 1 AS id")
    ice.sql(spark, "ALTER TABLE st.d.b CREATE BRANCH audit")
    ice.sql(spark, "INSERT INTO st.d.b.branch_audit VALUES (2)")
    ice.sql(spark, "DELETE FROM st.d.b.branch_audit WHERE id = 1")
    assert rows(ice.sql(spark, "SELECT * FROM st.d.b.branch_audit")) == [(2,)]
    assert rows(ice.sql(spark, "SELECT * FROM st.d.b")) == [(1,)]
    with pytest.raises(UnsupportedError, match="only a table and its branches"):
        ice.sql(spark, "DELETE FROM st.d.b.snapshots")


def test_a_replaced_table_keeps_its_history(spark: Any, home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.r AS SELECT 1 AS id, 'x' AS s")
    before = ice.load_table("st.d.r")
    ice.sql(spark, "CREATE OR REPLACE TABLE st.d.r AS SELECT id + 1 AS id FROM st.d.r")
    after = ice.load_table("st.d.r")
    assert after.metadata.table_uuid == before.metadata.table_uuid
    assert after.schema().find_id("id") == before.schema().find_id("id")
    assert len(after.snapshots()) == 2
    snapshot = before.current_snapshot().snapshot_id
    assert rows(ice.sql(spark, f"SELECT * FROM st.d.r VERSION AS OF {snapshot}")) == [(1, "x")]
    assert rows(ice.sql(spark, "SELECT * FROM st.d.r")) == [(2,)]


def test_what_fails_leaves_no_table_and_no_file(spark: Any, home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t AS SELECT 1 AS id")
    files = sorted(home.rglob("*.parquet"))
    version = ice.load_table("st.d.t").metadata_location
    for text, error in {
        "CREATE TABLE st.d.t (id int)": TableAlreadyExistsError,
        "CREATE TABLE st.d.u AS SELECT raise_error('no') AS id": Exception,
        "REPLACE TABLE st.d.u AS SELECT 1 AS id": NoSuchTableError,
        "CREATE OR REPLACE TABLE st.d.t AS SELECT raise_error('no') AS id": Exception,
        "CREATE TABLE fs.d.t (id int) LOCATION '/elsewhere'": UnsupportedError,
        "INSERT INTO st.d.t VALUES ('no number')": Exception,
        "CALL st.system.nothing('d.t')": InvalidInputError,
        "CALL st.system.rollback_to_snapshot('d.t', 5)": ice.errors.IcebergError,
    }.items():
        with pytest.raises(error):
            ice.sql(spark, text)
    assert not ice.load_catalog("st").table_exists("d.u")
    assert sorted(home.rglob("*.parquet")) == files
    assert ice.load_table("st.d.t").metadata_location == version


def _temporary_views(spark: Any) -> set[str]:
    return {one.name for one in spark.catalog.listTables() if one.isTemporary}


def test_a_database_of_sparks_may_be_called_as_a_catalog_is(spark: Any, home: Path) -> None:
    """Names with fewer parts than a table of ours has are Spark's."""
    views_before = _temporary_views(spark)
    ice.sql(spark, "CREATE DATABASE st")
    try:
        ice.sql(spark, "CREATE TABLE st.plain USING parquet AS SELECT 1 AS id")
        assert rows(ice.sql(spark, "SELECT st.plain.id FROM st.plain")) == [(1,)]
        shown = ice.sql(spark, "SHOW TABLES IN st LIKE 'pl*'").where("NOT isTemporary")
        assert rows(shown) == [("st", "plain", False)]
        ice.sql(spark, "CREATE TABLE st.d.t AS SELECT 7 AS id")
        ice.sql(spark, "INSERT INTO st.plain SELECT id FROM st.d.t")
        bucketed = "CREATE TABLE st.other USING parquet CLUSTERED BY (id) INTO 2 BUCKETS"
        ice.sql(spark, f"{bucketed} AS SELECT 1 AS id")
        ice.sql(spark, "CREATE TABLE st.mine USING parquet AS SELECT id + 1 AS id FROM st.d.t x")
        assert rows(ice.sql(spark, "SELECT * FROM st.plain ORDER BY 1")) == [(1,), (7,)]
        assert rows(ice.sql(spark, "SELECT * FROM st.mine")) == [(8,)]
        assert _temporary_views(spark) == views_before
        ice.sql(spark, "DROP TABLE st.plain")
        with pytest.raises(InvalidInputError, match="USING csv: "):
            ice.sql(spark, "CREATE TABLE st.d.u (id int) USING csv")
    finally:
        spark.sql("DROP DATABASE st CASCADE")


def test_an_unknown_statement_about_an_iceberg_table_is_refused(spark: Any, home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t (id int)")
    with pytest.raises(
        UnsupportedError, match=r"CACHE TABLE st\.d\.t: .* not supported .* AS SELECT"
    ):
        ice.sql(spark, "CACHE TABLE st.d.t")
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        ice.sql(spark, "CACHE TABLE nowhere")


def test_rows_of_a_query_are_cached_under_a_name(spark: Any, home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t (id int)")
    ice.sql(spark, "INSERT INTO st.d.t VALUES (1), (2)")
    ice.sql(spark, "CACHE TABLE `kept rows` OPTIONS ('storageLevel' 'DISK_ONLY') FROM st.d.t")
    try:
        assert spark.catalog.isCached("`kept rows`")
        ice.sql(spark, "INSERT INTO st.d.t VALUES (3)")
        assert sorted(rows(spark.table("`kept rows`"))) == [(1,), (2,)]
        with pytest.raises(AnalysisException, match="TEMP_TABLE_OR_VIEW_ALREADY_EXISTS"):
            ice.sql(spark, "CACHE TABLE `kept rows` AS SELECT * FROM st.d.t")
    finally:
        spark.catalog.dropTempView("kept rows")
    ice.sql(spark, "CREATE TEMPORARY VIEW `an odd name` AS SELECT * FROM st.d.t")
    assert spark.catalog.dropTempView("an odd name")
    before = _temporary_views(spark)
    with pytest.raises(Exception, match=r"storageLevel|StorageLevel|STORAGE"):
        ice.sql(spark, "CACHE TABLE kept OPTIONS ('storageLevel' 'none such') AS FROM st.d.t")
    assert _temporary_views(spark) == before


def test_a_query_behind_ctes_changes_nothing_whatever_its_columns_are_called(
    spark: Any, home: Path
) -> None:
    ice.sql(spark, "CREATE TABLE st.d.t (id int, delete boolean)")
    ice.sql(spark, "INSERT INTO st.d.t VALUES (1, true), (2, false)")
    for text, found in {
        "WITH k AS (SELECT 1 AS x) SELECT id, id > 1 AS delete FROM st.d.t": [
            (1, False),
            (2, True),
        ],
        "WITH k AS (SELECT 1 AS x) SELECT delete FROM st.d.t WHERE id IN (SELECT x FROM k)": [
            (True,)
        ],
    }.items():
        assert sorted(rows(ice.sql(spark, text))) == found
    assert ice.load_table("st.d.t").scan().count() == 2


def test_a_sample_needs_no_alias(spark: Any, home: Path) -> None:
    for name in ("t", "u"):
        ice.sql(spark, f"CREATE TABLE st.d.{name} (id int)")
        ice.sql(spark, f"INSERT INTO st.d.{name} VALUES (1), (2), (3)")
    for text in (
        "SELECT t.id FROM st.d.t TABLESAMPLE (100 PERCENT) WHERE t.id < 3",
        "SELECT id FROM st.d.t TABLESAMPLE (10 ROWS) REPEATABLE (7) AS x WHERE x.id < 3",
        "SELECT t.id FROM st.d.t TABLESAMPLE (BUCKET 1 OUT OF 1) JOIN st.d.u ON t.id = 1 + u.id",
    ):
        assert (2,) in rows(ice.sql(spark, text)), text
    ice.sql(spark, "DELETE FROM st.d.t WHERE id IN (SELECT u.id FROM st.d.u TABLESAMPLE (2 ROWS))")
    assert ice.load_table("st.d.t").scan().count() == 1


def test_columns_of_a_merge_are_committed_with_its_rows(spark: Any, home: Path) -> None:
    """One commit; a merge that fails leaves none. Taken is what `*` or `t.a = s.a` sets."""
    ice.sql(spark, "CREATE TABLE st.d.g AS SELECT 1 AS id, 1 AS v")
    table = ice.load_table("st.d.g")
    before = len(table.metadata.metadata_log)
    merge = """MERGE WITH SCHEMA EVOLUTION INTO st.d.g t USING
        (SELECT {} AS id, 5000000000 AS v, 'x' AS a, 'y' AS b) s ON t.id = s.id {}"""
    for key, clauses, told in (
        ("explode(array(1, 1))", "WHEN MATCHED THEN UPDATE SET *", "more than one row"),
        (
            "1",
            "WHEN MATCHED THEN UPDATE SET a = s.a, v = raise_error('the value broke')",
            "the value broke",
        ),
        ("2", "WHEN NOT MATCHED THEN INSERT (id, a, nowhere) VALUES (s.id, s.a, 1)", "nowhere"),
    ):
        with pytest.raises(Exception, match=told):  # Spark's and ours
            ice.sql(spark, merge.format(key, clauses))
        assert ice.load_table("st.d.g").metadata_location == table.metadata_location, clauses
    for clauses, columns in (
        ("WHEN MATCHED AND s.b = 'y' THEN UPDATE SET t.a = s.a", ("id", "v", "a")),
        ("WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, length(s.b))", ("id", "v", "a")),
        ("WHEN MATCHED THEN UPDATE SET *", ("id", "v", "a", "b")),
    ):
        ice.sql(spark, merge.format("1", clauses))
        found = table.refresh()
        assert found.schema().column_names == columns, clauses
    assert str(found.schema().find_type("v")) == "long"
    assert len(found.metadata.metadata_log) == before + 2
    assert found.current_snapshot().schema_id == found.metadata.current_schema_id
    assert rows(ice.sql(spark, "SELECT * FROM st.d.g")) == [(1, 5000000000, "x", "y")]


def test_values_of_partitions_are_cast_and_ctes_reach_conditions(spark: Any, home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.p (id int, day date) PARTITIONED BY (day)")
    ice.sql(spark, "INSERT INTO st.d.p PARTITION (day = '2024-01-01') SELECT explode(array(1, 2))")
    ice.sql(spark, "INSERT INTO st.d.p VALUES (3, DATE '2024-01-02')")
    ice.sql(spark, "INSERT OVERWRITE st.d.p PARTITION (day = '2024-01-01') SELECT 4")
    ice.sql(spark, "WITH q AS (SELECT 4 AS n) UPDATE st.d.p SET id = (SELECT max(n) + 1 FROM q)")
    assert rows(ice.sql(spark, "SELECT id, string(day) FROM st.d.p ORDER BY day")) == [
        (5, "2024-01-01"),
        (5, "2024-01-02"),
    ]
    ice.sql(
        spark,
        """WITH q AS (SELECT max(day) AS day FROM st.d.p)
           DELETE FROM st.d.p WHERE EXISTS (SELECT 1 FROM q WHERE q.day = p.day)""",
    )
    assert rows(ice.sql(spark, "SELECT id FROM st.d.p WHERE day = '2024-01-01'")) == [(5,)]
    assert ice.load_table("st.d.p").scan().count() == 1


def test_a_session_writes_to_its_wap_branch_or_stages(spark: Any, home: Path) -> None:
    """Where the table has `write.wap.enabled`, and only there."""
    ice.sql(
        spark, "CREATE TABLE st.d.w TBLPROPERTIES ('write.wap.enabled' = 'true') AS SELECT 1 AS id"
    )
    ice.sql(spark, "CREATE TABLE st.d.plain AS SELECT 1 AS id")
    spark.conf.set("spark.wap.branch", "audit")
    version = ice.load_table("st.d.w").metadata_location
    try:
        with pytest.raises(Exception, match="no number"):
            ice.sql(spark, "INSERT INTO st.d.w SELECT CAST(raise_error('no number') AS int)")
        assert ice.load_table("st.d.w").metadata_location == version
        for refused in (
            "UPDATE st.d.w SET id = CAST(raise_error('no number') AS int)",
            "INSERT OVERWRITE st.d.w SELECT CAST(raise_error('no number') AS int)",
            """MERGE INTO st.d.w t USING (SELECT 1 AS id) s ON t.id = s.id
               WHEN MATCHED THEN UPDATE SET id = CAST(raise_error('no number') AS int)""",
        ):
            with pytest.raises(Exception, match="no number"):
                ice.sql(spark, refused)
            assert ice.load_table("st.d.w").refs().keys() == {"main"}
        ice.sql(spark, "INSERT INTO st.d.w VALUES (2)")
        ice.sql(spark, "INSERT INTO st.d.plain VALUES (2)")
        spark.conf.set("spark.wap.branch", "other")
        ice.sql(spark, "DELETE FROM st.d.w WHERE id = 1")
        assert rows(ice.sql(spark, "SELECT * FROM st.d.w")) == []
    finally:
        spark.conf.unset("spark.wap.branch")
    spark.conf.set("spark.wap.id", "load-7")
    try:
        ice.sql(spark, "INSERT INTO st.d.w VALUES (3)")
    finally:
        spark.conf.unset("spark.wap.id")
    ids = "SELECT id FROM {} ORDER BY id"
    assert rows(ice.sql(spark, ids.format("st.d.w"))) == [(1,)]
    assert rows(ice.sql(spark, ids.format("st.d.w.branch_audit"))) == [(1,), (2,)]
    assert rows(ice.sql(spark, ids.format("st.d.plain"))) == [(1,), (2,)]
    ice.sql(spark, "CALL st.system.publish_changes('d.w', 'load-7')")
    assert rows(ice.sql(spark, ids.format("st.d.w"))) == [(1,), (3,)]


def test_procedures_do_what_the_maintenance_methods_do(spark: Any, home: Path) -> None:
    ice.sql(spark, "CREATE TABLE st.d.m (id bigint, p string) PARTITIONED BY (p)")
    for number in range(3):
        ice.sql(spark, f"INSERT INTO st.d.m VALUES ({number}, 'a'), ({number + 10}, 'b')")

    def call(text: str) -> Any:
        return ice.sql(spark, f"CALL st.system.{text}").collect()[0]

    done = call("rewrite_data_files(table => 'd.m', options => map('min-input-files', '2'))")
    assert (done.rewritten_data_files_count, done.added_data_files_count) == (6, 2)
    assert call("rewrite_manifests('d.m')").rewritten_manifests_count >= 1
    assert call("rewrite_position_delete_files('st.d.m')").rewritten_delete_files_count == 0
    assert call("compute_table_stats(table => 'd.m', columns => array('id'))").statistics_file
    assert call("compute_partition_stats('d.m')").partition_statistics_file
    home_of = home / "parquet"
    spark.range(3).selectExpr("id", "'a' AS p").write.parquet(str(home_of / "one"))
    spark.range(2).selectExpr("id", "'a' AS p").write.parquet(str(home_of / "two"))
    assert call(f"snapshot('parquet.`{home_of}/one`', 'd.taken')").imported_files_count >= 1
    assert call(f"add_files('d.taken', '`parquet`.`{home_of}/two`')").added_files_count >= 1
    assert ice.load_table("st.d.taken").scan().count() == 5
    assert call(f"migrate('{home_of}/two')").migrated_files_count >= 1
    spark.range(2).selectExpr("id", "'up' AS p").createOrReplaceTempView("changed")
    done = call("upsert('d.taken', 'changed', array('id'))")
    assert (done.added_records, done.added_equality_deletes) == (2, 2)
    spark.catalog.dropTempView("changed")
    soon = "TIMESTAMP '2100-01-01 00:00:00'"
    assert call(f"expire_snapshots('d.m', {soon}, 1)").deleted_data_files_count == 6
    assert ice.sql(spark, "CALL st.system.remove_orphan_files('d.m')").collect() == []
    assert ice.load_table("st.d.m").scan().count() == 6


def test_an_enabled_sessions_sql_takes_statements_about_our_tables(
    any_spark: Any, home: Path
) -> None:
    ice.enable(any_spark)
    try:
        run = any_spark.sql
        run("CREATE TABLE st.d.e (id int, day date) PARTITIONED BY (day)")
        run("INSERT INTO st.d.e SELECT id, date'2024-01-01' FROM range(3)")
        assert rows(run("SELECT count(*) FROM st.d.e WHERE id < :n", args={"n": 2})) == [(2,)]
        assert rows(run("SELECT {a} + 1 AS b FROM VALUES (1)", a=41)) == [(42,)]
        run("CREATE OR REPLACE TEMP VIEW mine AS SELECT 5 AS five")
        assert rows(run("SELECT five FROM mine")) == [(5,)]
        assert rows(run("SELECT five + id FROM mine, st.d.e WHERE id = 1")) == [(6,)]
        assert rows(any_spark.table("st.d.e").where("id = 2").select("id")) == [(2,)]
        assert rows(any_spark.read.table("st.d.e.snapshots").select("operation")) == [("append",)]
        run("DROP VIEW mine")
        run("CREATE TEMPORARY VIEW ours AS SELECT id FROM st.d.e WHERE id < 2")
        run("INSERT INTO st.d.e VALUES (0, NULL)")
        is_pinned = is_connect(any_spark)  # Spark resolves a view's text at each use
        assert rows(run("SELECT count(*) FROM ours")) == [(2 if is_pinned else 3,)]
        run("DROP VIEW ours")
        assert "id" in rows(run("EXPLAIN EXTENDED SELECT id FROM st.d.e"))[0][0]
    finally:
        ice.disable(any_spark)
    with pytest.raises(Exception, match=r"TABLE_OR_VIEW_NOT_FOUND|REQUIRES_SINGLE_PART|catalog"):
        any_spark.sql("SELECT * FROM st.d.e").collect()
