"""Imports of Spark's tables follow the catalog's schema and partitions, not the folder names."""

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
    name = f"default.imported_{uuid.uuid4().hex[:8]}"  # other workers have the same folder
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


def rows(spark: Any, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ice.sql(spark, text).collect()]


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_partition_columns_have_the_types_of_the_catalog(
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


def test_timestamps_in_folder_names_use_the_session_time_zone(spark: Any, source: str) -> None:
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
def test_a_partition_whose_folder_differs_from_the_catalog_is_refused(
    spark: Any, source: str, tmp_path: Path, call: str
) -> None:
    """A partition dropped from an external table keeps its files; an added one may be anywhere."""
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


def test_a_partition_filter_loads_only_its_partitions(
    spark: Any, source: str, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    place = f"USING parquet PARTITIONED BY (p) LOCATION '{folder}'"
    spark.sql(f"CREATE TABLE {source} (id int, p int) {place}")
    spark.sql(f"INSERT INTO {source} VALUES (1, 1), (2, 2)")
    spark.sql(f"ALTER TABLE {source} DROP PARTITION (p = 2)")
    rows(spark, "CREATE TABLE st.d.t (id int, p int) PARTITIONED BY (p)")
    rows(spark, f"CALL st.system.add_files('d.t', '{source}', map('p', '1'))")
    assert rows(spark, "SELECT * FROM st.d.t") == [(1, 1)]


def test_columns_that_the_catalog_lacks_or_spells_differently_are_kept(
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


def test_partitioned_files_are_refused_by_an_unpartitioned_table(
    spark: Any, sql_home: Path, tmp_path: Path
) -> None:
    """Java: "Cannot add partitioned files to an unpartitioned table"; values would be NULL."""
    folder = tmp_path / "folder"
    spark.range(2).selectExpr("id", "id AS day").write.partitionBy("day").parquet(str(folder))
    rows(spark, "CREATE TABLE st.d.t (id bigint, day bigint)")
    with pytest.raises(InvalidInputError, match="partitioned by nothing"):
        rows(spark, f"CALL st.system.add_files('d.t', 'parquet.`{folder}`')")


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_files_are_imported_whatever_their_names(
    spark: Any, sql_home: Path, tmp_path: Path, kind: str
) -> None:
    """Hive's files are named 000000_0; Spark and Java read every file that is not hidden."""
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


def test_nested_fields_of_create_table_as_select_are_optional(
    spark: Any, sql_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's asNullable applies to nested fields too."""
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


def test_the_type_timestamp_follows_the_session_setting(spark: Any, sql_home: Path) -> None:
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


def test_a_default_without_time_zone_uses_the_session_time_zone(spark: Any, sql_home: Path) -> None:
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


def test_change_column_of_hive_refuses_further_clauses(spark: Any, sql_home: Path) -> None:
    rows(spark, "CREATE TABLE st.d.t (id int, s struct<a: int>)")
    for more in ("id id bigint NOT NULL", "id id bigint DEFAULT 5", "s.a s.b bigint"):
        with pytest.raises(InvalidInputError, match="CHANGE COLUMN"):
            rows(spark, f"ALTER TABLE st.d.t CHANGE COLUMN {more}")
    rows(spark, "ALTER TABLE st.d.t CHANGE COLUMN id number bigint COMMENT 'x'")
    assert [field.name for field in schema("t").fields] == ["number", "s"]


def test_a_partition_in_another_folder_is_refused_if_a_filter_selects_it(
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


def test_snapshot_creates_a_table_at_a_location(spark: Any, source: str, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {source} USING parquet AS SELECT 1 AS id")
    rows(spark, f"CALL st.system.snapshot('{source}', '{tmp_path}/t')")
    assert rows(spark, f"SELECT * FROM `{tmp_path}/t`") == [(1,)]
    pointer = ice.load_table(f"{tmp_path}/t").metadata_location
    with pytest.raises(InvalidInputError, match="no name in st"):
        rows(spark, f"CALL st.system.register_table('{tmp_path}/u', '{pointer}')")


def test_snapshot_writes_files_to_the_location_argument(
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


def test_a_folder_with_types_that_spark_lacks_has_the_columns_of_its_files(
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
    name = f"default.imported_{uuid.uuid4().hex[:8]}"
    spark.sql(f"CREATE TABLE {name} (ns timestamp) USING parquet LOCATION '{tmp_path}/source'")
    try:
        with pytest.raises(InvalidSchemaError, match="take in their folder"):
            ice.snapshot(name, f"{tmp_path}/u", spark=spark)
    finally:
        spark.sql(f"DROP TABLE {name}")
