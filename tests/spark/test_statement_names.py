"""What a session adds to statements: USE, parameters, frames in braces, the branch it works on."""

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import functions as sf

import iceberg_spark as ice
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidSchemaError,
    NoSuchNamespaceError,
    NoSuchTableError,
    UnsupportedError,
)
from iceberg_spark.spark.session.classic_session import is_connect
from iceberg_spark.statements.in_catalogs import matching


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


@pytest.fixture
def enabled(any_spark: Any, sql_home: Path) -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
    """`spark.sql(text, ...)` of an enabled session, with its rows."""
    ice.enable(any_spark)
    try:
        yield lambda text, *args, **named: rows(any_spark.sql(text, *args, **named))
    finally:
        any_spark.sql("USE spark_catalog.default")
        ice.disable(any_spark)


def test_iceberg_catalogs_are_listed_with_those_of_spark(
    enabled: Callable[..., list[tuple[Any, ...]]], any_spark: Any
) -> None:
    """By `ice.sql`, and by Spark where it can have the catalogs: not over Connect."""

    def listed(text: str) -> list[str]:
        return [name for (name,) in ice.sql(any_spark, text).collect()]

    names = listed("SHOW CATALOGS")
    assert {"spark_catalog", "st"} <= set(names) and names == sorted(set(names))
    assert set(names) == {one.name for one in any_spark.catalog.listCatalogs()}
    assert listed("SHOW CATALOGS LIKE 's?|ST'") == ["st"]
    assert listed("SHOW CATALOGS 'nothing*'") == []
    assert ice.sql(any_spark, "SHOW CATALOGS").columns == ["catalog"]
    assert (("st",) in enabled("SHOW CATALOGS")) is not is_connect(any_spark)


def test_use_completes_the_names_of_every_statement(
    enabled: Callable[..., list[tuple[Any, ...]]], any_spark: Any
) -> None:
    run = enabled
    any_spark.range(3).createOrReplaceTempView("shadow")
    run("USE st.d")
    assert run("SHOW CURRENT NAMESPACE") == [("st", "d")]
    run("CREATE TABLE t (id bigint, s string)")
    run("INSERT INTO t SELECT id, 'x' FROM shadow")  # the temporary view comes first
    run("CREATE TABLE shadow AS SELECT 7 AS id")
    run("UPDATE t SET s = 'y' WHERE id IN (SELECT max(id) FROM t)")
    run("DELETE FROM d.t WHERE st.d.t.id = 0 AND d.t.id = t.id")
    nine = "(SELECT 9L AS id, 'z' AS s) n"
    run(f"MERGE INTO t USING {nine} ON d.t.id = n.id WHEN NOT MATCHED THEN INSERT *")
    run("ALTER TABLE t ADD COLUMN n int")
    assert run("WITH t2 AS (SELECT * FROM t) SELECT id, s FROM t2 ORDER BY 1") == [
        (1, "x"), (2, "y"), (9, "z"),
    ]  # fmt: skip
    assert run("SELECT count(*) FROM shadow") == [(3,)]
    assert run("SELECT d.shadow.id, st.d.shadow.* FROM d.shadow") == [(7, 7)]
    assert run("SHOW TABLES LIKE 't'") == [("d", "t", False)]
    assert [row[0] for row in run("DESCRIBE t")] == ["id", "s", "n"]
    assert run("SELECT count(*) FROM d.t.snapshots") == run("SELECT count(*) FROM st.d.t.history")
    assert len(run("CALL system.ancestors_of('d.t')")) == 4
    assert rows(any_spark.table("t").select("id").where("id > 2")) == [(9,)]
    run("CREATE NAMESPACE e")
    run("USE e")
    assert run("SHOW NAMESPACES") == [("d",), ("e",)]
    with pytest.raises(NoSuchNamespaceError):
        run("USE nowhere")
    assert run("SELECT count(*) FROM d.t") == [(3,)]
    assert run("SHOW CURRENT NAMESPACE") == [("st", "e")]
    run("USE spark_catalog.default")
    assert run("SHOW CURRENT NAMESPACE") == [("spark_catalog", "default")]
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        run("SELECT * FROM t")
    any_spark.catalog.dropTempView("shadow")


def test_a_name_alone_is_of_the_root_namespace_after_use_of_a_catalog_alone(
    enabled: Callable[..., list[tuple[Any, ...]]], any_spark: Any
) -> None:
    run = enabled
    any_spark.sql("CREATE TABLE alone USING parquet AS SELECT 1 AS id")
    try:
        run("USE st")
        assert run("SHOW CURRENT NAMESPACE") == [("st", "")]
        for text in (
            "SELECT * FROM alone", "DROP TABLE alone", "TRUNCATE TABLE alone", "DESCRIBE alone",
            "INSERT INTO alone VALUES (2)", "DELETE FROM alone", "ALTER TABLE alone RENAME TO b",
        ):  # fmt: skip
            with pytest.raises(NoSuchTableError, match="No table alone in catalog 'st'"):
                run(text)
        assert not any_spark.catalog.tableExists("alone")
        with pytest.raises(NoSuchTableError):
            any_spark.table("alone")
        run("CREATE TABLE alone (id bigint)")
        any_spark.range(1).writeTo("alone").append()
        any_spark.range(1).write.insertInto("alone")
        any_spark.range(2).writeTo("two").create()
        assert run("SHOW TABLES") == [("", "alone", False), ("", "two", False)]
        assert [one.name for one in any_spark.catalog.listTables()] == ["alone", "two"]
        assert [row[0] for row in rows(any_spark.table("st.alone"))] == [0, 0]
        assert any_spark.read.format("iceberg").load("st.alone.snapshots").count() == 2
        assert any_spark.catalog.tableExists("alone") and not run("SHOW VIEWS IN st LIKE 'no'")
        run("DROP TABLE two")
        run("CREATE TABLE d.t AS SELECT 5 AS id")
        assert run("SELECT * FROM d.t") == [(5,)]
        assert run("SHOW TABLES IN d") == [("d", "t", False)]
        assert run("WITH alone AS (SELECT 6 AS id) SELECT * FROM alone") == [(6,)]
        assert run("SELECT count(*) FROM {rows}", rows=any_spark.range(4)) == [(4,)]
        run("SET CATALOG spark_catalog")
        assert run("SELECT * FROM alone") == [(1,)]
    finally:
        any_spark.sql("USE spark_catalog.default")
        any_spark.sql("DROP TABLE alone")


def test_use_of_a_catalog_chooses_its_default_namespace(
    enabled: Callable[..., list[tuple[Any, ...]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__ST__DEFAULT_NAMESPACE", "d")
    enabled("SET CATALOG st")
    assert enabled("SHOW CURRENT NAMESPACE") == [("st", "d")]
    enabled("CREATE TABLE t AS SELECT 1 AS id")
    assert enabled("SELECT * FROM st.d.t") == [(1,)]


def test_frames_in_braces_are_no_tables_of_what_use_chose(
    enabled: Callable[..., list[tuple[Any, ...]]], any_spark: Any
) -> None:
    enabled("USE st.d")
    enabled("CREATE TABLE t AS SELECT 1L AS id")
    joined = "SELECT f.id FROM {f} AS f JOIN t ON t.id = f.id"
    assert enabled(joined, f=any_spark.range(3)) == [(1,)]


def test_use_is_of_one_session(spark: Any, sql_home: Path) -> None:
    other = spark.newSession()
    ice.sql(spark, "CREATE TABLE st.d.t AS SELECT 1 AS id")
    ice.sql(other, "USE st.d")
    try:
        assert rows(ice.sql(other, "SELECT * FROM t")) == [(1,)]
        with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
            ice.sql(spark, "SELECT * FROM t")
    finally:
        ice.sql(other, "USE spark_catalog.default")


def test_every_statement_accepts_parameters(
    enabled: Callable[..., list[tuple[Any, ...]]],
) -> None:
    run = enabled
    day, moment = dt.date(2024, 2, 29), dt.datetime(2024, 3, 31, 1, 30, tzinfo=dt.UTC)
    run(
        "CREATE TABLE st.d.p (id bigint, s string, f double, m decimal(9, 2), d date,"
        " ts timestamp, b binary, a array<int>, st struct<x: int, y: string>, k map<string, int>)"
    )
    odd = 'it\'s \\ "quoted" ${env:HOME} :id ? {brace}'
    run(
        "INSERT INTO st.d.p VALUES (:id, :s, :f, :m, :d, :ts, :b, :a, :st, :k)",
        {"id": -1, "s": odd, "f": float("nan"), "m": Decimal("-1.10"), "d": day, "ts": moment,
         "b": b"\x00\xff", "a": sf.array(sf.lit(1), sf.lit(2)),
         "st": sf.named_struct(sf.lit("x"), sf.lit(1), sf.lit("y"), sf.lit("it's")),
         "k": sf.create_map(sf.lit("q'"), sf.lit(2))},
    )  # fmt: skip
    assert run("SELECT s, d, b, a, st.y, k FROM st.d.p WHERE s = ? AND isnan(f)", [odd]) == [
        (odd, day, bytearray(b"\x00\xff"), [1, 2], "it's", {"q'": 2})
    ]
    run("INSERT INTO st.d.p (id, s) VALUES (?, ?), (?, NULL)", [2, "two", 3])
    run(
        "UPDATE st.d.p SET s = :new WHERE id -:one = :two AND id < 10",
        {"new": "n", "one": 1, "two": 1},
    )
    run(
        "DELETE FROM st.d.p WHERE d = :d AND ts = :ts AND m = :m AND b = :b AND s <> ':d'",
        {"d": day, "ts": moment, "m": Decimal("-1.10"), "b": b"\x00\xff"},
    )
    run(
        "MERGE INTO st.d.p t USING (SELECT ? AS id) x ON t.id = x.id AND t.id > ?"
        " WHEN MATCHED THEN UPDATE SET s = ? WHEN NOT MATCHED THEN INSERT (id) VALUES (?)",
        [3, 0, "m", 99],
    )
    assert run("SELECT id, s FROM st.d.p ORDER BY id") == [(2, "n"), (3, "m")]
    run("ALTER TABLE st.d.p SET TBLPROPERTIES ('x' = ':no', 'y' = '?')", {"no": 1})
    assert ice.load_table("st.d.p").properties["x"] == ":no"
    before = ice.load_table("st.d.p").metadata_location
    with pytest.raises(InvalidInputError, match="2 values are needed"):
        run("DELETE FROM st.d.p WHERE id = ? OR id = ?", [2])
    with pytest.raises(Exception, match="UNBOUND_SQL_PARAMETER"):
        run("DELETE FROM st.d.p WHERE id = :missing", {"other": 2})
    assert ice.load_table("st.d.p").metadata_location == before


def test_dataframes_in_braces_may_be_joined_with_iceberg_tables(
    enabled: Callable[..., list[tuple[Any, ...]]], any_spark: Any
) -> None:
    run = enabled
    df = any_spark.createDataFrame([(1, "a"), (2, "{b}")], "id int, s string")
    run("CREATE TABLE st.d.f AS SELECT * FROM {df}", df=df)
    found = any_spark.sql(
        "SELECT t.id, x.s FROM st.d.f t JOIN {df} x ON t.id = x.id WHERE x.s = {s} OR x.s = '{{'",
        df=df, s="{b}",
    )  # fmt: skip
    views = {one.name for one in any_spark.catalog.listTables() if one.isTemporary}
    assert not any(name.startswith("iceberg_spark") for name in views)
    assert rows(found) == [(2, "{b}")]
    run(
        "MERGE INTO st.d.f t USING {df} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = {v}",
        df=df.where("id = 1"),
        v="it's",
    )
    run("INSERT INTO st.d.f SELECT id + 10, s FROM {df}", df=df)
    run("DELETE FROM st.d.f WHERE id IN (SELECT id + 10 FROM {df})", df=df.limit(1))
    assert run("SELECT id, s FROM st.d.f ORDER BY id") == [(1, "it's"), (2, "{b}"), (12, "{b}")]
    with pytest.raises(InvalidInputError, match="given are df"):
        run("DELETE FROM st.d.f WHERE id IN (SELECT id FROM {other})", df=df)
    with pytest.raises(UnsupportedError, match="a column is written by its name"):
        run("DELETE FROM st.d.f WHERE {df.id} = 1", df=df)


def test_a_session_reads_the_branch_that_it_works_on(spark: Any, sql_home: Path) -> None:
    """As Java: where the table has `write.wap.enabled`, and the branch is there already."""
    spark.conf.set("spark.wap.branch", "audit")
    try:
        ice.sql(
            spark,
            "CREATE TABLE st.d.w TBLPROPERTIES ('write.wap.enabled' = 'true') AS SELECT 1 AS id",
        )
        ids = "SELECT id FROM st.d.w{} ORDER BY id"
        assert rows(ice.sql(spark, ids.format(""))) == [(1,)]
        ice.sql(spark, "INSERT INTO st.d.w SELECT id + 1 FROM st.d.w")
        ice.sql(spark, "DELETE FROM st.d.w WHERE id IN (SELECT min(id) FROM st.d.w)")
        assert rows(ice.sql(spark, ids.format(""))) == [(2,)]
        assert rows(ice.sql(spark, ids.format(" VERSION AS OF 'main'"))) == [(1,)]
    finally:
        spark.conf.unset("spark.wap.branch")
    assert rows(ice.sql(spark, ids.format(""))) == [(1,)]


def test_a_catalogs_functions_are_its_partition_transforms(
    enabled: Callable[..., list[tuple[Any, ...]]],
) -> None:
    """Of every row what the table's own partitions are."""
    run = enabled
    run(
        """CREATE TABLE st.d.x (id bigint, s string, ts timestamp, day date)
           PARTITIONED BY (bucket(7, id), bucket(5, s), months(ts), years(day),
                           truncate(1, s), truncate(4, id))"""
    )
    run(
        """INSERT INTO st.d.x VALUES
           (1, 'it''s', TIMESTAMP '1969-12-31 23:30:00', DATE'1969-01-01'),
           (-2, 'ü', TIMESTAMP '2024-02-29 01:00:00', DATE'2024-02-29'), (NULL, NULL, NULL, NULL)"""
    )
    calls = """st.system.bucket(7, id), st.system.bucket(5, s), st.system.month(ts),
               `st`.SYSTEM.years(day), st.system.truncate(1, s), st.system.truncate(4, id)"""
    assert sorted(run(f"SELECT {calls} FROM st.d.x"), key=str) == sorted(
        run("SELECT partition.* FROM st.d.x.files"), key=str
    )
    shown = "st.system.days(ts), st.system.hours(ts), length(st.system.iceberg_version()) > 5"
    assert run(f"SELECT {shown} FROM st.d.x WHERE id = 1") == [(dt.date(1969, 12, 31), -1, True)]
    run("DELETE FROM st.d.x WHERE st.system.bucket(7, id) = st.system.bucket(7, 1L)")
    run("USE st.d")
    assert run("SELECT system.days(ts), 'system.days(x)' FROM x WHERE s = 'ü'") == [
        (dt.date(2024, 2, 29), "system.days(x)")
    ]
    with pytest.raises(InvalidInputError, match="no function 'nothing'"):
        run("SELECT st.system.nothing(1)")
    told = "SELECT st.system.truncate(2, upper(a.s)) FROM st.d.x AS a JOIN x b ON a.id = b.id"
    assert run(told) == [("Ü",)]
    run("UPDATE x SET s = system.truncate(3, 'abcd') WHERE st.system.truncate(5, id) = -5")
    assert run("SELECT s FROM x WHERE id = -2") == [("abc",)]
    for unknown in ("n) FROM (SELECT 1 AS n)", "ts) FROM x", "s, 1) FROM x"):
        with pytest.raises(InvalidInputError, match=r"truncate\((w, |\.\.\.\) takes 2)"):
            run(f"SELECT st.system.truncate(2, {unknown}")
    for bad in ("2, s) FROM (SELECT length(s) AS s FROM x)", "0, s) FROM x", "id, s) FROM x"):
        with pytest.raises(Exception, match=r"truncate\((w|n), x\)"):
            run(f"SELECT st.system.truncate({bad}")


def test_default_stands_for_a_value_and_table_for_a_query(spark: Any, sql_home: Path) -> None:
    run = _runner(spark)
    run(
        """CREATE TABLE st.d.v (id int DEFAULT 5, s string DEFAULT 'it''s', n int)
           TBLPROPERTIES ('format-version' = '3')"""
    )
    run("INSERT INTO st.d.v VALUES (DEFAULT, 'DEFAULT', default), (1, DEFAULT, 2)")
    run("INSERT INTO st.d.v (s, id) VALUES (DEFAULT, 2), ('x', DEFAULT)")
    run("UPDATE st.d.v SET S = DEFAULT, n = DEFAULT WHERE id = 1 OR s = 'x'")
    run(
        """MERGE INTO st.d.v USING (SELECT 2 AS k UNION ALL SELECT 9) x ON v.id = x.k
           WHEN MATCHED THEN UPDATE SET n = 7 WHEN NOT MATCHED THEN INSERT (id, s)
           VALUES (k, DEFAULT)"""
    )
    assert sorted(run("TABLE st.d.v"), key=str) == sorted(
        [(5, "DEFAULT", None), (1, "it's", None), (2, "it's", 7), (5, "it's", None),
         (9, "it's", None)], key=str
    )  # fmt: skip
    run("INSERT INTO st.d.v TABLE st.d.v")
    assert run("SELECT count(*) FROM st.d.v") == [(10,)]


def test_a_condition_may_hold_a_subquery_about_its_own_row(any_spark: Any, sql_home: Path) -> None:
    """Over Connect as well: of an error with a long plan Spark says no condition there."""
    run = _runner(any_spark)
    run(
        """CREATE TABLE st.d.c TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')
           AS SELECT id, id % 2 AS p, 0 AS v FROM range(6)"""
    )
    run("DELETE FROM st.d.c AS x WHERE id = (SELECT max(id) FROM st.d.c y WHERE y.p = x.p)")
    run("UPDATE st.d.c SET v = 1 WHERE id = (SELECT min(id) FROM st.d.c y WHERE y.p = c.p)")
    run("ALTER TABLE st.d.c SET TBLPROPERTIES ('write.update.mode' = 'merge-on-read')")
    run("UPDATE st.d.c x SET v = (SELECT count(*) FROM st.d.c y WHERE y.id < x.id) WHERE v = 0")
    assert run("SELECT id, v FROM st.d.c ORDER BY id") == [(0, 1), (1, 1), (2, 2), (3, 3)]
    run("UPDATE st.d.c x SET v = if(EXISTS (SELECT 1 FROM st.d.c y WHERE y.id > x.id), 9, v)")
    assert run("SELECT v FROM st.d.c ORDER BY id") == [(9,), (9,), (9,), (3,)]
    with pytest.raises(InvalidInputError, match="not deterministic"):
        run("DELETE FROM st.d.c x WHERE rand() < (SELECT max(id) FROM st.d.c y WHERE y.p = x.p)")


def test_a_view_of_changes_shows_deletes_by_position(spark: Any, sql_home: Path) -> None:
    """Where Java's procedure fails."""
    run = _runner(spark)
    run(
        """CREATE TABLE st.d.m TBLPROPERTIES ('write.delete.mode' = 'merge-on-read',
           'write.update.mode' = 'merge-on-read') AS SELECT id, 'a' AS s FROM range(4)"""
    )
    run("DELETE FROM st.d.m WHERE id = 1")
    run("UPDATE st.d.m SET s = 'b' WHERE id = 2")
    ids = [one.snapshot_id for one in ice.load_table("st.d.m").snapshots()]
    assert run(
        f"""CALL st.system.create_changelog_view(table => 'd.m', identifier_columns => array('id'),
            options => map('start-snapshot-id', '{ids[0]}', 'end-snapshot-id', '{ids[2]}'))"""
    ) == [("`m_changes`",)]
    shown = "SELECT id, s, _change_type, _change_ordinal FROM m_changes ORDER BY 4, 3 DESC"
    assert run(shown) == [
        (1, "a", "DELETE", 0), (2, "a", "UPDATE_BEFORE", 1), (2, "b", "UPDATE_AFTER", 1),
    ]  # fmt: skip
    spark.catalog.dropTempView("m_changes")


def test_columns_of_a_new_table_follow_the_case_sensitivity_of_the_session(
    spark: Any, sql_home: Path
) -> None:
    run = _runner(spark)
    parts = "PARTITIONED BY (days(ts), bucket(4, ID))"
    for text in (
        f"CREATE TABLE st.d.t (Id bigint, Ts timestamp) USING iceberg {parts}",
        f"REPLACE TABLE st.d.t (Id bigint, Ts timestamp) {parts}",
        f"CREATE OR REPLACE TABLE st.d.t {parts} AS SELECT 1L AS Id, current_timestamp() AS Ts",
        f"CREATE TABLE st.d.u {parts} AS SELECT 1L AS Id, current_timestamp() AS Ts",
    ):
        run(text)
        fields = ice.load_table(text.split(" TABLE ")[1][:6]).spec().fields
        assert [(one.source_id, str(one.transform)) for one in fields] == [
            (2, "day"), (1, "bucket[4]"),
        ]  # fmt: skip
    assert run("DESCRIBE st.d.t ID")[:2] == [("col_name", "ID"), ("data_type", "bigint")]
    before = ice.load_table("st.d.t").metadata_location
    for columns in ("(id int, ID int)", "(s struct<a: int, A: int>)", "AS SELECT 1 AS id, 2 AS ID"):
        for verb in ("CREATE TABLE st.d.n", "CREATE OR REPLACE TABLE st.d.t"):
            with pytest.raises(InvalidSchemaError, match="differ only by case"):
                run(f"{verb} {columns}")
    assert not ice.load_catalog("st").table_exists("d.n")
    assert ice.load_table("st.d.t").metadata_location == before
    with _case_told_apart(spark):
        run("CREATE TABLE st.d.n PARTITIONED BY (ID) AS SELECT 1 AS id, 2 AS ID")
        assert run("SELECT id, ID FROM st.d.n") == [(1, 2)]
        run("REPLACE TABLE st.d.n PARTITIONED BY (ID) AS SELECT 3 AS id, 4L AS ID")
        assert run("SELECT id, ID FROM st.d.n") == [(3, 4)]
        for text in (
            "CREATE TABLE st.d.m (Id int) PARTITIONED BY (ID)",
            "CREATE TABLE st.d.m PARTITIONED BY (ID) AS SELECT 1 AS Id",
            "REPLACE TABLE st.d.n (Id int) PARTITIONED BY (ID)",
        ):
            with pytest.raises(InvalidSchemaError, match="No column 'ID'"):
                run(text)
        assert run("DESCRIBE st.d.n ID")[:2] == [("col_name", "ID"), ("data_type", "bigint")]
        with pytest.raises(InvalidSchemaError, match="no column 'iD'"):
            run("DESCRIBE st.d.n iD")


def test_patterns_are_regular_expressions_and_odd_names_are_shown_in_backticks(
    enabled: Callable[..., list[tuple[Any, ...]]], any_spark: Any
) -> None:
    """As Spark shows them, and as it finds them: the quoted name of a namespace."""
    run = enabled
    for name in ("t1", "t2", "tx", "orders"):
        run(f"CREATE TABLE st.d.{name} (id int)")
    for pattern, found in {
        "t[0-9]": ["t1", "t2"],
        " T.|ord* ": ["orders", "t1", "t2", "tx"],
        "t[|tx|(?u)t": ["tx"],
        "t1 | tx": [],
    }.items():
        shown = run(f"SHOW TABLES IN st.d LIKE '{pattern}'")
        assert shown == [("d", name, False) for name in found]
        assert [one.name for one in any_spark.catalog.listTables("st.d", pattern)] == found
    assert matching(["t"], "t{9999999999}|T") == ["t"]
    run("CREATE NAMESPACE st.`a-b`")
    run("CREATE NAMESPACE st.`a-b`.`1x`")
    run("CREATE TABLE st.`a-b`.t (id int)")
    assert run("SHOW NAMESPACES IN st") == [("`a-b`",), ("d",)]
    assert run("SHOW NAMESPACES IN st LIKE '`a.b`'") == [("`a-b`",)]
    assert run("SHOW NAMESPACES IN st LIKE 'a*'") == []
    assert run("SHOW NAMESPACES IN st.`a-b`") == [("`a-b`.`1x`",)]
    assert run("SHOW TABLES IN st.`a-b`") == [("`a-b`", "t", False)]
    assert ("Namespace Name", "`a-b`") in run("DESCRIBE NAMESPACE st.`a-b`")
    run("CREATE VIEW st.`a-b`.v AS SELECT 1 AS id")
    assert ("`a-b`", "v", False) in run("SHOW VIEWS IN st.`a-b`")
    run("USE st.`a-b`")
    assert run("SHOW CURRENT NAMESPACE") == [("st", "`a-b`")]


def test_columns_are_shown_where_the_namespace_is_the_tables(spark: Any, sql_home: Path) -> None:
    run = _runner(spark)
    run("CREATE TABLE st.d.t (id int, s string)")
    for text in ("t IN st.d", "st.d.t IN d", "st.d.t FROM D", "st.d.t IN st.d"):
        assert run(f"SHOW COLUMNS IN {text}") == [("id",), ("s",)]
    for text in ("st.d.t IN e", "st.d.t IN st", "st.d.t IN d.d"):
        with pytest.raises(InvalidInputError, match="is not in namespace"):
            run(f"SHOW COLUMNS IN {text}")
    with _case_told_apart(spark), pytest.raises(InvalidInputError, match="is not in namespace"):
        run("SHOW COLUMNS IN st.d.t FROM D")


@contextmanager
def _case_told_apart(spark: Any) -> Iterator[None]:
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        yield
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def _runner(spark: Any) -> Callable[[str], list[tuple[Any, ...]]]:
    return lambda text: rows(ice.sql(spark, text))


def test_values_of_another_type_are_refused_as_spark_refuses_them(
    enabled: Callable[..., list[tuple[Any, ...]]],
) -> None:
    run = enabled
    run("CREATE TABLE st.d.typed (id bigint, n int)")
    run("INSERT INTO st.d.typed VALUES (1, 1)")
    for text in (
        "INSERT INTO st.d.typed VALUES (1, 'a')",
        "UPDATE st.d.typed SET n = 'a'",
        """MERGE INTO st.d.typed t USING (SELECT 1L AS id, 'a' AS n) s ON t.id = s.id
           WHEN MATCHED THEN UPDATE SET n = s.n""",
    ):
        with pytest.raises(AnalysisException, match='safely cast `n` "STRING" to "INT"') as bad:
            run(text)
        assert isinstance(bad.value, InvalidInputError)
        condition = "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST"
        assert (bad.value.getCondition(), bad.value.getSqlState()) == (condition, "KD000")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE NAMESPACE st",
        "DROP NAMESPACE st",
        "DROP NAMESPACE IF EXISTS st CASCADE",
        "ALTER NAMESPACE st SET PROPERTIES ('a' = 'b')",
        "COMMENT ON NAMESPACE st IS 'text'",
    ],
)
def test_a_catalog_is_not_changed_as_a_namespace(
    enabled: Callable[..., list[tuple[Any, ...]]], statement: str
) -> None:
    with pytest.raises(UnsupportedError, match="st is a catalog"):
        enabled(statement)


def test_a_root_table_with_the_name_of_a_metadata_table_is_refused(
    enabled: Callable[..., list[tuple[Any, ...]]], any_spark: Any
) -> None:
    enabled("CREATE TABLE st.d.snapshots (id int)")
    one_row = any_spark.range(1)
    for create in (
        lambda: enabled("CREATE TABLE st.snapshots (id int)"),
        lambda: enabled("CREATE TABLE st.Files AS SELECT 1 AS id"),
        lambda: one_row.writeTo("st.history").create(),
        lambda: one_row.write.format("iceberg").saveAsTable("st.refs"),
        lambda: enabled("ALTER TABLE st.d.snapshots RENAME TO st.entries"),
    ):
        with pytest.raises(InvalidInputError, match="name of a metadata table"):
            create()


def test_inserts_behind_from_also_write_tables_of_spark(
    enabled: Callable[..., list[tuple[Any, ...]]], any_spark: Any, tmp_path: Path
) -> None:
    enabled("CREATE TABLE st.d.source AS SELECT id, 'a' AS s FROM range(3)")
    enabled("CREATE TABLE st.d.few (id bigint, s string)")
    enabled(f"CREATE TABLE plain (id bigint, s string) USING parquet LOCATION '{tmp_path}/plain'")
    try:
        enabled(
            "WITH r AS (SELECT * FROM st.d.source) FROM r INSERT INTO st.d.source SELECT id + 10, s"
            " INSERT INTO plain (s, id) SELECT s, id WHERE id > 0"
            " INSERT INTO st.d.few SELECT id, s WHERE id = 0"
        )
        assert enabled("SELECT id, s FROM plain ORDER BY id") == [(1, "a"), (2, "a")]
    finally:
        enabled("DROP TABLE plain")
    assert enabled("SELECT * FROM st.d.few") == [(0, "a")]
    assert enabled("SELECT count(*) FROM st.d.source") == [(6,)]
