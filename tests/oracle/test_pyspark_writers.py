"""PySpark's writers define and fill the tables that they do with Java's runtime."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

import iceberg_spark as ice
from tests.oracle.by_turns import ByTurns

UNASKED = ("owner", "write.parquet.compression-codec")


@pytest.fixture(scope="module")
def enabled(
    java: SparkSession, by_turns: ByTurns, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ByTurns]:
    """Enabled sessions, by turns, with a catalog `w`; Java's catalog `j` is another session's."""
    turns = ByTurns(java.newSession(), by_turns.remote)
    java.sql("CREATE NAMESPACE j.writers")
    with turns.with_catalog("w", str(tmp_path_factory.mktemp("writers"))):
        for session in (turns.classic, turns.remote):
            ice.enable(session)
        turns.classic.sql("CREATE NAMESPACE w.writers")
        yield turns
        for session in (turns.classic, turns.remote):
            ice.disable(session)


def rows(session: Any) -> Any:
    return session.range(6).selectExpr("id", "cast(id % 2 AS string) AS s")


def saved(session: Any, table: str, mode: str = "error", **options: str) -> None:
    rows(session).write.mode(mode).options(**options).saveAsTable(table)


def by_format(session: Any, table: str, source: str, mode: str = "error") -> None:
    rows(session).write.format(source).mode(mode).saveAsTable(table)


def narrower(session: Any, table: str) -> None:
    fewer = rows(session).selectExpr("id AS n")
    fewer.write.mode("overwrite").option("overwriteSchema", "true").saveAsTable(table)


STEPS: list[tuple[str, Callable[[Any, str], Any]]] = [
    ("t", lambda spark, t: by_format(spark, t, "parquet")),
    ("t", lambda spark, t: by_format(spark, t, "orc", "append")),
    ("t", lambda spark, t: by_format(spark, t, "ORC", "overwrite")),
    ("t", narrower),
    ("orc", lambda spark, t: by_format(spark, t, "ORC")),
    ("i", lambda spark, t: by_format(spark, t, "iceberg")),
    ("plain", saved),
    ("v2orc", lambda spark, t: rows(spark).writeTo(t).using("orc").create()),
    ("v2avro", lambda spark, t: rows(spark).writeTo(t).using("avro").createOrReplace()),
    ("v2", lambda spark, t: rows(spark).writeTo(t).create()),
    ("v2", lambda spark, t: rows(spark).writeTo(t).using("Parquet").replace()),
    ("c", lambda spark, t: spark.catalog.createTable(t, schema=rows(spark).schema)),
    ("corc", lambda spark, t: spark.catalog.createTable(t, None, "orc", rows(spark).schema)),
    (
        "copt",
        lambda spark, t: spark.catalog.createTable(
            t, None, "avro", rows(spark).schema, "some text", foo="bar"
        ),
    ),
    ("bucketed", lambda spark, t: rows(spark).write.bucketBy(4, "id").saveAsTable(t)),
    (
        "bucketed",
        lambda spark, t: rows(spark).write.bucketBy(4, "id").mode("append").saveAsTable(t),
    ),
    (
        "bucketed",
        lambda spark, t: rows(spark).write.bucketBy(2, ["s"]).mode("overwrite").saveAsTable(t),
    ),
    ("bucketed", lambda spark, t: rows(spark).write.bucketBy(3, "s").mode("ignore").saveAsTable(t)),
    ("pb", lambda spark, t: rows(spark).write.partitionBy("s").bucketBy(4, "id").saveAsTable(t)),
    ("o", lambda spark, t: saved(spark, t, "error", foo="bar", overwriteSchema="true")),
    ("o2", lambda spark, t: rows(spark).writeTo(t).option("foo", "bar").create()),
    (
        "tb",
        lambda spark, t: (
            rows(spark).writeTo(t).partitionedBy(sf.partitioning.bucket(4, "id")).create()
        ),
    ),
]
REFUSED: list[tuple[str, Callable[[Any, str], Any]]] = [
    ("csv", lambda spark, t: by_format(spark, t, "csv")),
    ("csv", lambda spark, t: rows(spark).writeTo(t).using("csv").create()),
    ("csv", lambda spark, t: spark.catalog.createTable(t, None, "csv", rows(spark).schema)),
    ("two", lambda spark, t: rows(spark).write.bucketBy(4, "id", "s").saveAsTable(t)),
    ("b", lambda spark, t: rows(spark).write.bucketBy(5, "s").mode("append").saveAsTable(t)),
    ("b", lambda spark, t: rows(spark).write.bucketBy(4, "id").insertInto(t)),
    ("cl", lambda spark, t: rows(spark).write.clusterBy("id").saveAsTable(t)),
    (
        "sorted",
        lambda spark, t: rows(spark).write.bucketBy(4, "id").sortBy("s").saveAsTable(t),
    ),
]


def definition(session: Any, catalog: str, table: str) -> dict[str, Any]:
    warehouse = session.conf.get(f"spark.sql.catalog.{catalog}.warehouse")
    loaded = ice.load_table(str(Path(warehouse) / "writers" / table))
    fields = loaded.schema().fields
    return {
        "schema": [(field.name, str(field.field_type), field.required) for field in fields],
        "spec": [(part.name, str(part.transform)) for part in loaded.spec().fields],
        "properties": {k: v for k, v in loaded.properties.items() if k not in UNASKED},
    }


def by_catalog(does: Callable[[Any, str], Any], table: str, catalog: str, session: Any) -> Any:
    return does(session, f"{catalog}.writers.{table}")


def tables(session: Any, catalog: str) -> list[str]:
    listed = session.sql(f"SHOW TABLES IN {catalog}.writers").collect()
    return sorted(row.tableName for row in listed)


@pytest.mark.filterwarnings("ignore:Option 'foo' is not an option:UserWarning")
@pytest.mark.timeout(300)
def test_a_writer_defines_and_fills_the_table_of_java(java: SparkSession, enabled: ByTurns) -> None:
    for turn, (table, does) in enumerate(STEPS):
        by_catalog(does, table, "j", java)
        enabled.run(turn, partial(by_catalog, does, table, "w"))
        theirs = definition(java, "j", table)
        assert definition(enabled.classic, "w", table) == theirs, (turn, table)
        expected = sorted(map(tuple, java.table(f"j.writers.{table}").collect()))
        mine = enabled.classic.table(f"w.writers.{table}").collect()
        assert sorted(map(tuple, mine)) == expected, (turn, table)


@pytest.mark.timeout(300)
def test_a_writer_refuses_what_java_refuses(java: SparkSession, enabled: ByTurns) -> None:
    for session, catalog in ((java, "j"), (enabled.classic, "w")):
        saved(session, f"{catalog}.writers.b", "overwrite")
    before = tables(java, "j"), tables(enabled.classic, "w")
    for turn, (table, does) in enumerate(REFUSED):
        with pytest.raises(Exception):  # noqa: B017, PT011 - Java's are of many kinds
            by_catalog(does, table, "j", java)
        with pytest.raises(Exception):  # noqa: B017, PT011
            enabled.run(turn, partial(by_catalog, does, table, "w"))
        assert (tables(java, "j"), tables(enabled.classic, "w")) == before, (turn, table)


DELETED = "SELECT content, partition.p, record_count FROM {}.files ORDER BY content, p"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", [2, 3])
def test_an_overwrite_removes_the_deletes_of_replaced_rows(
    java: SparkSession, enabled: ByTurns, version: int
) -> None:
    def overwritten(session: Any, table: str) -> Any:
        session.sql(
            f"CREATE TABLE {table} (id bigint, p int) USING iceberg PARTITIONED BY (p) "
            f"TBLPROPERTIES ('format-version' = '{version}', 'write.delete.mode' = 'merge-on-read')"
        )
        session.sql(f"INSERT INTO {table} SELECT id, cast(id % 2 AS int) FROM range(0, 10, 1, 1)")
        session.sql(f"DELETE FROM {table} WHERE id IN (0, 1)")
        fresh = session.range(100, 101).selectExpr("id", "0 AS p")
        fresh.writeTo(table).overwrite(sf.col("p") == 0)
        files = [tuple(row) for row in session.sql(DELETED.format(table)).collect()]
        return files, sorted(row.id for row in session.table(table).collect())

    theirs = overwritten(java, f"j.writers.deletes{version}")
    for turn in (0, 1):
        ours = enabled.run(
            turn, lambda session, turn=turn: overwritten(session, f"w.writers.d{version}{turn}")
        )
        assert ours == theirs
