"""Tables with files of several partition specs."""

from collections.abc import Callable
from functools import partial

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark.errors import InvalidSchemaError
from tests.oracle import rows
from tests.oracle.compare import assert_same_rows
from tests.oracle.delete_tables import alter
from tests.oracle.filters import assert_both_keep, kept_by_spark
from tests.oracle.java_api import identifier, location, read
from tests.oracle.java_tables import append, create
from tests.oracle.product import append_spark, read_both, read_spark

FILTERS = (
    "id = 7",
    "id IN (3, 25, 41)",
    "ts >= '2024-01-02 00:00:00+00:00'",
    "ts < '2024-01-02 00:00:00+00:00' AND flag = true",
    "flag IS NULL",
    "s LIKE 'xx%'",
    "dt < '1970-01-01' OR id > 38",
)
CHANGES = {
    "unpartitioned_to_days": ("", ["ADD PARTITION FIELD days(ts)"]),
    "days_to_hours": ("days(ts)", ["REPLACE PARTITION FIELD ts_day WITH hours(ts)"]),
    "bucket_4_to_8": ("bucket(4, id)", ["REPLACE PARTITION FIELD id_bucket WITH bucket(8, id)"]),
    "field_dropped": ("days(ts), bucket(4, id)", ["DROP PARTITION FIELD ts_day"]),
    "field_dropped_and_added_again": (
        "flag, truncate(2, s)",
        ["DROP PARTITION FIELD flag", "ADD PARTITION FIELD flag"],
    ),
    "renamed_field": (
        "years(dt), flag",
        ["REPLACE PARTITION FIELD dt_year WITH months(dt) AS when"],
    ),
    "to_unpartitioned": ("flag", ["DROP PARTITION FIELD flag"]),
}
by_change = pytest.mark.parametrize("change", CHANGES)
by_version = pytest.mark.parametrize("version", [1, 2])


def repartitioned(java: SparkSession, name: str, change: str, version: int) -> Callable[[], None]:
    """A table with one append before the change; return what makes the change."""
    partitioned_by, statements = CHANGES[change]
    create(java, name, rows.DDL, partitioned_by, format__version=str(version))
    append(java, name, 0, 20)

    def make_the_change() -> None:
        for statement in statements:
            alter(java, name, statement)

    return make_the_change


@by_version
@by_change
def test_files_of_two_specs_read_and_filter_as_java(
    java: SparkSession, change: str, version: int
) -> None:
    """Each filter meets each change in both versions, and as a frame in one of the two."""
    name = f"specs_{change}_v{version}"
    path = location(java, name)
    repartitioned(java, name, change, version)()
    append(java, name, 20, 40)
    if version > 1:
        java.sql(f"DELETE FROM {identifier(name)} WHERE id % 6 = 0")
    everything = read(java, path)
    assert (everything.num_rows == 40) == (version == 1)
    assert_same_rows(everything, read_both(java, path), what="the Arrow scan")
    assert_same_rows(everything, read_spark(java, path), what="the Spark frame")
    kept = kept_by_spark(java, everything, FILTERS)
    framed = slice((version + list(CHANGES).index(change)) % 2, None, 2)
    assert_both_keep(java, path, FILTERS, kept, framed)


@by_version
@by_change
def test_we_write_in_the_new_spec_and_java_reads_on(
    java: SparkSession, change: str, version: int
) -> None:
    name = f"specs_ours_{change}_v{version}"
    path = location(java, name)
    repartitioned(java, name, change, version)()
    ice.load_table(path).append(rows.table(20, 30))
    append_spark(java, path, rows.table(30, 35))
    append(java, name, 35, 40)
    expected = rows.table(0, 40)
    assert_same_rows(expected, read(java, path), what="Java")
    assert_same_rows(expected, read_both(java, path), what="the Arrow scan")
    texts = FILTERS[:4]
    for text, kept in zip(texts, kept_by_spark(java, expected, texts), strict=True):
        assert_same_rows(kept, java.table(identifier(name)).where(text).toArrow(), what=text)


def test_java_changes_the_spec_of_our_table_and_both_go_on(java: SparkSession) -> None:
    name = "our_spec_changed"
    path = location(java, name)
    ice.create_table(path, rows.SCHEMA, partition_by=["months(ts)", "bucket(4, id)"])
    ice.load_table(path).append(rows.table(0, 20))
    alter(java, name, "REPLACE PARTITION FIELD ts_month WITH days(ts)")
    ice.load_table(path).append(rows.table(20, 30))
    append(java, name, 30, 40)
    expected = rows.table(0, 40)
    assert_same_rows(expected, read(java, path), what="Java")
    assert_same_rows(expected, read_spark(java, path), what="the Spark frame")
    assert_same_rows(expected, read_both(java, path), what="both engines")
    ice.load_table(path).overwrite(rows.table(50, 51), overwrite_filter="id < 100")
    assert_same_rows(rows.table(50, 51), read(java, path), what="Java after our overwrite")


NAMES: dict[str, tuple[str, str, list[str], bool, bool]] = {
    "another column": (
        "2", "flag", ["RENAME COLUMN flag TO a", "ADD COLUMN flag int"], False, False,
    ),
    "its own column": (
        "2", "flag", ["RENAME COLUMN flag TO a", "RENAME COLUMN a TO flag"], True, True,
    ),
    "a former spec": (
        "2", "bucket(4, id)", ["DROP PARTITION FIELD id_bucket", "ADD COLUMN id_bucket int"],
        False, False,
    ),
    "a void field of a dropped column": (
        "1", "flag", ["DROP PARTITION FIELD flag", "DROP COLUMN flag", "ADD COLUMN flag int"],
        True, True,
    ),
    "a former field of a dropped column": (
        "2", "flag", ["DROP PARTITION FIELD flag", "DROP COLUMN flag", "ADD COLUMN flag int"],
        True, True,
    ),
    "a void field of a renamed column": (
        "1", "flag",
        ["DROP PARTITION FIELD flag", "RENAME COLUMN flag TO a", "ADD COLUMN flag int"],
        False, False,
    ),
    "a bucket of the column": ("2", "", ["ADD PARTITION FIELD bucket(4, id) AS id"], True, False),
    "the column of a bucket": (
        "2", "bucket(4, id)", ["RENAME COLUMN id TO id_bucket"], True, False,
    ),
}  # fmt: skip
"""Version, partitions, changes, and whether Java and we accept them."""


def test_names_that_java_refuses_are_refused_and_others_can_be_loaded(java: SparkSession) -> None:
    """We refuse more, as Java does where it creates a table: only an identity shares a name."""
    for number, (version, parts, changes, java_accepts, we_accept) in enumerate(NAMES.values()):
        for ours, accepts in ((False, java_accepts), (True, we_accept)):
            name = f"field_names_{number}_{'ours' if ours else 'java'}"
            create(java, name, rows.DDL, parts, format__version=version)
            path = location(java, name)
            table = f"`{path}`" if ours else identifier(name)
            run = partial(ice.sql, java) if ours else java.sql
            for change in changes[:-1]:
                run(f"ALTER TABLE {table} {change}")
            if accepts:
                run(f"ALTER TABLE {table} {changes[-1]}")
            else:
                with pytest.raises(InvalidSchemaError if ours else Py4JJavaError):
                    run(f"ALTER TABLE {table} {changes[-1]}")
            java.sql(f"REFRESH TABLE {identifier(name)}")
            assert read(java, path).num_rows == 0
