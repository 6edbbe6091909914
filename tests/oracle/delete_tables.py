"""Tables with one rule of the delete files each; every builder returns nothing, Java is asked."""

from collections.abc import Callable

from pyspark.sql import SparkSession

from tests.oracle import rows
from tests.oracle.java_api import (
    commit_deletes,
    commit_rows_and_deletes,
    data_files,
    delete_equal,
    global_place,
    identifier,
    load,
    places,
    write_data_file,
    write_equality_delete,
    write_position_delete,
)
from tests.oracle.java_tables import append, create

Build = Callable[[SparkSession, str, str], None]
KEY_COLUMNS = [field.name for field in rows.SCHEMA][:13]
_NUMBERS = "id bigint, d double, f float, s string"


def insert(spark: SparkSession, name: str, values: str) -> None:
    """Append SQL rows as one file a partition."""
    columns = ", ".join(spark.table(identifier(name)).columns)
    query = f"SELECT /*+ COALESCE(1) */ * FROM VALUES {values} AS v({columns})"
    spark.sql(f"INSERT INTO {identifier(name)} {query}")


def append_range(spark: SparkSession, name: str, start: int, stop: int) -> None:
    """Append ids, with the letters a, b and c in turn, as one file a partition."""
    query = f"SELECT id, substr('abc', id % 3 + 1, 1) AS k FROM range({start}, {stop}, 1, 1)"
    spark.sql(f"INSERT INTO {identifier(name)} {query}")


def alter(spark: SparkSession, name: str, change: str) -> None:
    """Run ALTER TABLE."""
    spark.sql(f"ALTER TABLE {identifier(name)} {change}")


def _numbers(spark: SparkSession, name: str, file_format: str, partitioned_by: str = "") -> None:
    create(spark, name, _NUMBERS, partitioned_by, write_format_default=file_format)
    nan, zero = "DOUBLE('NaN')", "DOUBLE('-0.0')"
    insert(
        spark,
        name,
        f"(1, {nan}, 1, 'a'), (2, {zero}, 2, ''), (3, 0D, 3, NULL), (4, NULL, NULL, NULL), "
        f"(5, 1.5D, FLOAT('NaN'), 'b'), (6, {nan}, FLOAT('-0.0'), 'A'), (7, 2D, 0, 'a '), "
        "(NULL, 3D, 7, 'c')",
    )


def nan_keys(spark: SparkSession, name: str, file_format: str) -> None:
    """NaN equals NaN, in doubles and floats."""
    _numbers(spark, name, file_format)
    delete_equal(spark, name, "SELECT DOUBLE('NaN') AS d", ["d"], file_format)
    delete_equal(spark, name, "SELECT FLOAT('NaN') AS f", ["f"], file_format)


def negative_zero_key(spark: SparkSession, name: str, file_format: str) -> None:
    """-0.0 differs from 0.0."""
    _numbers(spark, name, file_format)
    delete_equal(spark, name, "SELECT DOUBLE('-0.0') AS d", ["d"], file_format)


def zero_key(spark: SparkSession, name: str, file_format: str) -> None:
    """0.0 differs from -0.0."""
    _numbers(spark, name, file_format)
    delete_equal(spark, name, "SELECT FLOAT('0.0') AS f", ["f"], file_format)


def null_keys(spark: SparkSession, name: str, file_format: str) -> None:
    """NULL matches NULL; in a pair, both have to."""
    _numbers(spark, name, file_format)
    delete_equal(spark, name, "SELECT CAST(NULL AS BIGINT) AS id", ["id"], file_format)
    query = "SELECT CAST(NULL AS DOUBLE) AS d, CAST(NULL AS STRING) AS s"
    delete_equal(spark, name, query, ["d", "s"], file_format)


def string_keys(spark: SparkSession, name: str, file_format: str) -> None:
    """Strings match by every byte: case, blanks and the empty string count."""
    _numbers(spark, name, file_format)
    delete_equal(spark, name, "SELECT * FROM VALUES ('a'), ('') AS v(s)", ["s"], file_format)


def several_sets(spark: SparkSession, name: str, file_format: str) -> None:
    """Deletes by id, by string, by a pair and by that pair in the other order."""
    _numbers(spark, name, file_format)
    insert(spark, name, "(1, 9D, 9, 'x'), (10, 10D, 10, 'y'), (11, 11D, 11, 'a'), (5, 5D, 5, 'z')")
    delete_equal(spark, name, "SELECT 5L AS id", ["id"], file_format)
    delete_equal(spark, name, "SELECT 'y' AS s", ["s"], file_format)
    delete_equal(spark, name, "SELECT 1L AS id, 'a' AS s", ["id", "s"], file_format)
    delete_equal(spark, name, "SELECT 'A' AS s, 6L AS id", ["s", "id"], file_format)


def extra_columns(spark: SparkSession, name: str, file_format: str) -> None:
    """Columns of the delete file that are no keys do not count."""
    _numbers(spark, name, file_format)
    query = "SELECT 2L AS id, 99D AS d, 'other' AS s"
    delete_equal(spark, name, query, ["id"], file_format)


def global_delete(spark: SparkSession, name: str, file_format: str) -> None:
    """A delete under the unpartitioned spec holds in every partition, a partition's only there."""
    _numbers(spark, name, file_format, "bucket(3, id)")
    query = "SELECT * FROM VALUES (2L), (5L), (NULL) AS v(id)"
    delete_equal(spark, name, query, ["id"], file_format, [global_place(spark)])
    everything = "SELECT DISTINCT s FROM " + identifier(name)
    delete_equal(spark, name, everything, ["s"], file_format, places(spark, name)[:1])


def old_spec_delete(spark: SparkSession, name: str, file_format: str) -> None:
    """A partition's delete does not reach files of a later spec."""
    _numbers(spark, name, file_format, "bucket(2, id)")
    old = places(spark, name)
    alter(spark, name, "REPLACE PARTITION FIELD id_bucket WITH bucket(3, id)")
    insert(spark, name, "(1, 1D, 1, 'new'), (2, 2D, 2, 'new')")
    query = "SELECT * FROM VALUES (1L), (2L), (7L) AS v(id)"
    delete_equal(spark, name, query, ["id"], file_format, old)


def rows_after_the_delete(spark: SparkSession, name: str, file_format: str) -> None:
    """An equality delete spares rows of its own commit and of later ones."""
    _numbers(spark, name, file_format)
    place = global_place(spark)
    keys = spark.sql("SELECT * FROM VALUES (1L), (2L) AS v(id)")
    fresh = spark.sql("SELECT 1L AS id, 100D AS d, CAST(0 AS FLOAT) AS f, 'again' AS s")
    delete = write_equality_delete(spark, name, keys, ["id"], place, file_format)
    data = write_data_file(spark, name, fresh, place, file_format)
    commit_rows_and_deletes(spark, name, data, delete)
    insert(spark, name, "(2, 200D, 2, 'later')")


def renamed_key(spark: SparkSession, name: str, file_format: str) -> None:
    """A key is a field id: renamed since, and its old name given to another column."""
    _numbers(spark, name, file_format)
    delete_equal(spark, name, "SELECT 'b' AS s", ["s"], file_format)
    alter(spark, name, "RENAME COLUMN s TO t")
    alter(spark, name, "RENAME COLUMN f TO s")
    insert(spark, name, "(20, 20D, 20, 'b')")
    delete_equal(spark, name, "SELECT 'a' AS t", ["t"], file_format)


def promoted_keys(spark: SparkSession, name: str, file_format: str) -> None:
    """Keys and data of different width: deletes from before and after int became bigint, ..."""
    create(spark, name, "i int, f float, c decimal(9,2)", write_format_default=file_format)
    insert(spark, name, "(1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 0.1, 4), (5, 5, 5), (6, 6, 6)")
    delete_equal(spark, name, "SELECT 1 AS i", ["i"], file_format)
    delete_equal(spark, name, "SELECT FLOAT(2) AS f", ["f"], file_format)
    delete_equal(spark, name, "SELECT CAST(3 AS DECIMAL(9,2)) AS c", ["c"], file_format)
    alter(spark, name, "ALTER COLUMN i TYPE bigint")
    alter(spark, name, "ALTER COLUMN f TYPE double")
    alter(spark, name, "ALTER COLUMN c TYPE decimal(20,2)")
    insert(spark, name, "(1, 1, 1), (2, 2, 2), (3, 3, 3), (40000000000, 7, 7)")
    delete_equal(spark, name, "SELECT CAST(FLOAT(0.1) AS DOUBLE) AS f", ["f"], file_format)
    delete_equal(spark, name, "SELECT 5L AS i", ["i"], file_format)
    delete_equal(spark, name, "SELECT CAST(6 AS DECIMAL(20,2)) AS c", ["c"], file_format)


def dropped_key(spark: SparkSession, name: str, file_format: str) -> None:
    """A key column dropped since is still read for its deletes."""
    _numbers(spark, name, file_format)
    delete_equal(spark, name, "SELECT 'b' AS s", ["s"], file_format)
    alter(spark, name, "DROP COLUMN s")
    insert(spark, name, "(20, 20D, 20)")


def younger_key(spark: SparkSession, name: str, file_format: str) -> None:
    """A key column younger than a file is NULL there."""
    _numbers(spark, name, file_format)
    alter(spark, name, "ADD COLUMN c int")
    insert(spark, name, "(20, 20D, 20, 's', NULL), (21, 21D, 21, 's', 1)")
    query = "SELECT 3L AS id, CAST(NULL AS INT) AS c UNION ALL SELECT 20L, NULL"
    delete_equal(spark, name, query, ["id", "c"], file_format)


def nested_key(spark: SparkSession, name: str, file_format: str) -> None:
    """A key may lie in a struct; one row's struct is NULL, another's key in its struct."""
    ddl = "id bigint, st struct<a: int, b: string>"
    create(spark, name, ddl, write_format_default=file_format)
    insert(
        spark,
        name,
        "(1L, named_struct('a', 1, 'b', 'x')), (2L, named_struct('a', 2, 'b', 'x')), (3L, NULL), "
        "(4L, named_struct('a', CAST(NULL AS INT), 'b', 'y'))",
    )
    query = (
        "SELECT named_struct('a', 1) AS st UNION ALL SELECT named_struct('a', CAST(NULL AS INT))"
    )
    delete_equal(spark, name, query, ["st.a"], file_format)


def overlapping_positions(spark: SparkSession, name: str, file_format: str) -> None:
    """Positions twice, in two files, for two data files in one, and for a file long gone."""
    _numbers(spark, name, file_format)
    insert(spark, name, "(20, 20D, 20, 's'), (21, 21D, 21, 's'), (22, 22D, 22, 's')")
    first, second = (file.location() for file in data_files(load(spark, name)))
    place = global_place(spark)
    many = [(second, 1), (first, 1), ("/nowhere/gone.parquet", 0), (second, 1)]
    few = [(first, 1), (first, 0)]
    for positions in (many, few):
        file = write_position_delete(spark, name, positions, place, file_format)
        commit_deletes(spark, name, file)


def positions_in_the_same_commit(spark: SparkSession, name: str, file_format: str) -> None:
    """A position delete reaches rows of its own commit, an equality delete does not."""
    _numbers(spark, name, file_format)
    place = global_place(spark)
    fresh = spark.sql(
        "SELECT id, 1D AS d, CAST(0 AS FLOAT) AS f, 'new' AS s FROM VALUES (1L), (50L) AS v(id)"
    )
    data = write_data_file(spark, name, fresh, place, file_format)
    positions = write_position_delete(spark, name, [(data.location(), 1)], place, file_format)
    keys = spark.sql("SELECT 1L AS id")
    equal = write_equality_delete(spark, name, keys, ["id"], place, file_format)
    commit_rows_and_deletes(spark, name, data, positions, equal)


BUILDERS: tuple[Build, ...] = (
    nan_keys,
    negative_zero_key,
    zero_key,
    null_keys,
    string_keys,
    several_sets,
    extra_columns,
    global_delete,
    old_spec_delete,
    rows_after_the_delete,
    renamed_key,
    promoted_keys,
    dropped_key,
    younger_key,
    overlapping_positions,
    positions_in_the_same_commit,
)


def key_of_type(spark: SparkSession, name: str, column: str) -> None:
    """Rows of every type, some of them deleted by one column's values (NULL among them)."""
    create(spark, name, rows.DDL)
    append(spark, name, 0, 30)
    query = f"SELECT {column} FROM {identifier(name)} WHERE id IN (3, 4, 9)"
    delete_equal(spark, name, query, [column])


def readded_key(spark: SparkSession, name: str) -> None:
    """A key column dropped, and another of that name added: Java cannot read this."""
    _numbers(spark, name, "parquet")
    delete_equal(spark, name, "SELECT 'b' AS s", ["s"])
    alter(spark, name, "DROP COLUMN s")
    alter(spark, name, "ADD COLUMN s string")
    insert(spark, name, "(20, 20D, 20, 'b')")
