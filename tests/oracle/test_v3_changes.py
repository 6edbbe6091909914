"""What format version 3 adds to changes of columns, on tables that Java made."""

import pyarrow as pa
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.spec.schema import Schema
from tests.builders import schema
from tests.oracle.compare import assert_same_rows
from tests.oracle.evolving import definition, java_schema, javas, ours
from tests.oracle.java_api import iceberg, location, read


def v3_twins(java: SparkSession, name: str, columns: Schema) -> tuple[str, str]:
    """Two equal tables of version 3, made by Java."""
    places = location(java, f"{name}_ours"), location(java, f"{name}_java")
    conf = java._jsparkSession.sessionState().newHadoopConf()
    jvm = iceberg(java)
    for place in places:
        made = java_schema(java, columns)
        spec = jvm.PartitionSpec.unpartitioned()
        jvm.hadoop.HadoopTables(conf).create(made, spec, {"format-version": "3"}, place)
    return places


def test_new_types_are_added_as_java_adds_them(java: SparkSession) -> None:
    places = v3_twins(java, "v3_types", schema(("id", "long")))
    update = [("add", "n", "timestamp_ns"), ("add", "u", "unknown")]
    assert ours(places[0], update) is None
    assert javas(java, places[1], update) is None
    assert definition(places[0]) == definition(places[1])


def test_promotions_that_the_specification_allows_and_java_can_not_make(java: SparkSession) -> None:
    """Java 1.12 reads the table after the one of unknown; after that of a date it can't."""
    columns = schema(("id", "long"), ("d", "date"), ("u", "unknown"))
    mine, theirs = v3_twins(java, "v3_wider", columns)
    rows = java.sql("SELECT 1L AS id, DATE'1969-12-31' AS d, NULL AS u")
    rows.write.format("iceberg").mode("append").save(mine)
    for update in ([("widen", "u", "int")], [("widen", "d", "timestamp")]):
        assert "Cannot change column type" in (javas(java, theirs, update) or "")
    assert ours(mine, [("widen", "u", "int")]) is None
    assert_same_rows(read(java, mine), ice.load_table(mine).scan().to_arrow())
    assert ours(mine, [("field", "days(d)"), ("field", "bucket(4, d)", "b")]) is None
    assert "b: bucket" in (ours(mine, [("widen", "d", "timestamp")]) or "")
    assert ours(mine, [("unfield", "b")]) is None
    assert "other values" in (ours(mine, [("widen", "d", "timestamp")]) or "")


def test_a_date_becomes_a_timestamp_and_its_bounds_are_read(java: SparkSession) -> None:
    mine, _ = v3_twins(java, "v3_dates", schema(("id", "long"), ("d", "date")))
    rows = java.sql("SELECT id, date_add(DATE'1969-12-30', CAST(id AS int)) AS d FROM range(4)")
    rows.coalesce(1).write.format("iceberg").mode("append").save(mine)
    assert ours(mine, [("field", "days(d)")]) is None
    assert ours(mine, [("widen", "d", "timestamp")]) is None
    table = ice.load_table(mine)
    assert table.scan("d > '1970-01-01 12:00:00'").to_arrow()["id"].to_pylist() == [3]
    assert table.scan("d = '1969-12-30 00:00:00'").to_arrow()["id"].to_pylist() == [0]
    assert table.scan("d > '1970-01-03 00:00:00'").count() == 0


def test_java_goes_on_with_a_table_that_we_upgraded_from_1_to_3(java: SparkSession) -> None:
    place = location(java, "v3_upgraded")
    table = ice.create_table(place, "id bigint", properties={"format-version": "1"})
    table.append(pa.table({"id": [1, 2]}))
    for version in ("2", "3"):
        table.update_properties().set({"format-version": version}).commit()
    java.sql("SELECT 3L AS id").write.format("iceberg").mode("append").save(place)
    assert sorted(read(java, place).column("id").to_pylist()) == [1, 2, 3]
    assert sorted(table.refresh().scan().to_arrow().column("id").to_pylist()) == [1, 2, 3]
