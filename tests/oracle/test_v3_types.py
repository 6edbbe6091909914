"""The types of version 3 by turns with Java, and read by DuckDB and PyIceberg where they can."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle import duckdb_reader, pyiceberg_tables
from tests.oracle.evolving import java_table
from tests.oracle.java_api import identifier, load, location, read

VERSION_3 = {"format-version": "3"}
DEFAULTS: dict[str, tuple[str, Any]] = {
    "i": ("int", -5),
    "f": ("float", 0.1),
    "bo": ("boolean", True),
    "de": ("decimal(9, 2)", 3.1),
    "dt": ("date", "1969-12-31"),
    "ts": ("timestamp_ntz", "2024-02-29 12:30:01.123456"),
    "tz": ("timestamp", "2024-02-29 12:30:01.123456+00:00"),
    "s": ("string", "it's \\ é"),
    "b": ("binary", b"\x00\xff"),
    "u": ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
}
VARIANTS = """select id, parse_json(case id % 5 when 0 then '{"n": 1, "s": "x", "o": {"p": true}}'
    when 1 then concat('{"n": ', id, ', "d": 1.25}') when 2 then '[1, {"x": 2}]' when 3 then null
    else '"text"' end) v from range(40)"""
OBJECTS = """select id, parse_json(concat('{"n": ', id % 3, ', "s": "x', id, '", "d": 1.25,
    "o": {"p": ', id, '}', if(id % 7 = 0, ', "n2": "odd"', ''), '}')) v from range(40)
    union all select 100, null union all select 101, parse_json('{"n": "text", "s": null}')"""


def texts(rows: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, rows.selectExpr("id", "to_json(v)").collect()))


def listed(iterator: Any) -> list[Any]:
    """What a Java iterator has."""
    found = []
    while iterator.hasNext():
        found.append(iterator.next())
    return found


@pytest.mark.parametrize("form", ["parquet", "avro"])
def test_java_reads_defaults_that_we_set_and_we_those_of_java(
    java: SparkSession, form: str
) -> None:
    place = location(java, f"v3_defaults_{form}")
    properties = VERSION_3 | {"write.format.default": form}
    table = ice.create_table(place, "id bigint, n struct<a: int>", properties=properties)
    table.append(pa.table({"id": [1]}))
    with table.update_schema() as update:
        for name, (kind, given) in DEFAULTS.items():
            update.add_column(name, kind, default_value=given)
        update.add_column("n.b", "string", default_value="inner")
    table.refresh().append(pa.table({"id": [2]}))
    rows = sorted(read(java, place).to_pylist(), key=lambda row: row["id"])
    assert {**rows[0], "id": 2} == rows[1]
    assert rows[0]["s"] == "it's \\ é"
    mine = table.refresh().scan().to_df(java).toArrow().to_pylist()
    assert sorted(mine, key=lambda row: row["id"]) == rows
    literal = java._jvm.org.apache.iceberg.expressions.Literal
    kind = java._jvm.org.apache.iceberg.types.Types.IntegerType.get()
    change = java_table(java, place).updateSchema().addRequiredColumn("j", kind, literal.of(7))
    change.updateColumnDefault("s", literal.of("new")).commit()
    table.refresh().append(pa.table({"id": [3]}))
    last = table.refresh().scan("id = 3", selected_fields=("s", "j", "i")).to_arrow().to_pylist()
    assert last == [{"s": "new", "j": 7, "i": -5}]
    assert table.scan("j = 7 and s = 'new'").count() == 1
    java_rows = read(java, place).to_pylist()
    assert {(row["id"], row["j"]) for row in java_rows} == {(1, 7), (2, 7), (3, 7)}


def test_java_reads_our_variants_and_columns_of_nothing(java: SparkSession) -> None:
    place = location(java, "v3_variants")
    ddl = "id bigint, v variant, u unknown, st struct<n: unknown, w: variant>"
    table = ice.create_table(place, ddl, properties=VERSION_3)
    rows = java.sql(VARIANTS)
    table.append(rows.selectExpr("*", "named_struct('w', v) st"))
    found = java.read.format("iceberg").load(place)
    assert texts(found) == texts(rows)
    assert found.where("to_json(st.w) <=> to_json(v) and u is null and st.n is null").count() == 40
    found.where("id < 5").selectExpr("id + 100 id", "v", "u", "st").write.format("iceberg").mode(
        "append"
    ).save(place)
    table.refresh().delete("variant_get(v, '$.n', 'int') = 1")
    kept = table.refresh().scan().to_df(java)
    assert texts(kept) == texts(java.read.format("iceberg").load(place))
    assert kept.count() == 34


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_rows_of_javas_shredded_files_are_read_and_deleted(java: SparkSession, mode: str) -> None:
    name = f"v3_shredded_{mode.replace('-', '_')}"
    java.sql(
        f"create table {identifier(name)} (id bigint, v variant) using iceberg tblproperties "
        "('format-version'='3', 'write.parquet.shred-variants'='true', "
        f"'write.delete.mode'='{mode}')"
    )
    rows = java.sql(OBJECTS)
    rows.coalesce(1).writeTo(identifier(name)).append()
    table = ice.load_table(location(java, name))
    (file,) = table.inspect.files().to_pylist()
    assert "typed_value" in str(
        pa.parquet.ParquetFile(file["file_path"].removeprefix("file:")).schema
    )
    assert texts(table.scan().to_df(java, engine="native")) == texts(rows)
    assert texts(table.scan().to_df(java, engine="arrow")) == texts(rows)
    table.delete("try_variant_get(v, '$.n', 'int') = 1")
    left = rows.where("coalesce(try_variant_get(v, '$.n', 'int'), 0) <> 1")
    assert texts(table.refresh().scan().to_df(java)) == texts(left)
    java.conf.set("spark.sql.iceberg.vectorization.enabled", "false")
    try:
        assert texts(java.read.format("iceberg").load(table.location())) == texts(left)
    finally:
        java.conf.unset("spark.sql.iceberg.vectorization.enabled")


def test_geometries_go_there_and_back(java: SparkSession) -> None:
    java.conf.set("spark.sql.geospatial.enabled", "true")
    point = bytes.fromhex("0101000000000000000000f03f0000000000000040")
    place = location(java, "v3_geometries")
    table = ice.create_table(place, "id bigint, g geometry, gg geography", properties=VERSION_3)
    table.append(pa.table({"id": [1, 2], "g": [point, None], "gg": [point, None]}))
    try:
        found = java.read.format("iceberg").load(place)
        shown = found.selectExpr("id", "st_asbinary(g) g", "st_asbinary(gg) gg")
        expected = [(1, point, point), (2, None, None)]
        assert sorted(
            (r.id, r.g and bytes(r.g), r.gg and bytes(r.gg)) for r in shown.collect()
        ) == (expected)
        found.write.format("iceberg").mode("append").save(place)
    finally:
        java.conf.unset("spark.sql.geospatial.enabled")
    again = table.refresh().scan().to_arrow()
    assert sorted(tuple(row.values()) for row in again.to_pylist() if row["g"]) == [expected[0]] * 2


def test_nanoseconds_are_read_by_java_and_pyiceberg(java: SparkSession) -> None:
    place = location(java, "v3_nanos")
    ddl = "id bigint, at timestamp_ns, tz timestamptz_ns"
    table = ice.create_table(
        place, ddl, partition_by=["days(at)", "bucket(4, tz)"], properties=VERSION_3
    )
    moments = [-1, 1704067200123456789]
    at = pa.array(moments, pa.timestamp("ns"))
    table.append(pa.table({"id": [1, 2], "at": at, "tz": at.cast(pa.timestamp("ns", "UTC"))}))
    theirs = pyiceberg_tables.read(place)
    assert theirs.sort_by("id")["at"].cast(pa.int64()).to_pylist() == moments
    generics = java._jvm.org.apache.iceberg.data.IcebergGenerics
    records = listed(generics.read(load(java, "v3_nanos")).build().iterator())
    shown = sorted((record.get(0), str(record.get(1)), str(record.get(2))) for record in records)
    assert shown == [
        (1, "1969-12-31T23:59:59.999999999", "1969-12-31T23:59:59.999999999Z"),
        (2, "2024-01-01T00:00:00.123456789", "2024-01-01T00:00:00.123456789Z"),
    ]
    assert len(listed(load(java, "v3_nanos").newScan().planFiles().iterator())) == 2


def test_duckdb_reads_defaults_variants_and_nanoseconds(java: SparkSession) -> None:
    place = location(java, "v3_duckdb")
    table = ice.create_table(place, "id bigint, v variant, n timestamp_ns", properties=VERSION_3)
    column = pa.array([1704067200123456789, None], pa.timestamp("ns"))
    parts = {"metadata": b"\x11\x01\x00\x01a", "value": b"\x02\x01\x00\x00\x02\x0c\x07"}
    variants = pa.array(
        [parts, None], pa.struct([("metadata", pa.binary()), ("value", pa.binary())])
    )
    table.append(pa.table({"id": [1, 2], "v": variants, "n": column}))
    table.update_schema().add_column("d", "string", default_value="later").commit()
    with duckdb_reader.connect() as connection:
        query = "select id, v::varchar v, n::varchar n, d from iceberg_scan(?) order by id"
        found = connection.execute(query, [table.refresh().location()]).fetchall()
    assert found == [
        (1, "{'a': 7}", "2024-01-01 00:00:00.123456789", "later"),
        (2, None, None, "later"),
    ]
