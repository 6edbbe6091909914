"""CREATE, DROP, ALTER and SHOW of tables: races with others, the case of names, odd names."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError, TableAlreadyExistsError
from iceberg_spark.spec import apply_updates
from iceberg_spark.statements import definitions


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in frame.collect()]


def with_another_first(patch: pytest.MonkeyPatch, step: str, another: Callable[[], object]) -> None:
    """Have another process do something right before a step of a statement, once."""
    own, done = getattr(definitions, step), []

    def run(*args: Any, **kwargs: Any) -> Any:
        if not done:
            done.append(another())
        return own(*args, **kwargs)

    patch.setattr(definitions, step, run)


@pytest.mark.parametrize("step", ["plan_save", "write_rows", "commit_save"])
def test_a_table_that_another_makes_meanwhile_gets_no_rows_of_create_as_select(
    spark: Any, sql_home: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with_another_first(monkeypatch, step, lambda: ice.create_table("st.d.r", "id int"))
    with pytest.raises(TableAlreadyExistsError):
        ice.sql(spark, "CREATE TABLE st.d.r AS SELECT 1 AS id")
    table = ice.load_table("st.d.r")
    assert table.current_snapshot() is None
    assert list(sql_home.rglob("*.parquet")) == []


def test_if_not_exists_and_if_exists_hold_when_another_is_quicker(
    spark: Any, sql_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_another_first(monkeypatch, "create", lambda: ice.create_table("st.d.r", "id int"))
    ice.sql(spark, "CREATE TABLE IF NOT EXISTS st.d.r (other string)")
    assert ice.load_table("st.d.r").schema().column_names == ("id",)
    catalog = ice.load_catalog("st")
    with_another_first(monkeypatch, "drop_table", lambda: catalog.drop_table("d.r"))
    ice.sql(spark, "DROP TABLE IF EXISTS st.d.r")
    ice.sql(spark, "DROP TABLE IF EXISTS st.nowhere.r")
    assert catalog.list_tables("d") == []


def test_create_as_select_takes_a_location_behind_the_formats_name(
    spark: Any, sql_home: Path
) -> None:
    place = sql_home / "a.b" / "t"
    ice.sql(spark, f"CREATE TABLE `pyiceberg-lite`.`{place}` AS SELECT 1 AS id")
    assert ice.load_table(str(place)).scan().count() == 1


def test_the_case_of_names_counts_where_the_session_says_so(spark: Any, sql_home: Path) -> None:
    """In every statement that names columns; with case, twins are two columns."""
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        run = _runner(spark)
        run("CREATE TABLE st.d.c (id int, ID int, p int) PARTITIONED BY (p)")
        run("INSERT INTO st.d.c (ID, id, p) VALUES (10, 1, 5)")
        run("INSERT INTO st.d.c BY NAME SELECT 2 AS id, 20 AS ID, 5 AS p")
        run("UPDATE st.d.c SET ID = id + 5, id = ID WHERE ID = 10")
        run("DELETE FROM st.d.c WHERE ID = 20")
        run(
            """MERGE INTO st.d.c t USING (SELECT 6 AS ID) s ON t.ID = s.ID
               WHEN MATCHED THEN UPDATE SET t.p = t.id"""
        )
        assert run("SELECT id, ID, p FROM st.d.c") == [(10, 6, 10)]
        run("ALTER TABLE st.d.c RENAME COLUMN ID TO Id")
        run("ALTER TABLE st.d.c ADD COLUMN ID string AFTER id")
        run("ALTER TABLE st.d.c ADD PARTITION FIELD bucket(2, Id)")
        run("ALTER TABLE st.d.c WRITE ORDERED BY Id, ID")
        assert ice.load_table("st.d.c").schema().column_names == ("id", "ID", "Id", "p")
        before = ice.load_table("st.d.c").metadata_location
        for text in (
            "INSERT INTO st.d.c (iD) VALUES (1)",
            "UPDATE st.d.c SET P = 1",
            "DELETE FROM st.d.c WHERE P = 1",
            "INSERT OVERWRITE st.d.c PARTITION (P = 5) SELECT 1, 's', 2",
            "ALTER TABLE st.d.c DROP COLUMN P",
            "ALTER TABLE st.d.c ADD PARTITION FIELD bucket(2, iD)",
            "ALTER TABLE st.d.c WRITE ORDERED BY P",
        ):
            with pytest.raises(Exception, match=r"(?i)column|field|UNRESOLVED"):
                run(text)
        assert ice.load_table("st.d.c").metadata_location == before
    finally:
        spark.conf.unset("spark.sql.caseSensitive")
    run("CREATE TABLE st.d.i (Id int)")
    run("INSERT INTO st.d.i (iD) VALUES (1)")
    run("UPDATE st.d.i SET ID = ID + 1 WHERE id = 1")
    run("ALTER TABLE st.d.i RENAME COLUMN ID TO n")
    assert run("SELECT N FROM st.d.i") == [(2,)]


def test_a_struct_may_be_called_as_its_table_is(spark: Any, sql_home: Path) -> None:
    """An assigned path begins with the table's name only where the rest is a column."""
    run = _runner(spark)
    run("CREATE TABLE st.d.s (s struct<a: int, b: int>, b int)")
    run("INSERT INTO st.d.s VALUES (named_struct('a', 1, 'b', 2), 3)")
    run("UPDATE st.d.s SET s.a = 10")
    run("UPDATE st.d.s SET s.b = 30")
    run("UPDATE st.d.s SET s.s.b = 20")
    assert run("SELECT s.s.a, s.s.b, s.b FROM st.d.s") == [(10, 20, 30)]


def test_show_create_table_makes_the_same_table_again(spark: Any, sql_home: Path) -> None:
    run = _runner(spark)
    run(
        """CREATE TABLE st.d.`odd-name` (
             `a b` bigint NOT NULL COMMENT 'it''s \\\\ one', `select` string, `ünï` date,
             `tick``s` timestamp_ntz, ts timestamp, `1st` decimal(20, 3), dec decimal(5, 0),
             s struct<`x y`: int NOT NULL COMMENT 'in', deep: array<struct<z: map<string, int>>>>)
           PARTITIONED BY (bucket(4, `a b`), truncate(2, `select`), `ünï`, hours(ts))
           COMMENT 'all; of -- it' TBLPROPERTIES ('k''ey' = 'va\\\\lue', 'format-version' = '3')"""
    )
    shown = run("SHOW CREATE TABLE st.d.`odd-name`")[0][0]
    old = ice.load_table("st.d.odd-name")
    ice.sql(spark, "DROP TABLE st.d.`odd-name` PURGE")
    run(shown)
    new = ice.load_table("st.d.odd-name")
    assert new.schema() == old.schema()
    assert str(new.spec()) == str(old.spec())
    assert (new.properties, new.location()) == (old.properties, old.location())
    assert run("SHOW CREATE TABLE st.d.`odd-name`")[0][0] == shown


def test_options_are_properties_by_two_names(spark: Any, sql_home: Path) -> None:
    run = _runner(spark)
    run(
        f"""CREATE TABLE st.d.o (id int) USING iceberg
            OPTIONS ('k' 'v', 'n' = 1 + 1, f TRUE, path '{sql_home}/o/')
            TBLPROPERTIES ('k' = 'p')"""
    )
    table = ice.load_table("st.d.o")
    options = {"k": "v", "n": "2", "f": "true"}
    marked = {f"option.{key}": value for key, value in options.items()}
    assert table.properties == options | marked and table.location() == f"{sql_home}/o"
    run("ALTER TABLE st.d.o SET TBLPROPERTIES ('k' = 'changed')")
    shown = run("SHOW CREATE TABLE st.d.o")[0][0]
    assert "OPTIONS (\n  'f' = 'true',\n  'n' = '2')\n" in shown
    properties = ice.load_table("st.d.o").properties
    run("DROP TABLE st.d.o PURGE")
    run(shown)
    assert ice.load_table("st.d.o").properties == properties
    assert run("SHOW CREATE TABLE st.d.o")[0][0] == shown


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ("k = null", InvalidInputError),
        ("k = CAST(NULL AS string)", InvalidInputError),
        ("k = array(1)", InvalidInputError),
        ("k = X'1F'", InvalidInputError),
        ("k = nowhere", Exception),
        ("'sort-order' = 'id'", InvalidInputError),
        ("path = 'here'", InvalidInputError),
    ],
)
def test_odd_options_are_refused(
    spark: Any, sql_home: Path, options: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        ice.sql(spark, f"CREATE TABLE st.d.o (id int) OPTIONS ({options})")
    assert not ice.load_catalog("st").table_exists("d.o")


def _runner(spark: Any) -> Callable[[str], list[tuple[Any, ...]]]:
    return lambda text: rows(ice.sql(spark, text))


def test_what_is_shown_of_a_table_is_no_property_of_a_new_one(spark: Any, sql_home: Path) -> None:
    """Order and identifier fields are shown as properties, and CREATE TABLE leaves them out."""
    run = _runner(spark)
    run("CREATE TABLE st.d.t (id int NOT NULL, `a b` string) PARTITIONED BY (`a b`) COMMENT 'x'")
    run("ALTER TABLE st.d.t SET IDENTIFIER FIELDS id")
    run("ALTER TABLE st.d.t WRITE ORDERED BY truncate(2, `a b`) DESC, id")
    shown = dict(run("SHOW TBLPROPERTIES st.d.t"))
    assert shown["identifier-fields"] == "[id]"
    order = "truncate(a b, 2) DESC NULLS LAST, id ASC NULLS FIRST"
    assert shown["sort-order"] == order
    described = run("DESCRIBE EXTENDED st.d.t")
    at = described.index(("# Metadata Columns", "", ""))
    assert described[at + 2] == ("_partition", "struct<a b:string>", "")
    details = {row[0]: row[1] for row in described[at:]}
    assert (details["Comment"], f"sort-order={order}" in details["Table Properties"]) == ("x", True)
    made = run("SHOW CREATE TABLE st.d.t")[0][0]
    assert "sort-order" not in made and "identifier-fields" not in made
    run("ALTER TABLE st.d.t DROP PARTITION FIELD `a b`")
    assert ice.load_table("st.d.t").spec().live_fields == ()


def test_a_partition_field_that_is_called_as_a_column_is_that_column(
    spark: Any, sql_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java looks for a column first; a field keeps its name when its column gets another.

    Only other libraries give another column that name.
    """
    run = _runner(spark)
    run("CREATE TABLE st.d.t (a int, b int, ts timestamp) PARTITIONED BY (a)")
    run("ALTER TABLE st.d.t RENAME COLUMN a TO x")
    with pytest.raises(InvalidSchemaError, match="can't share a name"):
        run("ALTER TABLE st.d.t RENAME COLUMN b TO a")
    with monkeypatch.context() as other_library:
        other_library.setattr(apply_updates, "check_field_names", lambda *_: None)
        run("ALTER TABLE st.d.t RENAME COLUMN b TO a")
    for text in ("DROP PARTITION FIELD a", "REPLACE PARTITION FIELD a WITH days(ts)"):
        with pytest.raises(InvalidInputError, match="not partitioned by column 'a'"):
            run(f"ALTER TABLE st.d.t {text}")
    run("ALTER TABLE st.d.t DROP PARTITION FIELD X")
    assert ice.load_table("st.d.t").spec().live_fields == ()
    run("ALTER TABLE st.d.t ADD PARTITION FIELD a AS part")
    run("ALTER TABLE st.d.t REPLACE PARTITION FIELD a WITH days(ts)")
    assert [field.name for field in ice.load_table("st.d.t").spec().live_fields] == ["ts_day"]
    run("ALTER TABLE st.d.t DROP PARTITION FIELD ts_day")
    assert ice.load_table("st.d.t").spec().live_fields == ()


def test_columns_are_made_with_defaults_from_format_version_3_on(
    spark: Any, sql_home: Path
) -> None:
    run = _runner(spark)
    columns = """(id int DEFAULT 5 + 1 COMMENT 'n', s string NOT NULL DEFAULT 'it''s, so',
                  d date DEFAULT DATE'2024-02-29', p struct<x: int>, m decimal(9, 2) DEFAULT 1)"""
    run(f"CREATE TABLE st.d.v {columns} TBLPROPERTIES ('format-version' = '3')")
    shown = run("SHOW CREATE TABLE st.d.v")[0][0]
    fields = ice.load_table("st.d.v").schema().fields
    run("DROP TABLE st.d.v PURGE")
    run(shown)
    assert ice.load_table("st.d.v").schema().fields == fields
    run("ALTER TABLE st.d.v ADD COLUMN late int DEFAULT 7")
    run("ALTER TABLE st.d.v ALTER COLUMN id SET DEFAULT 10")
    run("INSERT INTO st.d.v (p) VALUES (NULL)")
    run("ALTER TABLE st.d.v ALTER COLUMN late DROP DEFAULT")
    run("INSERT INTO st.d.v (id, d) VALUES (1, NULL)")
    assert run("SELECT id, s, CAST(d AS string), m, late FROM st.d.v ORDER BY id") == [
        (1, "it's, so", None, 1, None), (10, "it's, so", "2024-02-29", 1, 7),
    ]  # fmt: skip
    for text in (
        "CREATE TABLE st.d.w (id int DEFAULT 1)",
        "CREATE TABLE st.d.w (id int DEFAULT 'x') TBLPROPERTIES ('format-version' = '3')",
        "CREATE TABLE st.d.w (id int DEFAULT nowhere) TBLPROPERTIES ('format-version' = '3')",
    ):
        with pytest.raises(Exception, match=r"(?i)default|nowhere"):
            run(text)
    assert not ice.load_catalog("st").table_exists("d.w")
