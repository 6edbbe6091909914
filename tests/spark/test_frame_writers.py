"""What PySpark's own methods do with tables of catalogs of ours, after `enable`."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

import iceberg_spark as ice
from iceberg_spark.errors import (
    InvalidInputError,
    InvalidOptionError,
    InvalidSchemaError,
    NoSuchTableError,
    TableAlreadyExistsError,
    UnsupportedError,
)
from iceberg_spark.spark.catalyst.column_texts import column_text
from iceberg_spark.spark.session.classic_session import is_connect


@pytest.fixture
def enabled(any_spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A session that knows a catalog `fw` with a namespace `d`."""
    monkeypatch.setenv("PYICEBERG_CATALOG__FW__URI", f"sqlite:///{tmp_path}/fw.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__FW__WAREHOUSE", str(tmp_path / "fw"))
    ice.load_catalog("fw").create_namespace("d")
    ice.enable(any_spark)
    yield any_spark
    ice.disable(any_spark)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, frame.collect()), key=str)


def test_a_tables_life_by_write_to(enabled: Any) -> None:
    """Made, appended to, overwritten by condition and by partition, replaced; one commit each."""
    some = enabled.createDataFrame(
        [(1, dt.date(2024, 1, 5), "it's"), (2, dt.date(2024, 2, 5), "y")],
        "id int, d date, s string",
    )
    created = some.writeTo("fw.d.t").using("iceberg").tableProperty("a", "b")
    created.partitionedBy(sf.partitioning.months("d"), "s").create()
    table = ice.load_table("fw.d.t")
    assert [str(part.transform) for part in table.spec().fields] == ["month", "identity"]
    assert table.properties["a"] == "b"
    wide = some.select(sf.col("s"), sf.lit(3).cast("bigint").alias("ID"), "d")
    wide.where("s = 'y'").writeTo("`fw`.d.`t`").option("snapshot-property.by", "x").append()
    assert table.refresh().current_snapshot().summary["by"] == "x"
    assert [row[0] for row in rows(enabled.table("fw.d.t"))] == [1, 2, 3]
    day = sf.lit(dt.date(2024, 2, 1))
    new = some.limit(1).withColumn("id", sf.lit(9))
    old = (sf.col("d") < day) & (sf.col("id") == 1)
    new.writeTo("fw.d.t").overwrite((sf.col("s") == "it's") | old)
    assert [row[0] for row in rows(enabled.table("fw.d.t"))] == [2, 3, 9]
    some.where("id = 2").withColumn("id", sf.lit(7)).writeTo("fw.d.t").overwritePartitions()
    assert [row[0] for row in rows(enabled.table("fw.d.t"))] == [7, 9]
    some.select("id").writeTo("fw.d.t").replace()
    assert rows(enabled.table("fw.d.t")) == [(1,), (2,)]
    assert len(table.refresh().snapshots()) == 5
    some.writeTo("fw.d.u").createOrReplace()
    assert enabled.catalog.tableExists("fw.d.u")


def test_what_write_to_refuses_leaves_the_table(enabled: Any) -> None:
    some = enabled.createDataFrame([(1, "x")], "id int, s string")
    some.writeTo("fw.d.t").create()
    version = ice.load_table("fw.d.t").metadata_location
    extra = some.withColumn("more", sf.lit(1))
    for does, error in (
        (lambda: some.writeTo("fw.d.t").create(), TableAlreadyExistsError),
        (lambda: some.writeTo("fw.d.none").append(), NoSuchTableError),
        (lambda: some.writeTo("fw.d.none").replace(), NoSuchTableError),
        (lambda: extra.writeTo("fw.d.t").append(), InvalidSchemaError),
        (lambda: some.writeTo("fw.d.t").partitionedBy("s").append(), InvalidOptionError),
        (lambda: some.writeTo("fw.d.t").option("nonsense", 1).append(), InvalidOptionError),
        (
            lambda: some.writeTo("fw.d.t").option("nonsense", 1).overwrite("true"),
            InvalidOptionError,
        ),
        (lambda: some.writeTo("fw.d.t").using("csv"), InvalidInputError),
        (lambda: some.selectExpr("s AS id", "s").writeTo("fw.d.t").append(), Exception),
        (lambda: some.write.saveAsTable("fw.d.t"), TableAlreadyExistsError),
        (lambda: extra.write.insertInto("fw.d.t"), InvalidSchemaError),
        (lambda: some.mergeInto("fw.d.t", sf.expr("true")).merge(), InvalidInputError),
    ):
        with pytest.raises(error):
            does()
    assert ice.load_table("fw.d.t").metadata_location == version
    extra.writeTo("fw.d.t").option("mergeSchema", "true").append()
    assert enabled.table("fw.d.t").columns == ["id", "s", "more"]


def test_save_as_table_and_insert_into(enabled: Any) -> None:
    some = enabled.createDataFrame([(1, "x")], "id int, s string")
    some.write.partitionBy("s").saveAsTable("fw.d.t")
    some.write.mode("append").format("iceberg").saveAsTable("fw.d.t")
    some.write.mode("ignore").saveAsTable("fw.d.t")
    some.select("s", sf.col("id").cast("bigint")).write.saveAsTable("fw.d.t", mode="append")
    assert rows(enabled.table("fw.d.t")) == [(1, "x")] * 3
    some.selectExpr("2 AS any", "'y' AS name").write.insertInto("fw.d.t")
    assert rows(enabled.table("fw.d.t"))[-1] == (2, "y")
    enabled.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        some.selectExpr("3", "'y'").write.insertInto("fw.d.t", overwrite=True)
    finally:
        enabled.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows(enabled.table("fw.d.t")) == [*[(1, "x")] * 3, (3, "y")]
    some.write.insertInto("fw.d.t", True)
    assert rows(enabled.table("fw.d.t")) == [(1, "x")]
    some.select("id").write.mode("overwrite").saveAsTable("fw.d.t")
    assert rows(enabled.table("fw.d.t")) == [(1,)]


def test_a_merge_by_merge_into(enabled: Any) -> None:
    target = enabled.createDataFrame([(1, "a"), (2, "b"), (3, "c")], "id int, v string")
    target.writeTo("fw.d.t").create()
    source = enabled.createDataFrame(
        [(1, "x", "D"), (2, "it's", "U"), (9, "n", "I")], "id int, v string, op string"
    )
    (
        source.alias("s")
        .mergeInto("fw.d.t", (sf.col("t.id") == sf.col("s.id")) & sf.col("s.id").isNotNull())
        .whenMatched(sf.col("s.op") == "D").delete()
        .whenMatched(sf.col("s.v").isin("it's", "no"))
        .update({"v": sf.concat(sf.col("t.v"), sf.col("s.v"), sf.lit("\\"))})
        .whenNotMatched(sf.expr("s.op = 'I'")).insert({"id": sf.col("s.id"), "v": sf.upper("s.v")})
        .whenNotMatchedBySource((sf.col("t.id") + 1) > sf.lit(3)).update({"v": sf.lit(None)})
        .merge()
    )  # fmt: skip
    assert rows(enabled.table("fw.d.t")) == [(2, "bit's\\"), (3, None), (9, "N")]
    merge = source.mergeInto("fw.d.t", sf.expr("source.id = t.id")).withSchemaEvolution()
    merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert rows(enabled.table("fw.d.t"))[0] == (1, "x", "D")


CONDITIONS = {
    "long": lambda: sf.col("n") == sf.lit(2**40),
    "decimal": lambda: sf.col("m") > sf.lit(Decimal("1.25")),
    "instant": lambda: sf.col("ts") < sf.lit(dt.datetime(2024, 1, 1, tzinfo=dt.UTC)),
    "case": lambda: sf.when(sf.col("n") > 1, sf.lit(True)).otherwise(sf.lit(False)),
    "cast": lambda: sf.col("n").cast("string") == "5",
    "null": lambda: sf.col("m").eqNullSafe(sf.lit(None)) | ~sf.col("m").isNotNull(),
    "between": lambda: sf.col("n").between(2, 4) | sf.col("`a b`.`x.y`").like("it_s%"),
    "arithmetic": lambda: (-sf.col("n") * 2 - 1) % 3 == 0,
    "double": lambda: sf.col("n") < sf.lit(2.5),
}


def test_columns_are_converted_to_sql(any_spark: Any) -> None:
    """What they find as columns, they find as texts."""
    frame = any_spark.sql(
        "SELECT id AS n, if(id = 3, NULL, cast(id as decimal(9,2)) / 2) AS m, "
        "named_struct('x.y', if(id = 7, \"it's\", 'no')) AS `a b`, "
        "timestamp_seconds(1704067195 + id) AS ts FROM range(10)"
    )
    for name, made in CONDITIONS.items():
        column = made()
        text = column_text(any_spark, column)
        found = [row.n for row in frame.where(text).collect()]
        assert found == [row.n for row in frame.where(column).collect()], (name, text)
    with pytest.raises(UnsupportedError):
        column_text(any_spark, sf.transform("n", lambda one: one))


def test_the_format_iceberg_is_handled_without_the_java_runtime(
    enabled: Any, tmp_path: Path
) -> None:
    """For reads, writes and streams, by name and by location."""
    some = enabled.createDataFrame([(1, "x"), (2, "y")], "id int, s string")
    some.write.format("iceberg").partitionBy("s").save("fw.d.t")
    some.write.mode("append").save("fw.d.t", format="iceberg")
    assert enabled.read.format("iceberg").load("fw.d.t").count() == 4
    place = str(tmp_path / "folder")
    some.write.format("ICEBERG").mode("overwrite").save(place)
    assert rows(enabled.read.load(place, "iceberg")) == [(1, "x"), (2, "y")]
    stream = enabled.readStream.format("iceberg").load(place)
    query = (
        stream.writeStream.format("iceberg")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "copied"))
    )
    query.awaitTermination()
    assert ice.load_table(str(tmp_path / "copied")).scan().count() == 2


@pytest.mark.parametrize("source", ["iceberg", "pyiceberg-lite"])
def test_a_load_takes_the_names_of_metadata_tables_and_branches(enabled: Any, source: str) -> None:
    enabled.range(3).writeTo("fw.d.t").create()
    first = ice.load_table("fw.d.t").current_snapshot().snapshot_id
    enabled.sql("ALTER TABLE fw.d.t CREATE BRANCH b")
    enabled.range(3, 5).writeTo("fw.d.t").append()
    reader = enabled.read.format(source)
    assert reader.load("fw.d.t.snapshots").count() == 2
    assert reader.load("fw.d.`t`.branch_b").count() == 3
    assert reader.load(f"fw.d.t.snapshot_id_{first}").count() == 3
    enabled.sql("CREATE NAMESPACE fw.d.t")
    enabled.range(1).writeTo("fw.d.t.snapshots").create()
    assert reader.load("fw.d.t.snapshots").columns == ["id"]
    with pytest.raises(NoSuchTableError):
        reader.load("fw.d.none.snapshots")


def test_the_catalog_lists_iceberg_tables(enabled: Any) -> None:
    enabled.sql(
        "CREATE TABLE fw.d.t (id int NOT NULL, s string COMMENT 'c') PARTITIONED BY (s) COMMENT 'k'"
    )
    catalog = enabled.catalog
    assert [one.name for one in catalog.listTables("fw.d")] == ["t"]
    assert catalog.listTables("fw.d", "no*") == []
    found = catalog.getTable("fw.d.t")
    assert (found.catalog, found.namespace, found.description) == ("fw", ["d"], "k")
    assert catalog.tableExists("fw.d.t") and catalog.tableExists("t", "fw.d")
    assert not catalog.tableExists("fw.d.no") and not catalog.tableExists("fw.no.t")
    assert catalog.databaseExists("fw.d") and not catalog.databaseExists("fw.no")
    assert catalog.getDatabase("fw.d").catalog == "fw"
    assert f"{catalog.getDatabase('fw.d').locationUri}/t" == ice.load_table("fw.d.t").location()
    columns = catalog.listColumns("fw.d.t")
    assert [(one.name, one.dataType, one.nullable, one.isPartition) for one in columns] == [
        ("id", "int", False, False),
        ("s", "string", True, True),
    ]
    catalog.refreshTable("fw.d.t")


def test_create_table_takes_the_file_format_from_the_option_that_ibis_passes(enabled: Any) -> None:
    schema = StructType().add("id", "integer")
    enabled.catalog.createTable("fw.d.f", schema=schema, format="orc")
    assert ice.load_table("fw.d.f").properties["write.format.default"] == "orc"


def test_the_catalog_creates_and_drops_iceberg_tables(enabled: Any) -> None:
    """And refuses by name what these can't do; from PySpark 4.2 on it has more methods."""
    catalog = enabled.catalog
    schema = StructType().add("id", "integer", False).add("a b", "string")
    made = catalog.createTable("fw.d.`t`", source="iceberg", schema=schema, description="it's")
    assert (made.columns, made.collect()) == (["id", "a b"], [])
    table = ice.load_table("fw.d.t")
    assert [field.required for field in table.schema().fields] == [True, False]
    assert catalog.getTable("fw.d.t").description == "it's"
    catalog.uncacheTable("fw.d.t")
    assert not catalog.isCached("fw.d.t")
    assert {"fw", "spark_catalog"} <= {one.name for one in catalog.listCatalogs()}
    assert [one.name for one in catalog.listCatalogs("fw*")] == ["fw"]
    for does, error in (
        (lambda: catalog.createTable("fw.d.t", schema=schema), TableAlreadyExistsError),
        (lambda: catalog.createTable("fw.d.u"), InvalidInputError),
        (lambda: catalog.createTable("fw.d.u", None, "csv", schema), InvalidInputError),
        (lambda: catalog.recoverPartitions("fw.d.t"), UnsupportedError),
        (lambda: catalog.isCached("fw.d.u"), NoSuchTableError),
    ):
        with pytest.raises(error):
            does()
    if is_connect(enabled):
        with pytest.raises(UnsupportedError, match="over Spark Connect"):
            catalog.cacheTable("fw.d.t")
    else:
        catalog.cacheTable("fw.d.t")
        assert catalog.isCached("fw.d.t")
        catalog.uncacheTable("fw.d.t")
    assert not catalog.tableExists("fw.d.u")
    if not hasattr(catalog, "dropTable"):
        return
    catalog.createDatabase("fw.e", properties={"k": "v"})
    assert ice.load_catalog("fw").load_namespace_properties("e")["k"] == "v"
    catalog.dropDatabase("fw.e")
    enabled.sql("INSERT INTO fw.d.t VALUES (1, 'x')")
    catalog.truncateTable("fw.d.t")
    assert table.refresh().scan().count() == 0
    assert catalog.listViews("fw.d") == []
    assert catalog.getTableProperties("fw.d.t")["format-version"] == "2"
    assert catalog.getCreateTableString("fw.d.t").startswith("CREATE TABLE fw.d.t")
    with pytest.raises(UnsupportedError, match="compute_table_stats"):
        catalog.analyzeTable("fw.d.t")
    catalog.dropTable("fw.d.t", purge=True)
    catalog.dropTable("fw.d.t", ifExists=True)
    assert not catalog.tableExists("fw.d.t")


def test_names_alone_are_of_what_use_chose(enabled: Any) -> None:
    enabled.sql("USE fw.d")
    try:
        enabled.range(3).writeTo("t").create()
        enabled.range(3, 4).write.insertInto("d.t")
        catalog = enabled.catalog
        assert enabled.table("t").where("id > 1").count() == 2
        assert (catalog.currentCatalog(), catalog.currentDatabase()) == ("fw", "d")
        assert [one.name for one in catalog.listTables()] == ["t"] and catalog.tableExists("t")
        assert [(one.name, one.catalog) for one in catalog.listDatabases()] == [("d", "fw")]
        enabled.range(9, 10).createOrReplaceTempView("fw_view")
        assert enabled.table("fw_view").collect()[0].id == 9
        catalog.setCurrentCatalog("spark_catalog")
        assert catalog.currentCatalog() == "spark_catalog" and not catalog.tableExists("t")
        catalog.setCurrentCatalog("fw")
        catalog.setCurrentDatabase("d")
        assert catalog.tableExists("t")
    finally:
        enabled.sql("USE spark_catalog.default")
        enabled.catalog.dropTempView("fw_view")


def test_names_of_sparks_pass_untouched(enabled: Any) -> None:
    """Spark's own tables, catalogs and faults are Spark's, and its writers of PySpark's classes."""
    frame = enabled.range(3)
    frame.write.mode("overwrite").saveAsTable("fw_plain")
    try:
        frame.write.insertInto("fw_plain")
        assert enabled.table("fw_plain").count() == 6
        assert enabled.catalog.tableExists("fw_plain")
        assert enabled.catalog.tableExists("fw_plain", "default")
        assert "fw_plain" in [one.name for one in enabled.catalog.listTables()]
        assert enabled.catalog.databaseExists("default")
        assert [one.name for one in enabled.catalog.listColumns("fw_plain")] == ["id"]
        assert type(frame.writeTo("spark_catalog.default.x")).__name__ == "DataFrameWriterV2"
        with pytest.raises(Exception, match=r"(?i)PARSE|syntax"):
            frame.writeTo("a..b").append()
    finally:
        enabled.sql("DROP TABLE fw_plain")


def test_a_name_is_read_as_spark_reads_it_with_options_too(enabled: Any) -> None:
    """Quoted parts, and what stands behind a table's name: a branch, a tag, a metadata table."""
    enabled.range(3).writeTo("fw.d.t").create()
    first = ice.load_table("fw.d.t").current_snapshot().snapshot_id
    enabled.sql("ALTER TABLE fw.d.t CREATE BRANCH x")
    enabled.sql("ALTER TABLE fw.d.t CREATE TAG y")
    enabled.range(3, 4).writeTo("fw.d.t").append()
    for name, rows in (("`fw`.d.t", 4), ("fw.`d`.`t`", 4), ("`fw`.d.t.branch_x", 3)):
        assert enabled.table(name).count() == rows, name
    read = enabled.read.option("split-size", 1024)
    for name, rows in (
        ("fw.d.t.branch_x", 3),
        ("`fw`.d.t.tag_y", 3),
        (f"fw.d.t.snapshot_id_{first}", 3),
        ("fw.d.t.snapshots", 2),
    ):
        assert read.table(name).count() == rows, name
    for name in ("fw.d.none", "fw.d.t.none", "fw.d.none.branch_x"):
        with pytest.raises(NoSuchTableError):
            read.table(name)


def test_disable_undoes_every_patch(any_spark: Any) -> None:
    def methods() -> dict[tuple[type, str], Any]:
        kinds = (type(any_spark), type(any_spark.range(0)), type(any_spark.catalog))
        return {(kind, name): found for kind in kinds for name, found in vars(kind).items()}

    before = methods()
    ice.enable(any_spark)
    changed = {key for key, method in methods().items() if method is not before.get(key)}
    assert len(changed) >= 14
    ice.disable(any_spark)
    after = methods()
    assert after.keys() == before.keys()
    assert {key for key, method in after.items() if method is not before[key]} == set()


def test_fields_inside_go_by_position_with_insert_into_and_by_name_elsewhere(enabled: Any) -> None:
    table = ice.load_catalog("fw").create_table(
        "d.t", "s struct<a: int, b: int>, xs array<struct<a: int, b: int>>"
    )
    one = "named_struct('b', 1, 'a', 2)"
    swapped = enabled.range(1).selectExpr(f"{one} AS s", f"array({one}) AS xs")
    swapped.writeTo("fw.d.t").append()
    swapped.write.insertInto("fw.d.t")
    by_name, by_position = {"a": 2, "b": 1}, {"a": 1, "b": 2}
    stored = table.refresh().scan().to_arrow()["xs"].to_pylist()
    assert sorted(stored, key=str) == [[by_position], [by_name]]
    lacking = enabled.range(1).selectExpr("named_struct('a', 1) AS s")
    with pytest.raises(InvalidSchemaError, match=r"lack the fields 's\.b'"):
        lacking.writeTo("fw.d.t").append()
    with pytest.raises(InvalidSchemaError, match=r"has no fields 'xs\.element\.c'"):
        enabled.range(1).selectExpr("array(named_struct('a', 1, 'b', 2, 'c', 3)) AS xs").writeTo(
            "fw.d.t"
        ).append()


def test_merge_schema_gives_a_struct_the_fields_that_it_lacks(enabled: Any) -> None:
    table = ice.load_catalog("fw").create_table("d.t", "s struct<a: int>")
    wider = enabled.range(1).selectExpr("named_struct('a', 1, 'b', 2) AS s")
    wider.writeTo("fw.d.t").option("mergeSchema", "true").append()
    assert table.refresh().scan().to_arrow()["s"].to_pylist() == [{"a": 1, "b": 2}]


def test_merge_schema_widens_types_whatever_columns_are_new(enabled: Any) -> None:
    table = ice.load_catalog("fw").create_table("d.t", "id int, x float")
    enabled.sql("SELECT 1 AS id, 0.1D AS x").writeTo("fw.d.t").option(
        "mergeSchema", "true"
    ).append()
    enabled.range(2**40, 2**40 + 1).write.option("mergeSchema", "true").mode("append").saveAsTable(
        "fw.d.t"
    )
    found = table.refresh().scan().to_arrow().to_pylist()
    assert sorted(found, key=lambda row: row["id"]) == [
        {"id": 1, "x": 0.1}, {"id": 2**40, "x": None}
    ]  # fmt: skip


def test_merge_schema_takes_texts_for_uuids_and_bytes_for_fixed(enabled: Any) -> None:
    table = ice.load_catalog("fw").create_table("d.t", "id bigint, u uuid, f fixed(2)")
    texts = (
        "SELECT 1L AS id, 'f79c3e09-677c-4bbd-a479-3f349cb785e7' AS u, x'0102' AS f, 'y' AS more"
    )
    enabled.sql(texts).writeTo("fw.d.t").option("mergeSchema", "true").append()
    enabled.sql(f"INSERT WITH SCHEMA EVOLUTION INTO fw.d.t BY NAME {texts}, 2 AS n")
    kinds = [str(field.field_type) for field in table.refresh().schema().fields]
    assert kinds == ["long", "uuid", "fixed[2]", "string", "int"]
    assert table.scan().count() == 2


def ids_of(frame: Any) -> list[int]:
    return [row[0] for row in rows(frame)]


def test_frames_of_names_read_and_write_the_branch_that_the_session_works_on(enabled: Any) -> None:
    """As statements: where the table has `write.wap.enabled`, and the frame chooses no other."""
    catalog = ice.load_catalog("fw")
    table = catalog.create_table("d.t", "id bigint", properties={"write.wap.enabled": "true"})
    enabled.range(1, 2).writeTo("fw.d.t").append()
    enabled.conf.set("spark.wap.branch", "audit")
    try:
        assert ids_of(enabled.table("fw.d.t")) == [1]
        enabled.range(2, 4).writeTo("fw.d.t").append()
        assert ids_of(enabled.table("fw.d.t")) == [1, 2, 3]
        enabled.range(4, 5).write.mode("append").saveAsTable("fw.d.t")
        enabled.range(5, 6).write.insertInto("fw.d.t")
        assert ids_of(enabled.read.table("fw.d.t")) == [1, 2, 3, 4, 5]
        assert ids_of(enabled.read.option("branch", "main").table("fw.d.t")) == [1]
        first = table.refresh().current_snapshot()
        assert first is not None
        assert ids_of(enabled.read.option("snapshot-id", first.snapshot_id).table("fw.d.t")) == [1]
        assert ids_of(enabled.table("fw.d.t.branch_main")) == [1]
        assert ids_of(enabled.read.format("pyiceberg-lite").load(table.location())) == [1]
        enabled.conf.set("spark.wap.id", "load")
        with pytest.raises(InvalidInputError, match="set both"):
            enabled.table("fw.d.t")
    finally:
        enabled.conf.unset("spark.wap.branch")
        enabled.conf.unset("spark.wap.id")
    assert ids_of(enabled.table("fw.d.t")) == [1]
