"""Procedures against Java's: parameters, columns, casts of arguments, and the same calls of both.

Catalog `o` is ours over the warehouse of Java's `j`: both see the same tables.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.statements.procedures import PROCEDURES
from tests.oracle.by_turns import ByTurns
from tests.oracle.test_statements import refused

OURS_ALONE = {"convert_equality_deletes", "maintenance_plan", "upsert"}
OUR_PARAMETERS = {"expire_snapshots": [("delete_outside", "boolean")]}
"""They come after Java's, so that arguments by place mean the same; Java deletes everywhere."""
CASTS = {
    "rollback_to_timestamp('db.args', {})": (
        "DATE '2100-01-01'", "TIMESTAMP_NTZ '2100-01-01 00:00:00'", "'2100-01-01'", "'nonsense'",
        "4102444800000", "NULL", "true",
    ),
    "ancestors_of('db.args', {})": ("'{id}'", "{id}BD", "'x'", "true", "NULL", "array(1)"),
    "expire_snapshots(table => 'db.args', retain_last => {})": (
        "100L", "'100'", "100.0", "5000000000", "false",
    ),
    "expire_snapshots(table => 'db.args', stream_results => {})": ("'true'", "1"),
    "expire_snapshots(table => 'db.args', older_than => {})": ("1", "DATE '2000-01-01'"),
    "expire_snapshots(table => 'db.args', snapshot_ids => {})": ("1", "array('1')"),
    "rewrite_data_files(table => 'db.args', options => {})": (
        "map('min-input-files', 9)", "map(1, 2)", "map()", "'min-input-files'",
    ),
    "compute_table_stats(table => 'db.args', columns => {})": ("'id'", "array('id')", "array(1)"),
    "fast_forward('db.args', {}, 'main')": ("7", "7.5", "DATE '2024-01-01'", "array('7')"),
    "publish_changes('db.args', {})": ("NULL", "array('a')"),
}  # fmt: skip
NAMES = {
    "db.args": True, "j.db.args": True, "`db`.args": True, "db.`odd-name`": True, "args": False,
    "spark_catalog.db.args": False, "": False, "db.nowhere": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def both(java: SparkSession, by_turns: ByTurns) -> Iterator[SparkSession]:
    java.sql("CREATE NAMESPACE IF NOT EXISTS j.db")
    for name in ("args", "`odd-name`"):
        java.sql(f"CREATE TABLE j.db.{name} (id bigint) USING iceberg")
        for number in range(3):
            java.sql(f"INSERT INTO j.db.{name} VALUES ({number})")
    warehouse = java.conf.get("spark.sql.catalog.j.warehouse")
    with by_turns.with_catalog("o", str(warehouse)):
        yield java


def rows(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ice.sql(spark, text).collect()]


def javas(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in spark.sql(text).collect()]


def snapshots(spark: SparkSession, name: str) -> list[ice.Snapshot]:
    return ice.load_table(
        f"{spark.conf.get('spark.sql.catalog.j.warehouse')}/db/{name}"
    ).snapshots()


def test_parameters_and_columns_are_javas(java: SparkSession) -> None:
    """Their names, types and order, and how many must be given."""
    jvm: Any = java.sparkContext._jvm
    names = set(jvm.org.apache.iceberg.spark.procedures.SparkProcedures.names())
    assert names == PROCEDURES.keys() - OURS_ALONE
    catalog = java._jsparkSession.sessionState().catalogManager().catalog("j")
    system = java.sparkContext._gateway.new_array(jvm.java.lang.String, 1)
    system[0] = "system"
    no_arguments = jvm.org.apache.spark.sql.types.StructType()
    for name in sorted(names):
        identifier = jvm.org.apache.spark.sql.connector.catalog.Identifier.of(system, name)
        theirs = catalog.loadProcedure(identifier).bind(no_arguments)
        ours = PROCEDURES[name]
        given = [(each, kind.simpleString()) for each, kind in ours.parameters.items()]
        parameters = list(theirs.parameters())
        javas_own = [(one.name(), one.dataType().simpleString()) for one in parameters]
        assert given == [*javas_own, *OUR_PARAMETERS.get(name, ())], name
        assert ours.required == sum(one.defaultValue() is None for one in parameters), name
        field = theirs.getClass().getDeclaredField("OUTPUT_TYPE")
        field.setAccessible(True)
        columns = ", ".join(ours.columns.replace(" ", ":").replace(",:", ",").split(","))
        assert f"struct<{columns.replace(' ', '')}>" == field.get(None).simpleString(), name


@pytest.mark.timeout(300)
def test_an_argument_is_cast_where_java_casts_it(both: SparkSession) -> None:
    ice.sql(both, "ALTER TABLE o.db.args CREATE BRANCH `7`")
    ice.sql(both, "ALTER TABLE o.db.args CREATE BRANCH `7.5`")
    head = snapshots(both, "args")[-1].snapshot_id
    for call, values in CASTS.items():
        for value in values:
            text = call.format(value.replace("{id}", str(head)))
            theirs = refused(lambda said: both.sql(said).collect(), f"CALL j.system.{text}")
            ours = refused(lambda said: rows(both, said), f"CALL o.system.{text}")
            assert ours == theirs, text


def test_a_table_has_the_names_that_it_has_for_java(both: SparkSession) -> None:
    for name, is_there in NAMES.items():
        text = f"CALL {{}}.system.ancestors_of('{name}')"
        assert refused(lambda said: both.sql(said).collect(), text.format("j")) != is_there
        ours = text.replace("'j.", "'o.").format("o")
        assert refused(lambda said: rows(both, said), ours) != is_there, name


def test_views_of_changes_show_what_javas_show(both: SparkSession) -> None:
    first, second, third = snapshots(both, "odd-name")
    table = "table => 'db.`odd-name`'"
    for given in (
        f"'start-snapshot-id', '{first.snapshot_id}'",
        f"'start-timestamp', '{first.timestamp_ms}', 'END-timestamp', '{second.timestamp_ms}'",
        f"'start-timestamp', '{first.timestamp_ms - 1}'",
        f"'start-timestamp', '{third.timestamp_ms + 1}'",
        f"'end-timestamp', '{third.timestamp_ms - 1}'",
        f"'end-timestamp', '{first.timestamp_ms - 1}'",
    ):
        call = f"system.create_changelog_view({table}, options => map({given}))"
        ((view,),) = javas(both, f"CALL j.{call}")
        theirs = sorted(javas(both, f"SELECT * FROM {view}"))
        assert rows(both, f"CALL o.{call}") == [(view,)]
        assert sorted(javas(both, f"SELECT * FROM {view}")) == theirs, given
    for pair in (
        f"'start-snapshot-id', '{first.snapshot_id}', 'start-timestamp', '1'",
        f"'end-snapshot-id', '{first.snapshot_id}', 'end-timestamp', '1'",
        "'start-timestamp', '5', 'end-timestamp', '5'",
    ):
        call = f"system.create_changelog_view({table}, options => map({pair}))"
        both.sql(f"CALL j.{call}")
        assert refused(lambda name: javas(both, f"SELECT * FROM {name}"), "`odd-name_changes`")
        assert refused(lambda said: rows(both, said), f"CALL o.{call}")
    both.catalog.dropTempView("`odd-name_changes`")


def test_changes_are_published_as_java_publishes_them(both: SparkSession) -> None:
    for name in ("mine", "javas"):
        both.sql(f"CREATE TABLE j.db.{name} (id bigint) USING iceberg "
                 "TBLPROPERTIES ('write.wap.enabled' = 'true')")  # fmt: skip
        both.sql(f"INSERT INTO j.db.{name} VALUES (0)")
        for wap in ("once", "twice", "twice"):
            both.conf.set("spark.wap.id", wap)
            both.sql(f"INSERT INTO j.db.{name} VALUES (1)")
        both.conf.unset("spark.wap.id")
    twice = "CALL {}.system.publish_changes(table => 'db.{}', wap_id => 'twice')"
    assert refused(lambda said: javas(both, said), twice.format("j", "javas"))
    assert refused(lambda said: rows(both, said), twice.format("o", "mine"))
    ((source, _),) = rows(both, "CALL o.system.publish_changes('db.mine', 'once')")
    assert source == snapshots(both, "mine")[1].snapshot_id
    ((source, _),) = javas(both, "CALL j.system.publish_changes('db.javas', 'once')")
    assert source == snapshots(both, "javas")[1].snapshot_id
    for name in ("mine", "javas"):
        assert javas(both, f"SELECT count(*) FROM j.db.{name}") == [(2,)]


@pytest.mark.parametrize("kind", ["parquet", "orc"])
def test_files_are_added_as_java_adds_them(both: SparkSession, tmp_path: Path, kind: str) -> None:
    given = both.range(4).selectExpr("id", "id % 2 AS p")
    given.write.partitionBy("p").format(kind).save(f"{tmp_path}/in")
    folder = f"'`{kind}`.`{tmp_path}/in`'"
    found = {}
    for catalog, call in {"j": javas, "o": rows}.items():
        name = f"{kind}_taken_{catalog}"
        table = f"'db.{name}'"
        both.sql(f"CREATE TABLE j.db.{name} (id bigint, p int) USING iceberg PARTITIONED BY (p)")
        named = f"source_table => {folder}, partition_filter => map('p', 1), table => {table}"
        start = f"CALL {catalog}.system.add_files("
        results = [
            call(both, f"{start}{named}, parallelism => 2)"),
            call(both, f"{start}{table}, {folder}, map('p', 0), false, 1)"),
        ]
        # of the two columns Java leaves the partitions NULL
        added = [result[0][0] for result in results]
        found[catalog] = added, javas(both, f"SELECT * FROM j.db.{name} ORDER BY id")
    assert found["o"] == found["j"]


def test_paths_are_rewritten_as_java_rewrites_them(both: SparkSession, tmp_path: Path) -> None:
    place = f"{both.conf.get('spark.sql.catalog.j.warehouse')}/db/odd-name"
    found = {}
    for catalog, call in {"j": javas, "o": rows}.items():
        start = f"CALL {catalog}.system.rewrite_table_path("
        staging = f"'{tmp_path}/{catalog}/'"
        positional = f"{start}'db.`odd-name`', '{place}', '/to', NULL, 'v3.metadata.json', "
        named = f"{start}target_prefix => '/to', source_prefix => '{place}', create_file_list => "
        ((version, _, manifests, deletes),) = call(both, f"{positional}{staging})")
        rest = call(both, f"{named}false, table => 'db.`odd-name`')")
        found[catalog] = [version, manifests, deletes, rest]
    assert found["o"] == found["j"]
