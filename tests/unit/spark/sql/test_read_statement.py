"""Statements are read as values; what the user wrote as an expression stays as it was written."""

import re
from typing import Any

import pytest

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.sql.statements.alter_table import (
    AddColumns,
    AddPartitionField,
    AlterColumn,
    AlterTable,
    DropColumns,
    DropPartitionField,
    IdentifierFields,
    RenameColumn,
    RenameTable,
    ReplaceColumns,
    ReplacePartitionField,
    SetLocation,
    SetProperties,
    UnsetProperties,
    WriteOrder,
)
from iceberg_spark.spark.sql.statements.call import Call
from iceberg_spark.spark.sql.statements.columns import Column, ColumnPosition
from iceberg_spark.spark.sql.statements.create_table import CreateTable, DropTable
from iceberg_spark.spark.sql.statements.listings import (
    CommentOn,
    DescribeNamespace,
    DescribeTable,
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentNamespace,
    ShowFunctions,
    ShowNamespaces,
    ShowProcedures,
    ShowProperties,
    ShowTables,
    ShowTablesExtended,
    Use,
)
from iceberg_spark.spark.sql.statements.namespaces import (
    AlterNamespace,
    CreateNamespace,
    DropNamespace,
)
from iceberg_spark.spark.sql.statements.read import (
    CachedView,
    Explain,
    Other,
    Query,
    TemporaryView,
    read_statement,
)
from iceberg_spark.spark.sql.statements.references import RefChange
from iceberg_spark.spark.sql.statements.rows import (
    Delete,
    Insert,
    Merge,
    MultiInsert,
    Truncate,
    Update,
    WhenClause,
)
from iceberg_spark.spark.sql.statements.session_state import ExecuteImmediate, SetVariable
from iceberg_spark.spark.sql.statements.views import AlterView, CreateView, DropView, ShowViews

T = ("c", "d", "t")
DAY = 86_400_000


def changes(text: str) -> tuple[Any, ...]:
    statement = read_statement(f"ALTER TABLE c.d.t {text}")
    assert isinstance(statement, AlterTable)
    assert statement.table == T
    return statement.changes


def test_a_table_is_created_with_all_its_clauses_in_any_order() -> None:
    found = read_statement(
        """create table if not exists c.`d`.t (  -- a comment
             id bigint NOT NULL COMMENT 'x;y', s struct<a: int, b: map<string, array<int>>>,
             p decimal(10, 2) DEFAULT CASE WHEN true THEN 1 END)
           LOCATION '/x' /* another */
           PARTITIONED BY (days(ts), bucket(16, /* of /* all */ shards */ `a b`), region string)
           COMMENT 'it''s' TBLPROPERTIES ('a.b' = 'c', d.e-f = 5, g true, h = TRUE, i = 'TRUE')
           USING iceberg;"""
    )
    assert found == CreateTable(
        T,
        (
            Column(("id",), "bigint", required=True, comment="x;y"),
            Column(("s",), "struct<a: int, b: map<string, array<int>>>"),
            Column(("p",), "decimal(10, 2)", default="CASE WHEN true THEN 1 END"),
            Column(("region",), "string"),
        ),
        ("days(ts)", "bucket(16, `a b`)", "`region`"),
        {"a.b": "c", "d.e-f": "5", "g": "true", "h": "true", "i": "TRUE"},
        "/x",
        "it's",
        "iceberg",
        if_not_exists=True,
    )


@pytest.mark.parametrize(
    ("text", "creates", "replaces"),
    [
        ("CREATE TABLE c.d.t AS SELECT 1 AS a", True, False),
        ("CREATE OR REPLACE TABLE c.d.t AS (SELECT 1 AS a)", True, True),
        ("REPLACE TABLE c.d.t USING iceberg AS WITH x AS (SELECT 1 AS a) FROM x", False, True),
    ],
)
def test_a_table_is_created_as_a_query_says(text: str, creates: bool, replaces: bool) -> None:
    found = read_statement(text)
    assert isinstance(found, CreateTable)
    assert (found.table, found.creates, found.replaces) == (T, creates, replaces)
    assert found.query == text.split(" AS ", 1)[1]


def test_a_table_is_dropped() -> None:
    assert read_statement("DROP TABLE IF EXISTS c.d.t PURGE") == DropTable(T, True, True)
    assert read_statement("DROP TABLE `/data/t`") == DropTable(("/data/t",))


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (
            "ADD COLUMN a map<string, int> FIRST",
            AddColumns((Column(("a",), "map<string, int>", position=ColumnPosition()),)),
        ),
        (
            "ADD COLUMNS (a int COMMENT 'x' AFTER b, p.z double)",
            AddColumns(
                (
                    Column(("a",), "int", comment="x", position=ColumnPosition("b")),
                    Column(("p", "z"), "double"),
                )
            ),
        ),
        ("DROP COLUMNS (a, b.c)", DropColumns((("a",), ("b", "c")))),
        ("DROP COLUMN IF EXISTS a", DropColumns((("a",),), if_exists=True)),
        ("RENAME COLUMN a.`b c` TO d", RenameColumn(("a", "b c"), "d")),
        ("REPLACE COLUMNS (a int)", ReplaceColumns((Column(("a",), "int"),))),
        ("ALTER COLUMN a TYPE decimal(9, 2)", AlterColumn(("a",), type="decimal(9, 2)")),
        ("ALTER COLUMN a DROP NOT NULL", AlterColumn(("a",), required=False)),
        ("ALTER COLUMN a SET NOT NULL", AlterColumn(("a",), required=True)),
        ("ALTER COLUMN a SET DEFAULT f(1, 2)", AlterColumn(("a",), default="f(1, 2)")),
        ("ALTER COLUMN a DROP DEFAULT", AlterColumn(("a",), default="")),
        ("ALTER a AFTER b", AlterColumn(("a",), position=ColumnPosition("b"))),
        ("ADD PARTITION FIELD bucket(16, id) AS x", AddPartitionField("bucket(16, id) AS x")),
        ("DROP PARTITION FIELD truncate(4, s)", DropPartitionField("truncate(4, s)")),
        (
            "REPLACE PARTITION FIELD ts_day WITH hours(ts) AS h",
            ReplacePartitionField("ts_day", "hours(ts) AS h"),
        ),
        (
            "WRITE ORDERED BY a DESC NULLS LAST, bucket(4, b)",
            WriteOrder(("a DESC NULLS LAST", "bucket(4, b)"), "range"),
        ),
        ("WRITE LOCALLY ORDERED BY a", WriteOrder(("a",), None)),
        ("WRITE ORDERED BY (a)", WriteOrder(("a",), "range")),
        (
            "WRITE LOCALLY ORDERED BY (a DESC, bucket(4, id))",
            WriteOrder(("a DESC", "bucket(4, id)"), None),
        ),
        ("WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY (a)", WriteOrder(("a",), "hash")),
        ("WRITE ORDERED BY a, distributed DESC", WriteOrder(("a", "distributed DESC"), "range")),
        (
            "WRITE ORDERED BY distributed DISTRIBUTED BY PARTITION",
            WriteOrder(("distributed",), "hash"),
        ),
        ("WRITE ORDERED BY a/* newest */DESC", WriteOrder(("a DESC",), "range")),
        ("ADD PARTITION FIELD truncate(4, -- width\n s)", AddPartitionField("truncate(4, s)")),
        (
            "REPLACE PARTITION FIELD /* x */ `a --b` WITH days( /* y */ts)",
            ReplacePartitionField("`a --b`", "days( ts)"),
        ),
        ("WRITE DISTRIBUTED BY PARTITION", WriteOrder((), "hash")),
        ("WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY a", WriteOrder(("a",), "hash")),
        ("WRITE UNORDERED", WriteOrder((), "none")),
        ("SET IDENTIFIER FIELDS a, b.c", IdentifierFields((("a",), ("b", "c")), set=True)),
        ("DROP IDENTIFIER FIELDS a", IdentifierFields((("a",),), set=False)),
        ("SET TBLPROPERTIES ('a' = 'b')", SetProperties({"a": "b"})),
        ("UNSET TBLPROPERTIES IF EXISTS ('a', b.c)", UnsetProperties(("a", "b.c"))),
        ("SET LOCATION 's3://b/t'", SetLocation("s3://b/t")),
        ("RENAME TO c.d.u", RenameTable(("c", "d", "u"))),
        ("CREATE BRANCH `a-b`", RefChange("branch", "a-b", creates=True)),
        ("DROP TAG IF EXISTS x", RefChange("tag", "x", drops=True, if_exists=True)),
        (
            """CREATE OR REPLACE BRANCH x AS OF VERSION 12L RETAIN 3 HOURS
               WITH SNAPSHOT RETENTION 2 SNAPSHOTS 5 DAYS""",
            RefChange("branch", "x", creates=True, replaces=True, snapshot_id=12,
                      max_ref_age_ms=10_800_000, min_snapshots_to_keep=2,
                      max_snapshot_age_ms=5 * DAY),
        ),
        ("REPLACE TAG x RETAIN 1 DAYS", RefChange("tag", "x", replaces=True, max_ref_age_ms=DAY)),
    ],
)  # fmt: skip
def test_a_table_is_altered(text: str, change: object) -> None:
    assert changes(text) == (change,)


def test_several_columns_are_altered_at_once() -> None:
    assert changes("ALTER COLUMN a TYPE bigint, b COMMENT 'x, y', c FIRST") == (
        AlterColumn(("a",), type="bigint"),
        AlterColumn(("b",), comment="x, y"),
        AlterColumn(("c",), position=ColumnPosition()),
    )


def test_hives_change_column_is_a_change_and_a_rename() -> None:
    assert changes("CHANGE COLUMN a b bigint COMMENT 'x' AFTER c") == (
        AlterColumn(("a",), type="bigint", comment="x", position=ColumnPosition("c")),
        RenameColumn(("a",), "b"),
    )


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("INSERT INTO c.d.t VALUES (1, ';')", Insert(T, "VALUES (1, ';')")),
        ("INSERT INTO TABLE c.d.t (a, `b c`) SELECT 1, 2", Insert(T, "SELECT 1, 2", ("a", "b c"))),
        ("INSERT INTO c.d.t (SELECT 1)", Insert(T, "(SELECT 1)")),
        ("INSERT INTO c.d.t BY NAME TABLE x", Insert(T, "TABLE x", by_name=True)),
        (
            "INSERT OVERWRITE c.d.t PARTITION (p = 'a', q) SELECT 1",
            Insert(T, "SELECT 1", overwrites=True, partition=(("p", "'a'"), ("q", None))),
        ),
        (
            "INSERT INTO c.d.t REPLACE WHERE (a = 1) AND b IN (2, 3) SELECT 1",
            Insert(T, "SELECT 1", overwrites=True, replace_where="(a = 1) AND b IN (2, 3)"),
        ),
        (
            "WITH x AS (SELECT 1), y AS (SELECT 2) INSERT INTO c.d.t SELECT * FROM x, y",
            Insert(T, "WITH x AS (SELECT 1), y AS (SELECT 2) SELECT * FROM x, y"),
        ),
        ("TRUNCATE TABLE c.d.t", Truncate(T)),
        ("DELETE FROM c.d.t", Delete(T, None, "true")),
        (
            "DELETE FROM c.d.t AS x WHERE x.s = 'a;' -- it''s\n AND y = 5L",
            Delete(T, "x", "x.s = 'a;' -- it''s\n AND y = 5L"),
        ),
        (
            "UPDATE c.d.t x SET a = CASE WHEN b THEN 1 END, x.c.d = f(1, 2) WHERE to_date(e) = 1",
            Update(
                T,
                "x",
                ((("a",), "CASE WHEN b THEN 1 END"), (("x", "c", "d"), "f(1, 2)")),
                "to_date(e) = 1",
            ),
        ),
    ],
)
def test_rows_are_changed(text: str, statement: object) -> None:
    assert read_statement(text) == statement


def test_a_merge_has_all_kinds_of_clauses() -> None:
    found = read_statement(
        """WITH s AS (SELECT 1) MERGE WITH SCHEMA EVOLUTION INTO c.d.t AS x USING s
           ON x.id = s.id AND CASE WHEN s.a THEN 1 ELSE 2 END = 1
           WHEN MATCHED AND s.op = 'D' THEN DELETE
           WHEN MATCHED THEN UPDATE SET x.a = CASE WHEN s.b THEN 1 END, b = 2
           WHEN NOT MATCHED BY TARGET AND s.c THEN INSERT (id, `a b`) VALUES (s.id, f(1, 2))
           WHEN NOT MATCHED THEN INSERT *
           WHEN NOT MATCHED BY SOURCE AND x.old THEN DELETE
           WHEN NOT MATCHED BY SOURCE THEN UPDATE SET old = true"""
    )
    assert found == Merge(
        T,
        "x",
        "(WITH s AS (SELECT 1) SELECT * FROM s)",
        "s",
        "x.id = s.id AND CASE WHEN s.a THEN 1 ELSE 2 END = 1",
        (
            WhenClause("matched", "delete", "s.op = 'D'"),
            WhenClause(
                "matched", "update", None, (("x", "a"), ("b",)), ("CASE WHEN s.b THEN 1 END", "2")
            ),
            WhenClause("not_matched", "insert", "s.c", (("id",), ("a b",)), ("s.id", "f(1, 2)")),
            WhenClause("not_matched", "insert"),
            WhenClause("by_source", "delete", "x.old"),
            WhenClause("by_source", "update", None, (("old",),), ("true",)),
        ),
        schema_evolution=True,
        source_name=("s",),
    )


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("CREATE DATABASE IF NOT EXISTS c.n COMMENT 'x' LOCATION '/l' WITH DBPROPERTIES (a='b')",
         CreateNamespace(("c", "n"), {"comment": "x", "location": "/l", "a": "b"}, True)),
        ("DROP SCHEMA c.n CASCADE", DropNamespace(("c", "n"), cascade=True)),
        ("ALTER NAMESPACE c.n SET PROPERTIES ('a' = 'b')", AlterNamespace(("c", "n"), {"a": "b"})),
        ("ALTER SCHEMA c.n UNSET PROPERTIES ('a')", AlterNamespace(("c", "n"), removals=("a",))),
        ("SHOW TABLES FROM c.n LIKE 'a*'", ShowTables(("c", "n"), "a*")),
        ("SHOW TABLES", ShowTables(())),
        ("SHOW DATABASES IN c", ShowNamespaces(("c",))),
        ("SHOW CREATE TABLE c.d.t", ShowCreateTable(T)),
        ("SHOW TBLPROPERTIES c.d.t ('a.b')", ShowProperties(T, "a.b")),
        ("SHOW COLUMNS IN t FROM c.d", ShowColumns(T)),
        ("SHOW COLUMNS IN c.d.t IN d", ShowColumns(T, ("d",))),
        ("DESC EXTENDED c.d.t", DescribeTable(T, extended=True)),
        ("DESCRIBE TABLE c.d.t a.b", DescribeTable(T, column=("a", "b"))),
        ("DESCRIBE NAMESPACE EXTENDED c.n", DescribeNamespace(("c", "n"), extended=True)),
        ("COMMENT ON TABLE c.d.t IS NULL", CommentOn("table", T, None)),
        ("USE NAMESPACE c.d", Use(("c", "d"))),
        ("CALL c.system.p('d.t', 5L, x => map('a', 1), `y` => CASE WHEN a THEN 1 END)",
         Call(("c", "system", "p"), ("'d.t'", "5L"),
              (("x", "map('a', 1)"), ("y", "CASE WHEN a THEN 1 END")))),
        ("(SELECT 1)", Query("(SELECT 1)")),
        ("WITH a AS (SELECT 1) SELECT * FROM a;", Query("WITH a AS (SELECT 1) SELECT * FROM a")),
        ("EXPLAIN FORMATTED SELECT 1", Explain("EXPLAIN FORMATTED ", "SELECT 1")),
        ("EXPLAIN WITH a AS (SELECT 1) FROM a",
         Explain("EXPLAIN  ", "WITH a AS (SELECT 1) FROM a")),
        ("EXPLAIN DROP TABLE x", Other("EXPLAIN DROP TABLE x", "EXPLAIN DROP")),
        ("CREATE OR REPLACE TEMP VIEW v AS SELECT 1", TemporaryView("v", "SELECT 1", True)),
        ("CREATE VIEW c.d.v (a COMMENT 'x', `b c`) COMMENT 'q' TBLPROPERTIES (k 'v') AS TABLE t",
         CreateView(("c", "d", "v"), "TABLE t", (("a", "x"), ("b c", "")), "q", {"k": "v"})),
        ("CREATE OR REPLACE VIEW v AS SELECT 1", CreateView(("v",), "SELECT 1", replaces=True)),
        ("DROP VIEW IF EXISTS c.d.v", DropView(("c", "d", "v"), if_exists=True)),
        ("ALTER VIEW v SET TBLPROPERTIES ('a' = 'b')", AlterView(("v",), {"a": "b"})),
        ("ALTER VIEW v RENAME TO w", AlterView(("v",), new_name=("w",))),
        ("SHOW VIEWS IN c.d LIKE 'a*'", ShowViews(("c", "d"), "a*")),
        ("SHOW TABLE EXTENDED FROM c.d LIKE 'a*'", ShowTablesExtended(("c", "d"), "a*")),
        ("SHOW TABLE EXTENDED LIKE 'a*'", ShowTablesExtended((), "a*")),
        ("SHOW USER FUNCTIONS IN c LIKE 'a'", ShowFunctions(("c",), "user", "a")),
        ("SHOW FUNCTIONS c.system.days", ShowFunctions(("c", "system"), "all", "days")),
        ("SHOW FUNCTIONS LIKE 'a'", Other("SHOW FUNCTIONS LIKE 'a'", "SHOW FUNCTIONS")),
        ("SHOW PROCEDURES IN c.system", ShowProcedures(("c", "system"))),
        ("CREATE GLOBAL TEMP VIEW v AS SELECT 1", TemporaryView("v", "SELECT 1", is_global=True)),
        ("CREATE TEMP VIEW v (id int) USING csv",
         Other("CREATE TEMP VIEW v (id int) USING csv", "CREATE TEMP")),
        ("FROM a JOIN b INSERT INTO c.d.t SELECT 1 WHERE x INSERT OVERWRITE u (y) SELECT 2",
         MultiInsert((Insert(T, "FROM a JOIN b SELECT 1 WHERE x"),
                      Insert(("u",), "FROM a JOIN b SELECT 2", ("y",), overwrites=True)))),
        ("WITH q AS (SELECT 1) FROM q INSERT INTO c.d.t SELECT *",
         MultiInsert((Insert(T, "WITH q AS (SELECT 1) FROM q SELECT *"),))),
        ("FROM t SELECT insert(a, 1, 1, 'x')", Query("FROM t SELECT insert(a, 1, 1, 'x')")),
        ("CREATE EXTERNAL TABLE c.d.t CLUSTERED BY (`a b`) INTO 4 BUCKETS PARTITIONED BY (b)",
         CreateTable(T, partition_by=("b", "bucket(4, `a b`)"), is_external=True)),
        ("SHOW CURRENT NAMESPACE", ShowCurrentNamespace()),
        ("SHOW CATALOGS", ShowCatalogs()),
        ("show catalogs like 's*|c'", ShowCatalogs("s*|c")),
        ("SET CATALOG 'x'", Use(("x",))),
        ("CREATE TEMP VIEW v (a COMMENT 'x', b) AS SELECT 1, 2",
         TemporaryView("v", "SELECT 1, 2", columns=("a", "b"))),
        ("CACHE LAZY TABLE v OPTIONS ('storageLevel' = 'DISK_ONLY') AS SELECT 1",
         CachedView("CACHE LAZY TABLE", "v", "OPTIONS ('storageLevel' = 'DISK_ONLY')", "SELECT 1")),
        ("CACHE TABLE `a b` WITH q AS (SELECT 1) FROM q",
         CachedView("CACHE TABLE", "a b", "", "WITH q AS (SELECT 1) FROM q")),
        ("WITH q AS (SELECT 1 AS x) SELECT id, op = 'D' AS delete FROM c.d.t",
         Query("WITH q AS (SELECT 1 AS x) SELECT id, op = 'D' AS delete FROM c.d.t")),
        ("WITH q AS (SELECT 1) SELECT q.update, insert FROM q",
         Query("WITH q AS (SELECT 1) SELECT q.update, insert FROM q")),
        ("EXPLAIN WITH q (SELECT 1) SELECT delete FROM c.d.t",
         Explain("EXPLAIN  ", "WITH q (SELECT 1) SELECT delete FROM c.d.t")),
        (("WITH RECURSIVE q (n) MAX RECURSION LEVEL 5 AS (SELECT 1), `delete` (VALUES (1)) "
          "DELETE FROM t WHERE id IN (SELECT n FROM q)"),
         Delete(("t",), None, "id IN (WITH RECURSIVE q (n) MAX RECURSION LEVEL 5 AS (SELECT 1), "
                "`delete` (VALUES (1)) SELECT n FROM q)")),
        ("CACHE TABLE v", Other("CACHE TABLE v", "CACHE TABLE")),
        (r"COMMENT ON TABLE c.d.t IS 'a\nb''c\u0041'", CommentOn("table", T, "a\nb'cA")),
        (r"COMMENT ON TABLE c.d.t IS r'a\nb'", CommentOn("table", T, r"a\nb")),
        ("SHOW FUNCTIONS", Other("SHOW FUNCTIONS", "SHOW FUNCTIONS")),
        ("WITH q AS (SELECT 1 AS n) DELETE FROM t WHERE (id IN (SELECT n FROM q)) OR f((1))",
         Delete(("t",), None, "(id IN (WITH q AS (SELECT 1 AS n) SELECT n FROM q)) OR f((1))")),
        ("WITH q AS (SELECT 1) UPDATE t SET a = (WITH RECURSIVE r AS (TABLE q) FROM r), b = 2",
         Update(("t",), None, (
             (("a",), "(WITH RECURSIVE q AS (SELECT 1), r AS (TABLE q) FROM r)"),
             (("b",), "2")), "true")),
        ("EXECUTE IMMEDIATE concat(a, 'USING') INTO v, w USING x, f(1, 2) AS `b c`, 'INTO'",
         ExecuteImmediate("concat(a, 'USING')", "v, w",
                          (("x", "x"), ("b c", "f(1, 2)"), (None, "'INTO'")))),
        ("EXECUTE IMMEDIATE q USING (c.x AS a)", ExecuteImmediate("q", None, (("a", "c.x"),))),
        ("SET VARIABLE a = (SELECT b = 1, 2), (b, c) = f(1, 2)",
         SetVariable((("SET VARIABLE a =", "(SELECT b = 1, 2)"), (", (b, c) =", "f(1, 2)")))),
        ("SET a = 5", Other("SET a = 5", "SET A")),
        ("DESCRIBE FUNCTION abs", Other("DESCRIBE FUNCTION abs", "DESCRIBE FUNCTION")),
    ],
)  # fmt: skip
def test_other_statements_are_read(text: str, statement: object) -> None:
    assert read_statement(text) == statement


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "a statement is needed"),
        ("SELECT 1; SELECT 2", "Line 1, column 9: one statement"),
        ("ALTER TABLE c.d.t\n  FROB x", "Line 2, column 3: a change of the table is needed"),
        ("CREATE TABLE c.d.t (id int) CLUSTER BY (id)", "column 29: a clause of CREATE TABLE"),
        ("CREATE TABLE c.d.t (id int) CLUSTERED BY (id)", "column 46: INTO is needed"),
        ("CREATE TABLE c.d.t (id int) CLUSTERED BY (a, b) INTO 4 BUCKETS", "takes one column"),
        ("FROM t INSERT INTO c.d.t VALUES (1)", "INSERT behind FROM takes SELECT"),
        ("SHOW TABLE EXTENDED IN c.d", "LIKE is needed"),
        ("CREATE TABLE c.d.t (id int) COMMENT 'a' COMMENT 'b'", "COMMENT may be there once"),
        ("CREATE TABLE c.d.t (id int", "a bracket is never closed"),
        ("CREATE TABLE c.d.t (id int,)", "something is needed behind ','"),
        ("CREATE TABLE c.d.t (id int) AS SELECT 1", "takes its columns from the query"),
        ("CREATE OR REPLACE TABLE IF NOT EXISTS c.d.t (id int)", "don't go together"),
        ("CREATE TABLE c.d.t (id int PRIMARY KEY)", "nothing that an Iceberg table has"),
        ("ALTER TABLE c.d.t CREATE TAG x RETAIN 5 WEEKS", "DAYS, HOURS, MINUTES is needed"),
        ("ALTER TABLE c.d.t CREATE TAG x AS OF VERSION 'a'", "a whole number is needed"),
        ("ALTER TABLE c.d.t SET TBLPROPERTIES ('a' = 'b', 'a' = 'c')", "is there twice"),
        ("ALTER TABLE c.d.t SET TBLPROPERTIES ('location' = 'x')", "use LOCATION"),
        ("ALTER TABLE c.d.t UNSET TBLPROPERTIES (owner)", "is no property of a table in SQL"),
        ("CREATE TABLE c.d.t (id int) TBLPROPERTIES (provider = 'x')", "use USING iceberg"),
        ("CREATE TABLE c.d.t (id int, CONSTRAINT x UNIQUE (id))", "no constraints"),
        ("ALTER TABLE c.d.t WRITE ORDERED BY ()", "something is needed"),
        ("ALTER TABLE c.d.t WRITE ORDERED BY (a), b", "the statement should end, not ','"),
        ("INSERT INTO c.d.t", "something is needed"),
        ("INSERT INTO c.d.t BY NAME (a) SELECT 1", "not both"),
        ("DELETE FROM c.d.t WHERE", "something is needed"),
        ("UPDATE c.d.t SET a", "= is needed"),
        ("MERGE INTO c.d.t USING s ON true", "something is needed|WHEN"),
        ("MERGE INTO t USING s ON a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)", "2 columns"),
        ("CALL c.system.p(a => 1, 2)", "with its name is needed"),
        ("CALL c.system.p(a => 1, a => 2)", "there twice"),
        ("DROP TABLE c.d.t now", "the statement should end, not 'now'"),
        ("SELECT 'a', \n  'open", "Line 2, column 3: .open can't be read"),
        ("SELECT `a`, /* 'x", "Line 1, column 13: .* can't be read"),
        ("SET VAR a = 1, b", "= is needed"),
        ("EXECUTE IMMEDIATE 'x' USING 1 AS", "a name is needed"),
    ],
)  # fmt: skip
def test_a_fault_has_a_line_and_says_what_is_needed(text: str, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said.replace("(", r"\(").replace("'", ".")) as told:
        read_statement(text)
    assert re.match(r"Line \d+, column \d+: ", str(told.value))


def test_words_behind_a_dot_are_names_of_fields() -> None:
    text = """MERGE INTO c.d.t AS t USING s AS s ON t.id = s.id AND s.when > t.when
        WHEN MATCHED AND t.then = 1 THEN UPDATE SET
            v = CASE WHEN s.end > 100 THEN 'one' WHEN s.end > 5 THEN s.case END
        WHEN NOT MATCHED AND s.from > 1 THEN INSERT (id) VALUES (s.id)"""
    found = read_statement(text)
    assert isinstance(found, Merge)
    assert found.on == "t.id = s.id AND s.when > t.when"
    assert [one.condition for one in found.clauses] == ["t.then = 1", "s.from > 1"]
    assert found.clauses[0].values == (
        "CASE WHEN s.end > 100 THEN 'one' WHEN s.end > 5 THEN s.case END",
    )


@pytest.mark.parametrize("condition", ["p IS NOT DISTINCT FROM 2", "p.from = 1 AND p.select < 2"])
def test_a_condition_to_replace_by_ends_where_the_query_begins(condition: str) -> None:
    found = read_statement(f"INSERT INTO c.d.t REPLACE WHERE {condition} FROM s SELECT *")
    assert isinstance(found, Insert)
    assert (found.replace_where, found.query) == (condition, "FROM s SELECT *")


def test_a_write_has_options() -> None:
    found = read_statement("INSERT INTO c.d.t WITH ('snapshot-property.Who' = 'me') (id) SELECT 1")
    assert isinstance(found, Insert)
    assert (found.options, found.columns) == ({"snapshot-property.Who": "me"}, ("id",))
    found = read_statement("INSERT INTO c.d.t WITH a AS (SELECT 1) SELECT * FROM a")
    assert isinstance(found, Insert)
    assert (found.options, found.query) == ({}, "WITH a AS (SELECT 1) SELECT * FROM a")
