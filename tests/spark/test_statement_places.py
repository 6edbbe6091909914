"""Where a table and its new files go: LOCATION, SET LOCATION and PySpark's own words for it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError, UnsupportedError


@pytest.fixture
def enabled(spark: Any, sql_home: Path) -> Iterator[Any]:
    ice.enable(spark)
    yield spark
    ice.disable(spark)


def runner(spark: Any) -> Callable[[str], list[tuple[Any, ...]]]:
    return lambda text: [tuple(row) for row in ice.sql(spark, text).collect()]


def lies_at(name: str, place: Path) -> bool:
    """Whether a table, its newest metadata and the files of its newest rows are at a place."""
    table = ice.load_table(name)
    files = [row["file_path"] for row in table.inspect.files().to_pylist()]
    return table.location() == str(place) and all(
        path.startswith(f"{place}/") for path in [table.metadata_location, *files]
    )


def test_a_table_is_made_and_replaced_where_location_says(spark: Any, sql_home: Path) -> None:
    run, at = runner(spark), sql_home / "else"
    run(f"CREATE TABLE st.d.t (id int) LOCATION '{at}/1/'")
    run("INSERT INTO st.d.t VALUES (1)")
    assert lies_at("st.d.t", at / "1")
    run(f"CREATE TABLE st.d.u LOCATION '{at}/2' AS SELECT 1 AS id")
    assert lies_at("st.d.u", at / "2")
    first = ice.load_table("st.d.u").current_snapshot().snapshot_id
    run(f"REPLACE TABLE st.d.u LOCATION '{at}/3' AS SELECT 2 AS id")
    assert lies_at("st.d.u", at / "3")
    run(f"CREATE OR REPLACE TABLE st.d.u (x int) LOCATION '{at}/4'")
    assert lies_at("st.d.u", at / "4")
    assert run(f"SELECT id FROM st.d.u VERSION AS OF {first}") == [(1,)]
    run(f"CREATE OR REPLACE TABLE st.d.v LOCATION '{at}/5' AS SELECT 1 AS id")
    assert lies_at("st.d.v", at / "5")


def test_new_files_go_where_set_location_says_and_old_ones_stay(spark: Any, sql_home: Path) -> None:
    run, at = runner(spark), sql_home / "moved"
    run("CREATE TABLE st.d.t AS SELECT 1 AS id")
    run(f"ALTER TABLE st.d.t SET LOCATION '{at}'")
    run("INSERT INTO st.d.t VALUES (2)")
    table = ice.load_table("st.d.t")
    assert table.location() == str(at) and table.metadata_location.startswith(f"{at}/")
    paths = sorted(row["file_path"] for row in table.inspect.files().to_pylist())
    assert [path.startswith(f"{at}/") for path in paths] == [True, False]
    assert sorted(run("SELECT id FROM st.d.t")) == [(1,), (2,)]


def test_a_table_moves_into_no_other_tables_folder_and_back_to_its_own(
    spark: Any, sql_home: Path
) -> None:
    """The other one's removal of orphan files would take these for nobody's."""
    run = runner(spark)
    for name in ("t", "u"):
        run(f"CREATE TABLE st.d.{name} AS SELECT 1 AS id")
    own, other = (ice.load_table(f"st.d.{name}").location() for name in ("t", "u"))
    for place in (other, f"{other}/data", f"{own}/data"):
        for text in (
            "ALTER TABLE st.d.t SET LOCATION '{}'",
            "REPLACE TABLE st.d.t (id int) LOCATION '{}'",
        ):
            with pytest.raises(InvalidInputError, match=r"none is made there|Another table is at"):
                run(text.format(place))
    run(f"ALTER TABLE st.d.t SET LOCATION '{sql_home}/moved'")
    run(f"ALTER TABLE st.d.t SET LOCATION '{own}/'")
    assert ice.load_table("st.d.t").location() == own
    run(f"ALTER TABLE st.d.t SET LOCATION '{own}'")
    assert run("SELECT * FROM st.d.t") == [(1,)]


REFUSED = {
    "CREATE TABLE fs.d.n (id int) LOCATION '{at}'": "leave LOCATION out",
    "CREATE TABLE fs.d.n LOCATION '{at}' AS SELECT 1 AS id": "leave LOCATION out",
    "REPLACE TABLE fs.d.t LOCATION '{at}' AS SELECT 1 AS id": "leave LOCATION out",
    "ALTER TABLE fs.d.t SET LOCATION '{at}'": "leave LOCATION out",
    "CREATE TABLE st.d.n LOCATION 'n' AS SELECT 1 AS id": "say the whole path",
    "ALTER TABLE st.d.t SET LOCATION 's3://bucket/t'": "two stores",
    "REPLACE TABLE st.d.t LOCATION 's3://bucket/t' AS SELECT 1 AS id": "two stores",
    "CREATE TABLE st.d.n LOCATION '{at}' AS SELECT raise_error('no') AS id": "no",
    "REPLACE TABLE st.d.t LOCATION '{at}' AS SELECT raise_error('no') AS id": "no",
}


def test_a_place_that_cant_be_leaves_neither_table_nor_files(spark: Any, sql_home: Path) -> None:
    run, at = runner(spark), sql_home / "else"
    for name in ("fs.d.t", "st.d.t"):
        run(f"CREATE TABLE {name} (id int)")
    files = {path for path in sql_home.rglob("*") if path.is_file()}
    for text, said in REFUSED.items():
        with pytest.raises(Exception, match=said):
            run(text.format(at=at))
        assert {path for path in sql_home.rglob("*") if path.is_file()} == files, text
    assert not ice.load_catalog("st").table_exists("d.n")


def test_a_frame_is_written_to_a_new_table_at_a_place(enabled: Any, sql_home: Path) -> None:
    frame, at = enabled.range(2), sql_home / "else"
    frame.writeTo("st.d.t").tableProperty("location", f"{at}/1").create()
    assert lies_at("st.d.t", at / "1")
    assert "location" not in ice.load_table("st.d.t").properties
    frame.writeTo("st.d.t").tableProperty("location", f"{at}/2").replace()
    assert lies_at("st.d.t", at / "2")
    frame.write.option("path", f"{at}/3").saveAsTable("st.d.u")
    assert lies_at("st.d.u", at / "3")
    frame.write.option("path", f"{at}/3").mode("append").saveAsTable("st.d.u")
    frame.write.option("path", f"{at}/4").mode("overwrite").saveAsTable("st.d.u")
    assert lies_at("st.d.u", at / "4")
    with pytest.raises(UnsupportedError, match="leave LOCATION out"):
        frame.writeTo("fs.d.t").tableProperty("location", f"{at}/5").create()
    with pytest.raises(InvalidInputError, match="USING csv"):
        frame.writeTo("st.d.w").tableProperty("provider", "csv").create()
    with pytest.raises(InvalidInputError, match="WRITE ORDERED BY"):
        frame.writeTo("st.d.w").tableProperty("sort-order", "id").create()
    assert not ice.load_catalog("st").table_exists("d.w")
    assert not (at / "5").exists()


def test_a_new_tables_files_are_written_as_options_say(enabled: Any, sql_home: Path) -> None:
    """And the snapshot has what they say of it; a table that is replaced too."""
    frame = enabled.range(2)

    def written(suffix: str) -> bool:
        table = ice.load_table("st.d.t")
        files = [row["file_path"] for row in table.inspect.files().to_pylist()]
        by = table.current_snapshot().summary["by"]
        return by == suffix and all(path.endswith(f".{suffix}") for path in files)

    options = {"write-format": "orc", "snapshot-property.by": "orc"}
    frame.writeTo("st.d.t").options(**options).create()
    assert written("orc")
    options = {"write-format": "avro", "snapshot-property.by": "avro"}
    frame.writeTo("st.d.t").options(**options).replace()
    assert written("avro")
    frame.write.mode("overwrite").options(**options).saveAsTable("st.d.t")
    assert written("avro")
    # Spark names its default source, parquet, as Java's runtime gets it: the option wins once.
    assert ice.load_table("st.d.t").properties["write.format.default"] == "parquet"


RESERVED = {
    "location": "use LOCATION",
    "provider": "use USING",
    "owner": "the user who makes",
    "external": "use LOCATION",
    "is_managed_location": "use LOCATION",
    "sort-order": "WRITE ORDERED BY",
    "identifier-fields": "SET IDENTIFIER FIELDS",
    "format": "write.format.default",
}


def test_words_that_are_no_properties_are_not_stored_as_such(spark: Any, sql_home: Path) -> None:
    run = runner(spark)
    run("CREATE TABLE st.d.t (id int)")
    before = ice.load_table("st.d.t").metadata_location
    for key, said in RESERVED.items():
        for text in (
            f"CREATE TABLE st.d.n (id int) TBLPROPERTIES ('{key}' = 'x')",
            f"CREATE TABLE st.d.n TBLPROPERTIES ('{key}' = 'x') AS SELECT 1 AS id",
            f"CREATE OR REPLACE TABLE st.d.t (id int) TBLPROPERTIES ('{key}' = 'x')",
            f"ALTER TABLE st.d.t SET TBLPROPERTIES ('{key}' = 'x')",
        ):
            with pytest.raises(InvalidInputError, match=said):
                run(text)
    for text in (
        "CREATE TABLE st.d.n (id int) TBLPROPERTIES ('cherry-pick-snapshot-id' = '1')",
        "CREATE TABLE st.d.n (id int) TBLPROPERTIES ('current-snapshot-id' = 'none')",
        "ALTER TABLE st.d.t SET TBLPROPERTIES ('current-snapshot-id' = 'none')",
        "ALTER TABLE st.d.t UNSET TBLPROPERTIES ('location')",
    ):
        with pytest.raises(InvalidInputError):
            run(text)
    assert ice.load_table("st.d.t").metadata_location == before
    assert not ice.load_catalog("st").table_exists("d.n")


def test_properties_that_name_a_snapshot_go_there_or_pick_it(spark: Any, sql_home: Path) -> None:
    run = runner(spark)
    run("CREATE TABLE st.d.t AS SELECT 1 AS id")
    run("INSERT INTO st.d.t VALUES (2)")
    table = ice.load_table("st.d.t")
    first, second = (one.snapshot_id for one in table.snapshots())
    run(f"ALTER TABLE st.d.t SET TBLPROPERTIES ('current-snapshot-id' = '{first}', 'a' = 'b')")
    assert run("SELECT id FROM st.d.t") == [(1,)]
    assert run("SHOW TBLPROPERTIES st.d.t ('a')") == [("a", "b")]
    run(f"ALTER TABLE st.d.t SET TBLPROPERTIES ('cherry-pick-snapshot-id' = '{second}')")
    assert sorted(run("SELECT id FROM st.d.t")) == [(1,), (2,)]
    assert not {"current-snapshot-id", "cherry-pick-snapshot-id"} & {*table.refresh().properties}
    both = f"'current-snapshot-id' = '{first}', 'cherry-pick-snapshot-id' = '{second}'"
    with pytest.raises(InvalidInputError, match="which comes first"):
        run(f"ALTER TABLE st.d.t SET TBLPROPERTIES ({both})")


def test_using_names_the_format_of_data_files(spark: Any, sql_home: Path) -> None:
    run = runner(spark)
    run("CREATE TABLE st.d.a (id int) USING ORC")
    run("INSERT INTO st.d.a VALUES (1)")
    run("CREATE TABLE st.d.b USING avro AS SELECT 1 AS id")
    run("CREATE TABLE st.d.c USING avro AS SELECT 1 AS id")
    run("REPLACE TABLE st.d.c USING orc AS SELECT 2 AS id")
    run("CREATE OR REPLACE TABLE st.d.b (id int) USING parquet")
    run("INSERT INTO st.d.b VALUES (3)")
    for name, kind in {"a": "orc", "b": "parquet", "c": "orc"}.items():
        table = ice.load_table(f"st.d.{name}")
        assert table.properties["write.format.default"] == kind
        (file,) = table.inspect.files().to_pylist()
        assert file["file_path"].endswith(f".{kind}")
    for text, said in {
        "USING parquet TBLPROPERTIES ('write.format.default' = 'orc')": "leave the property out",
        "USING csv": "tables of this catalog are Iceberg tables",
    }.items():
        with pytest.raises(InvalidInputError, match=said):
            run(f"CREATE TABLE st.d.n (id int) {text}")
    assert not ice.load_catalog("st").table_exists("d.n")


def test_described_are_fields_that_a_table_is_partitioned_by_and_defaults(
    spark: Any, sql_home: Path
) -> None:
    run = runner(spark)
    run(
        """CREATE TABLE st.d.p (id int, point struct<x: double COMMENT 'east', `a b`: int>)
           PARTITIONED BY (point.x, point.`a b`, id)"""
    )
    assert run("DESCRIBE st.d.p")[2:] == [
        ("# Partition Information", "", ""), ("# col_name", "data_type", "comment"),
        ("point.x", "double", "east"), ("point.`a b`", "int", None), ("id", "int", None),
    ]  # fmt: skip
    run(
        """CREATE TABLE st.d.v (id int DEFAULT 6, n int, s string DEFAULT 'it''s')
           TBLPROPERTIES ('format-version' = '3')"""
    )
    title = ("# Column Default Values", "", "")
    assert run("DESCRIBE EXTENDED st.d.v")[-6:] == [
        ("", "", ""), title, ("id", "int", "6"),
        ("", "", ""), title, ("s", "string", "'it\\'s'"),
    ]  # fmt: skip
    assert title not in [*run("DESCRIBE st.d.v"), *run("DESCRIBE EXTENDED st.d.p")]


def test_a_nested_type_is_repeated_where_a_comment_or_place_is_changed(
    spark: Any, sql_home: Path
) -> None:
    run = runner(spark)
    run(
        """CREATE TABLE st.d.t (id int, tags array<string>, m map<string, struct<a: int>>,
           point struct<x: double COMMENT 'east', y: double>)"""
    )
    before = ice.load_table("st.d.t").schema()
    for text in (
        "CHANGE COLUMN point point struct<x: double, y: double> COMMENT 'where'",
        "CHANGE COLUMN tags tags array<string> AFTER point",
        "ALTER COLUMN m TYPE map<string, struct<a: int>>",
    ):
        run(f"ALTER TABLE st.d.t {text}")
    table = ice.load_table("st.d.t")
    fields = {one.name: one for one in table.schema().fields}
    assert list(fields) == ["id", "m", "point", "tags"]
    assert fields["point"].doc == "where"
    assert all(one.field_type == before.find_type(one.name) for one in fields.values())
    for text in ("point TYPE struct<x: double>", "tags TYPE array<int>", "m TYPE map<int, int>"):
        with pytest.raises(InvalidSchemaError, match="Can't change the type"):
            run(f"ALTER TABLE st.d.t ALTER COLUMN {text}")
    assert table.refresh().metadata_location == table.metadata_location
