"""Columns renamed, moved, dropped, added again, promoted and nested: by field id, as Java does."""

from collections.abc import Callable
from functools import cache, partial

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from tests.oracle.compare import assert_same_rows
from tests.oracle.delete_tables import alter, insert
from tests.oracle.filters import assert_both_keep, kept_by_spark
from tests.oracle.java_api import identifier, location, read
from tests.oracle.java_tables import FORMATS, create
from tests.oracle.product import append_spark, read_arrow, read_both, read_spark

Evolve = Callable[[SparkSession, str], None]
Evolved = Callable[[Evolve, str], str]
DDL = """id bigint, a int, b string, c float, e decimal(9,2), st struct<x: int, y: string>,
li array<struct<p: int, q: string>>, m map<string, struct<v: int>>"""
FIRST = """
(1L, 1, 'one', FLOAT(1.5), 1.25, named_struct('x', 1, 'y', 'y1'),
 array(named_struct('p', 1, 'q', 'q1')), map('k', named_struct('v', 1))),
(2L, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(3L, 3, '', FLOAT('NaN'), -1.25, named_struct('x', NULL, 'y', NULL),
 array(NULL, named_struct('p', NULL, 'q', 'q3')), map('k', NULL))"""


def renamed(spark: SparkSession, name: str) -> None:
    alter(spark, name, "RENAME COLUMN a TO z")
    alter(spark, name, "RENAME COLUMN st.x TO xx")
    alter(spark, name, "RENAME COLUMN li.element.p TO pp")
    alter(spark, name, "RENAME COLUMN m.value.v TO vv")


def swapped(spark: SparkSession, name: str) -> None:
    alter(spark, name, "RENAME COLUMN b TO t")
    alter(spark, name, "RENAME COLUMN st.y TO b")
    alter(spark, name, "ADD COLUMN b string")


def reordered(spark: SparkSession, name: str) -> None:
    alter(spark, name, "ALTER COLUMN e FIRST")
    alter(spark, name, "ALTER COLUMN a AFTER m")
    alter(spark, name, "ALTER COLUMN st.y FIRST")
    alter(spark, name, "ALTER COLUMN li.element.q FIRST")


def dropped_and_added_again(spark: SparkSession, name: str) -> None:
    alter(spark, name, "DROP COLUMN a")
    alter(spark, name, "DROP COLUMN st.x")
    alter(spark, name, "ADD COLUMN a string")
    alter(spark, name, "ADD COLUMN st.x double")


def promoted(spark: SparkSession, name: str) -> None:
    alter(spark, name, "ALTER COLUMN a TYPE bigint")
    alter(spark, name, "ALTER COLUMN c TYPE double")
    alter(spark, name, "ALTER COLUMN e TYPE decimal(30,2)")
    alter(spark, name, "ALTER COLUMN st.x TYPE bigint")
    alter(spark, name, "ALTER COLUMN li.element.p TYPE bigint")
    alter(spark, name, "ALTER COLUMN m.value.v TYPE bigint")


def nested_adds(spark: SparkSession, name: str) -> None:
    alter(spark, name, "ADD COLUMN st.deep struct<n: int, w: array<string>>")
    alter(spark, name, "ADD COLUMN li.element.r double")
    alter(spark, name, "ADD COLUMN m.value.w map<string, date>")
    alter(spark, name, "ADD COLUMN fresh struct<only: timestamp>")


def whole_struct_replaced(spark: SparkSession, name: str) -> None:
    """None of the visible children is in the old files; null and empty structs still differ."""
    alter(spark, name, "ADD COLUMN st.z int")
    alter(spark, name, "DROP COLUMN st.x")
    alter(spark, name, "DROP COLUMN st.y")


EVOLUTIONS: tuple[Evolve, ...] = (
    renamed,
    swapped,
    reordered,
    dropped_and_added_again,
    promoted,
    nested_adds,
    whole_struct_replaced,
)
by_evolution = pytest.mark.parametrize("evolve", EVOLUTIONS, ids=lambda evolve: evolve.__name__)
by_format = pytest.mark.parametrize("file_format", FORMATS)


@pytest.fixture(scope="module")
def evolved(java: SparkSession) -> Evolved:
    """Return a function to the name of a table whose first file is older than the change.

    Each table is made once: every test asks Java for the rows that are there by then.
    """
    return cache(partial(make_evolved, java))


def make_evolved(spark: SparkSession, evolve: Evolve, file_format: str) -> str:
    name = f"evolved_{evolve.__name__}_{file_format}"
    create(spark, name, DDL, write_format_default=file_format)
    insert(spark, name, FIRST)
    evolve(spark, name)
    return name


@by_format
@by_evolution
def test_old_files_read_in_the_new_schema(
    java: SparkSession, evolved: Evolved, evolve: Evolve, file_format: str
) -> None:
    name = evolved(evolve, file_format)
    path = location(java, name)
    expected = read(java, path)
    assert_same_rows(expected, read_both(java, path), what="the Arrow scan")
    assert_same_rows(expected, read_spark(java, path), what="the Spark frame")
    # Of ORC and Avro files a frame is what the tasks read as one process does.
    read_one = partial(read_both, java) if file_format == "parquet" else read_arrow
    for column in expected.column_names:
        actual = read_one(path, selected_fields=(column,))
        assert_same_rows(expected.select([column]), actual, what=column)


@by_format
@by_evolution
def test_an_old_snapshot_reads_in_its_own_schema(
    java: SparkSession, evolved: Evolved, evolve: Evolve, file_format: str
) -> None:
    name = evolved(evolve, file_format)
    path = location(java, name)
    old = read(java, f"{path}#snapshots").sort_by("committed_at")["snapshot_id"][0].as_py()
    java.sql(f"INSERT INTO {identifier(name)} SELECT * FROM {identifier(name)} WHERE id = 1")
    expected = read(java, path, versionAsOf=str(old))
    assert expected.num_rows == 3
    assert_same_rows(expected, read_both(java, path, snapshot_id=old))
    assert_same_rows(expected, read_spark(java, path, **{"snapshot-id": str(old)}))


@by_format
@by_evolution
def test_we_append_in_the_new_schema_and_java_reads_both(
    java: SparkSession, evolved: Evolved, evolve: Evolve, file_format: str
) -> None:
    path = location(java, evolved(evolve, file_format))
    before = read(java, path)
    ice.load_table(path).append(before)
    twice = pa.concat_tables([before, before])
    assert_same_rows(twice, read(java, path), what="Java after our append")
    append_spark(java, path, before)
    thrice = pa.concat_tables([twice, before])
    assert_same_rows(thrice, read(java, path), what="Java after our append from Spark")
    assert_same_rows(thrice, read_both(java, path), what="the Arrow scan")


@by_format
def test_java_evolves_a_table_that_we_made(java: SparkSession, file_format: str) -> None:
    name = f"our_evolved_{file_format}"
    path = location(java, name)
    source = f"{name}_source"
    create(java, source, DDL)
    insert(java, source, FIRST)
    ice.create_table(path, DDL, properties={"write.format.default": file_format})
    ice.load_table(path).append(read(java, location(java, source)))
    renamed(java, name)
    nested_adds(java, name)
    alter(java, name, "DROP COLUMN b")
    alter(java, name, "ALTER COLUMN z TYPE bigint")
    java.sql(f"INSERT INTO {identifier(name)} SELECT * FROM {identifier(name)} WHERE id = 1")
    expected = read(java, path)
    assert expected.num_rows == 4
    assert_same_rows(expected, read_both(java, path), what="the Arrow scan")
    assert_same_rows(expected, read_spark(java, path), what="the Spark frame")


FILTERS = {
    "renamed": ("z = 3", "z IS NULL", "st.xx = 1"),
    "swapped": ("b IS NULL", "t = 'one'", "st.b = 'y1'"),
    "dropped_and_added_again": ("a IS NULL", "a = 'x'", "st.x > 0.5"),
    "promoted": ("a > 2", "a < 3000000000", "c = 1.5", "e <= 1.25", "st.x IN (1, 5000000000)"),
}


@by_format
@pytest.mark.parametrize("evolution", FILTERS)
def test_filters_use_the_bounds_of_old_files_rightly(
    java: SparkSession, evolved: Evolved, evolution: str, file_format: str
) -> None:
    """Bounds were written in the old type, or belong to a column of the same name that is gone."""
    evolve = next(e for e in EVOLUTIONS if e.__name__ == evolution)
    path = location(java, evolved(evolve, file_format))
    texts = FILTERS[evolution]
    assert_both_keep(java, path, texts, kept_by_spark(java, read(java, path), texts))
