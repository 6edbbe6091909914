"""Spark's own tables that are taken in: as their catalog says they are, not as folders look."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import (
    CorruptFileError,
    InvalidInputError,
    InvalidSchemaError,
    UnsupportedError,
)


@pytest.fixture
def source(spark: Any, sql_home: Path) -> Iterator[str]:
    """The name of a Parquet table of Spark's, dropped afterwards with its folder."""
    name = f"default.taken_in_{uuid.uuid4().hex[:8]}"  # other workers have the same folder
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


def rows(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ice.sql(spark, text).collect()]


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_columns_of_partitions_have_the_types_that_the_catalog_says(
    spark: Any, source: str, kind: str
) -> None:
    """Folders look like numbers and dates; Java takes the source's schema."""
    kinds = "id int, zip string, day string, big bigint"
    spark.sql(f"CREATE TABLE {source} ({kinds}) USING {kind} PARTITIONED BY (zip, day, big)")
    spark.sql(f"INSERT INTO {source} VALUES (1, '01234', '2024-01-01', 5), (2, '9', 'x', 6)")
    rows(spark, f"CALL st.system.snapshot('{source}', 'd.t')")
    expected = [(1, "01234", "2024-01-01", 5), (2, "9", "x", 6)]
    assert rows(spark, "SELECT * FROM st.d.t ORDER BY id") == expected
    types = [str(field.field_type) for field in ice.load_table("st.d.t").schema().fields]
    assert types == ["int", "string", "string", "long"]


def test_instants_in_names_of_folders_are_of_the_sessions_zone(spark: Any, source: str) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        spark.sql(f"CREATE TABLE {source} (id int, ts timestamp) USING parquet PARTITIONED BY (ts)")
        spark.sql(f"INSERT INTO {source} VALUES (1, TIMESTAMP '2024-07-01 00:00:00')")
        expected = [tuple(row) for row in spark.table(source).collect()]
        rows(spark, f"CALL st.system.snapshot('{source}', 'd.t')")
        rows(spark, "CREATE TABLE st.d.u (id int, ts timestamp) PARTITIONED BY (ts)")
        rows(spark, f"CALL st.system.add_files('d.u', '{source}')")
        assert (
            rows(spark, "SELECT * FROM st.d.t") == rows(spark, "SELECT * FROM st.d.u") == expected
        )
        found = ice.load_table("st.d.t").scan(row_filter="ts < '2024-06-30 22:00:01+00:00'")
        assert found.to_arrow().num_rows == 1
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


@pytest.mark.parametrize("call", ["snapshot('{}', 'd.t')", "add_files('d.u', '{}')"])
def test_a_partition_that_the_catalog_has_otherwise_than_the_folder_is_refused(
    spark: Any, source: str, tmp_path: Path, call: str
) -> None:
    """Dropped from an external table its files stay; added it may be anywhere."""
    folder, other = tmp_path / "folder", tmp_path / "other"
    place = f"USING parquet PARTITIONED BY (p) LOCATION '{folder}'"
    spark.sql(f"CREATE TABLE {source} (id int, p int) {place}")
    spark.sql(f"INSERT INTO {source} VALUES (1, 1), (2, 2)")
    rows(spark, "CREATE TABLE st.d.u (id int, p int) PARTITIONED BY (p)")
    text = f"CALL st.system.{call.format(source)}"
    spark.sql(f"ALTER TABLE {source} DROP PARTITION (p = 1)")
    with pytest.raises(InvalidInputError, match="not a part of that table"):
        rows(spark, text)
    spark.sql(f"ALTER TABLE {source} ADD PARTITION (p = 1)")
    spark.range(3, 4).selectExpr("int(id) AS id").write.parquet(str(other))
    spark.sql(f"ALTER TABLE {source} ADD PARTITION (p = 9) LOCATION '{other}'")
    with pytest.raises(InvalidInputError, match="outside of its folder"):
        rows(spark, text)
    assert rows(spark, "SELECT * FROM st.d.u") == []
    spark.sql(f"ALTER TABLE {source} DROP PARTITION (p = 9)")
    rows(spark, text)
    name = "st.d.t" if "d.t" in call else "st.d.u"
    assert rows(spark, f"SELECT * FROM {name} ORDER BY id") == [(1, 1), (2, 2)]


def test_a_filter_asks_for_its_partitions_alone(spark: Any, source: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    place = f"USING parquet PARTITIONED BY (p) LOCATION '{folder}'"
    spark.sql(f"CREATE TABLE {source} (id int, p int) {place}")
    spark.sql(f"INSERT INTO {source} VALUES (1, 1), (2, 2)")
    spark.sql(f"ALTER TABLE {source} DROP PARTITION (p = 2)")
    rows(spark, "CREATE TABLE st.d.t (id int, p int) PARTITIONED BY (p)")
    rows(spark, f"CALL st.system.add_files('d.t', '{source}', map('p', '1'))")
    assert rows(spark, "SELECT * FROM st.d.t") == [(1, 1)]


def test_columns_of_files_that_the_catalog_leaves_out_or_spells_otherwise_stay(
    spark: Any, source: str, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    spark.range(2).selectExpr("id", "'x' AS name", "'01' AS p").write.partitionBy("p").parquet(
        str(folder)
    )
    columns = "ID bigint, more int, p string"
    spark.sql(
        f"CREATE TABLE {source} ({columns}) USING parquet PARTITIONED BY (p) LOCATION '{folder}'"
    )
    spark.sql(f"MSCK REPAIR TABLE {source}")
    rows(spark, f"CALL st.system.snapshot('{source}', 'd.t')")
    expected = [(0, None, "01", "x"), (1, None, "01", "x")]
    assert rows(spark, "SELECT id, more, p, name FROM st.d.t ORDER BY id") == expected


def test_partitions_go_into_no_table_without(spark: Any, sql_home: Path, tmp_path: Path) -> None:
    """Java: "Cannot add partitioned files to an unpartitioned table"; values would be NULL."""
    folder = tmp_path / "folder"
    spark.range(2).selectExpr("id", "id AS day").write.partitionBy("day").parquet(str(folder))
    rows(spark, "CREATE TABLE st.d.t (id bigint, day bigint)")
    with pytest.raises(InvalidInputError, match="partitioned by nothing"):
        rows(spark, f"CALL st.system.add_files('d.t', 'parquet.`{folder}`')")


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_files_of_any_name_are_rows(spark: Any, sql_home: Path, tmp_path: Path, kind: str) -> None:
    """Hive's are called 000000_0; Spark and Java read every file that is not hidden."""
    folder = tmp_path / "folder"
    spark.range(4).repartition(2).write.format(kind).save(str(folder))
    first, *_ = sorted(folder.glob(f"part-*.{kind}"))
    first.rename(folder / "000000_0")
    rows(spark, "CREATE TABLE st.d.t (id bigint)")
    rows(spark, f"CALL st.system.add_files('d.t', '{kind}.`{folder}`')")
    assert rows(spark, "SELECT * FROM st.d.t ORDER BY id") == [(0,), (1,), (2,), (3,)]
    rows(spark, f"CALL st.system.snapshot('{kind}.`{folder}`', 'd.s')")
    assert len(rows(spark, "SELECT * FROM st.d.s")) == 4
    folder.joinpath("notes.txt").write_text("no rows")
    with pytest.raises(CorruptFileError, match=r"notes\.txt"):
        rows(spark, f"CALL st.system.snapshot('{kind}.`{folder}`', 'd.u')")


def test_what_as_select_makes_is_optional_inside_too(
    spark: Any, sql_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's asNullable goes all the way down."""
    query = "SELECT named_struct('a', 1) AS s, array(1) AS l, map('k', 1) AS m"
    rows(spark, f"CREATE TABLE st.d.t AS {query}")
    rows(spark, f"CREATE OR REPLACE TABLE st.d.u AS {query}")
    rows(spark, f"CREATE OR REPLACE TABLE st.d.u AS {query}")
    for name in ("t", "u"):
        values = "named_struct('a', CAST(NULL AS INT)), array(CAST(NULL AS INT)), map('k', NULL)"
        rows(spark, f"INSERT INTO st.d.{name} VALUES ({values})")
        assert rows(spark, f"SELECT * FROM st.d.{name}") != (({"a": None},), [None], {"k": None})
        assert not any("required" in line for line in str(schema(name)).splitlines()[:3])
    ice.enable(spark)
    try:
        spark.sql(query).write.saveAsTable("st.d.w")
    finally:
        ice.disable(spark)
    for name in ("s", "s.a", "l", "l.element", "m.value"):
        assert not schema("w").find_field(name).required
    monkeypatch.setenv("PYICEBERG_CATALOG__ST__USE_NULLABLE_QUERY_SCHEMA", "false")
    rows(spark, f"CREATE TABLE st.d.v AS {query}")
    assert schema("v").find_field("s").required
    assert schema("v").find_field("s.a").required


def schema(name: str) -> Any:
    return ice.load_table(f"st.d.{name}").schema()


def test_timestamp_is_what_the_session_says(spark: Any, sql_home: Path) -> None:
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        columns = "a timestamp, b timestamp_ltz, c array<timestamp>, d struct<e: timestamp_ntz>"
        rows(spark, f"CREATE TABLE st.d.t ({columns})")
        rows(spark, "ALTER TABLE st.d.t ADD COLUMN f timestamp")
        rows(spark, "ALTER TABLE st.d.t ADD COLUMN d.g timestamp_ltz")
    finally:
        spark.conf.unset("spark.sql.timestampType")
    kinds = {name: str(schema("t").find_field(name).field_type) for name in ("a", "b", "f", "d.g")}
    expected = {"a": "timestamp", "b": "timestamptz", "f": "timestamp", "d.g": "timestamptz"}
    assert kinds == expected
    assert str(schema("t").find_field("c.element").field_type) == "timestamp"
    rows(spark, "ALTER TABLE st.d.t ADD COLUMN h timestamp")
    assert str(schema("t").find_field("h").field_type) == "timestamptz"


def test_a_default_that_is_a_wall_clock_is_of_the_sessions_zone(spark: Any, sql_home: Path) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        version = "TBLPROPERTIES ('format-version' = '3')"
        first = "a timestamp DEFAULT DATE '2024-01-01', day date DEFAULT DATE '2024-01-01'"
        rows(spark, f"CREATE TABLE st.d.t (id int, {first}) {version}")
        rows(spark, "INSERT INTO st.d.t (id) VALUES (1)")
        for name, text in {
            "b": "DATE '2024-01-01'",
            "c": "TIMESTAMP_NTZ '2024-01-01 00:00'",
        }.items():
            rows(spark, f"ALTER TABLE st.d.t ADD COLUMN {name} timestamp DEFAULT {text}")
        rows(
            spark, "ALTER TABLE st.d.t ADD COLUMN d timestamp DEFAULT TIMESTAMP '2024-01-01 00:00'"
        )
        rows(spark, "ALTER TABLE st.d.t ALTER COLUMN d SET DEFAULT DATE '2024-01-02'")
        rows(spark, "INSERT INTO st.d.t (id) VALUES (2)")
        same = "'2024-01-01 00:00:00'"
        assert rows(
            spark,
            f"""SELECT id, a = {same}, b = {same}, c = {same}, string(d), string(day)
                FROM st.d.t ORDER BY id""",
        ) == [
            (1, True, True, True, "2024-01-01 00:00:00", "2024-01-01"),
            (2, True, True, True, "2024-01-02 00:00:00", "2024-01-01"),
        ]
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def test_hives_change_of_a_column_says_nothing_more(spark: Any, sql_home: Path) -> None:
    rows(spark, "CREATE TABLE st.d.t (id int, s struct<a: int>)")
    for more in ("id id bigint NOT NULL", "id id bigint DEFAULT 5", "s.a s.b bigint"):
        with pytest.raises(InvalidInputError, match="CHANGE COLUMN"):
            rows(spark, f"ALTER TABLE st.d.t CHANGE COLUMN {more}")
    rows(spark, "ALTER TABLE st.d.t CHANGE COLUMN id number bigint COMMENT 'x'")
    assert [field.name for field in schema("t").fields] == ["number", "s"]


def test_a_partition_elsewhere_is_refused_where_a_filter_asks_for_it(
    spark: Any, source: str, tmp_path: Path
) -> None:
    folder, other = tmp_path / "folder", tmp_path / "other"
    place = f"USING parquet PARTITIONED BY (r, d) LOCATION '{folder}'"
    spark.sql(f"CREATE TABLE {source} (id int, r string, d int) {place}")
    spark.sql(f"INSERT INTO {source} VALUES (1, 'x', 1), (2, 'y', 1), (3, null, 1)")
    spark.range(4, 5).selectExpr("int(id) AS id").write.parquet(str(other))
    spark.sql(f"ALTER TABLE {source} ADD PARTITION (r = 'x', d = 2) LOCATION '{other}'")
    rows(spark, "CREATE TABLE st.d.t (id int, r string, d int) PARTITIONED BY (r, d)")
    with pytest.raises(InvalidInputError, match="outside of its folder"):
        rows(spark, f"CALL st.system.add_files('d.t', '{source}', map('r', 'x'))")
    hive_null = "__HIVE_DEFAULT_PARTITION__"
    for asked in ("'r', 'y'", f"'r', '{hive_null}'", "'r', 'x', 'd', '1'"):
        rows(spark, f"CALL st.system.add_files('d.t', '{source}', map({asked}))")
    expected = [(1, "x", 1), (2, "y", 1), (3, None, 1)]
    assert rows(spark, "SELECT * FROM st.d.t ORDER BY id") == expected


def test_a_snapshot_may_go_to_a_location(spark: Any, source: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {source} USING parquet AS SELECT 1 AS id")
    rows(spark, f"CALL st.system.snapshot('{source}', '{tmp_path}/t')")
    assert rows(spark, f"SELECT * FROM `{tmp_path}/t`") == [(1,)]
    pointer = ice.load_table(f"{tmp_path}/t").metadata_location
    with pytest.raises(InvalidInputError, match="no name in st"):
        rows(spark, f"CALL st.system.register_table('{tmp_path}/u', '{pointer}')")


def test_a_snapshot_of_a_name_has_its_files_where_it_is_told(
    spark: Any, source: str, tmp_path: Path
) -> None:
    spark.sql(f"CREATE TABLE {source} USING parquet AS SELECT 1 AS id")
    call = f"CALL st.system.snapshot('{source}', 'd.s', location => '{tmp_path}/there')"
    rows(spark, call)
    rows(spark, "INSERT INTO st.d.s VALUES (2)")
    assert rows(spark, "SELECT * FROM st.d.s ORDER BY id") == [(1,), (2,)]
    assert len(list((tmp_path / "there" / "data").rglob("*.parquet"))) == 1
    (place,) = spark.sql(f"DESCRIBE EXTENDED {source}").where("col_name = 'Location'").collect()
    for wrong in (place.data_type, "elsewhere"):
        with pytest.raises(InvalidInputError):
            rows(spark, f"CALL st.system.snapshot('{source}', 'd.u', location => '{wrong}')")
    with pytest.raises(UnsupportedError, match="by their folders"):
        rows(spark, f"CALL fs.system.snapshot('{source}', 'd.u', location => '{tmp_path}/u')")


def test_a_folder_of_types_that_spark_lacks_has_the_columns_of_its_files(
    spark: Any, tmp_path: Path
) -> None:
    columns = {
        "ns": pa.array([1000], pa.timestamp("ns")),
        "t": pa.array([1], pa.time32("ms")),
        "h": pa.array([1.5], pa.float16()),
    }
    (tmp_path / "source").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "source" / "f.parquet")
    table = ice.snapshot(f"{tmp_path}/source", f"{tmp_path}/t", spark=spark)
    types = [str(field.field_type) for field in table.schema().fields]
    assert types == ["timestamp", "time", "float"]
    assert table.scan().count() == 1
    name = f"default.taken_in_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE TABLE {name} (ns timestamp) USING parquet LOCATION '{tmp_path}/source'")
    try:
        with pytest.raises(InvalidSchemaError, match="take in their folder"):
            ice.snapshot(name, f"{tmp_path}/u", spark=spark)
    finally:
        spark.sql(f"DROP TABLE {name}")
