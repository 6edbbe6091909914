"""Metadata tables show what Java's show: columns, types, nullability and every row."""

import re
from collections.abc import Callable
from functools import cache

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import iceberg_spark as ice
from iceberg_spark.inspect.names import MetadataTable
from tests.oracle import rows
from tests.oracle.compare import assert_same_rows
from tests.oracle.delete_tables import alter, append_range, insert
from tests.oracle.java_api import delete_equal, identifier, load, location
from tests.oracle.java_tables import append, create

Build = Callable[[SparkSession, str], None]
NAMES = [str(one) for one in MetadataTable if one.is_javas]
TELLING = (
    "history", "metadata_log_entries", "manifests", "partitions", "entries", "files",
    "position_deletes", "all_manifests", "all_entries",
)  # fmt: skip
"""Those that the others are made like."""


def transforms(java: SparkSession, name: str) -> None:
    """Six transforms, both kinds of deletes, a branch, a tag and a rollback."""
    create(
        java,
        name,
        rows.DDL,
        "years(dt), months(tsn), hours(ts), bucket(4, id), truncate(2, s), flag",
        format__version="2",
    )
    append(java, name, 0, 6)
    alter(java, name, "CREATE TAG first RETAIN 30 DAYS")
    alter(java, name, "CREATE BRANCH b WITH SNAPSHOT RETENTION 3 SNAPSHOTS 2 DAYS")
    append(java, name, 6, 9)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id % 5 = 0")
    delete_equal(java, name, "SELECT 7L AS id, 'a' AS s", ["id"])
    append(java, name, 20, 21)
    back = load(java, name).currentSnapshot().parentId()
    java.sql(f"CALL j.system.rollback_to_snapshot('db.{name}', {back})")
    java.sql(f"CALL j.system.rewrite_manifests('db.{name}', false)")


def values_as_partitions(java: SparkSession, name: str) -> None:
    """Identity partitions of many types: bounds as text, NaN and -0.0, nulls."""
    create(java, name, rows.DDL, "flag, f, d, dec9, dec38, bin, tsn, dt", format__version="2")
    append(java, name, 0, 6)
    append(java, name, 3, 5)


def evolved(java: SparkSession, name: str) -> None:
    """Three specs, renamed, widened, added and dropped columns, one of them a partition source."""
    ddl = "id int, d float, s string, gone int, st struct<a: int, b: string>, old bigint"
    create(java, name, ddl, "s, bucket(4, gone)", format__version="2")
    insert(java, name, "(1, 1F, 'x', 1, struct(1, 'p'), 1L), (2, NULL, NULL, 2, NULL, 2L)")
    alter(java, name, "REPLACE PARTITION FIELD s WITH truncate(1, s) AS letter")
    insert(java, name, "(3, 2F, 'yy', 1, struct(2, 'q'), 3L)")
    alter(java, name, "DROP PARTITION FIELD gone_bucket")
    alter(java, name, "ALTER COLUMN id TYPE bigint")
    alter(java, name, "ALTER COLUMN d TYPE double")
    alter(java, name, "RENAME COLUMN st.b TO c")
    alter(java, name, "ADD COLUMN ts timestamp")
    alter(java, name, "ADD PARTITION FIELD days(ts)")
    alter(java, name, "DROP COLUMN old")
    alter(java, name, "DROP COLUMN gone")
    insert(java, name, "(4L, 3D, 'yz', struct(3, 'r'), TIMESTAMP '1969-12-31 23:59:59')")
    java.sql(f"DELETE FROM {identifier(name)} WHERE id = 3")


def version_one(java: SparkSession, name: str) -> None:
    """Format version 1: a dropped partition field stays as void; a rewritten file."""
    create(java, name, "id bigint, k string, ts timestamp", "k, days(ts)", format__version="1",
           write_delete_mode="copy-on-write")  # fmt: skip
    insert(java, name, "(1L, 'a', TIMESTAMP '2024-01-01 00:00:00'), (2L, NULL, NULL)")
    insert(java, name, "(3L, 'a', TIMESTAMP '2024-01-01 10:00:00'), (4L, 'a', NULL)")
    alter(java, name, "DROP PARTITION FIELD k")
    insert(java, name, "(5L, 'b', TIMESTAMP '2024-02-01 00:00:00')")
    java.sql(f"DELETE FROM {identifier(name)} WHERE id = 3")


def unpartitioned(java: SparkSession, name: str) -> None:
    """Nested columns without partitions, metrics of some columns only, an expired snapshot."""
    create(
        java,
        name,
        rows.DDL,
        format__version="2",
        write_metadata_metrics_column_s="none",
        write_metadata_metrics_column_i="counts",
    )
    append(java, name, 0, 6)
    append(java, name, 6, 9)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id = 1")
    table = load(java, name)
    oldest = min(table.history(), key=lambda one: one.timestampMillis()).snapshotId()
    table.expireSnapshots().expireSnapshotId(oldest).commit()


def empty(java: SparkSession, name: str) -> None:
    """No snapshot yet."""
    create(java, name, "id bigint, k string", "k", format__version="2")


def vectors(java: SparkSession, name: str) -> None:
    """Format version 3 from 2: position deletes, deletion vectors, equality deletes."""
    create(java, name, "id bigint, k string", "k", format__version="2")
    append_range(java, name, 0, 20)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id IN (1, 2)")
    alter(java, name, "SET TBLPROPERTIES ('format-version'='3')")
    append_range(java, name, 20, 40)
    java.sql(f"DELETE FROM {identifier(name)} WHERE id % 3 = 0")
    delete_equal(java, name, "SELECT 7L AS id", ["id"])
    java.sql(f"DELETE FROM {identifier(name)} WHERE id % 4 = 0")


BUILDS: dict[str, Build] = {
    build.__name__: build
    for build in (
        transforms,
        values_as_partitions,
        evolved,
        version_one,
        unpartitioned,
        empty,
        vectors,
    )
}


@pytest.fixture(scope="module")
def table_at(java: SparkSession) -> Callable[[str], str]:
    """Return a function from a build to the path of its table; each is built once."""

    def built(build: str) -> str:
        BUILDS[build](java, f"inspect_{build}")
        return location(java, f"inspect_{build}")

    return cache(built)


def java_frame(java: SparkSession, path: str, name: str, **options: str) -> DataFrame:
    return java.read.format("iceberg").options(**options).load(f"{path}#{name}")


def ours_frame(java: SparkSession, path: str, name: str, **options: str) -> DataFrame:
    return java.read.format("pyiceberg-lite").options(**options).load(f"{path}#{name}")


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (build, name)
        for build in BUILDS
        for name in (NAMES if build in ("transforms", "evolved") else TELLING)
    ],
)
def test_arrow_tables_have_javas_rows(
    java: SparkSession, table_at: Callable[[str], str], build: str, name: str
) -> None:
    path = table_at(build)
    expected = java_frame(java, path, name).toArrow()
    found: pa.Table = getattr(ice.load_table(path).inspect, name)()
    found.validate(full=True)
    assert_same_rows(expected, found, what=name)


def types(frame: DataFrame) -> list[str]:
    """Return names, types and nullability at every depth; comments are each its own."""
    return [re.sub(r'"metadata":\{[^}]*\},?', "", one.json()) for one in frame.schema.fields]


@pytest.mark.parametrize("name", NAMES)
def test_frames_have_javas_types(
    java: SparkSession, table_at: Callable[[str], str], name: str
) -> None:
    path = table_at("evolved")
    ours, expected = ours_frame(java, path, name), java_frame(java, path, name)
    assert types(ours) == types(expected)


@pytest.mark.parametrize("name", ["files", "entries", "partitions", "position_deletes"])
def test_frames_have_javas_rows(
    java: SparkSession, table_at: Callable[[str], str], name: str
) -> None:
    path = table_at("evolved")
    expected = java_frame(java, path, name).toArrow()
    assert_same_rows(expected, ours_frame(java, path, name).toArrow(), what=name)


@pytest.mark.parametrize("name", ["files", "manifests", "partitions", "position_deletes"])
def test_an_older_snapshot_is_shown_as_java_shows_it(
    java: SparkSession, table_at: Callable[[str], str], name: str
) -> None:
    path = table_at("transforms")
    expected = java_frame(java, path, name, versionAsOf="first").toArrow()
    assert_same_rows(expected, getattr(ice.load_table(path).inspect, name)(ref="first"), what=name)
