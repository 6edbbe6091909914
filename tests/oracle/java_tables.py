"""Tables that Java Iceberg makes: format version x file format x partitioning x deletes."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession

from tests.oracle import rows
from tests.oracle.java_api import (
    Place,
    commit_deletes,
    data_files,
    delete_equal,
    frame,
    identifier,
    load,
    location,
    places,
    read,
    write_equality_delete,
    write_position_delete,
)

FORMATS = ("parquet", "orc", "avro")
PARTITIONINGS = {
    "unpartitioned": "",
    "days_bucket": "days(ts), bucket(4, id)",
    "identity_truncate": "flag, truncate(2, s)",
}
DELETES = ("none", "position", "equality", "both")


@dataclass(frozen=True, slots=True)
class Case:
    """One cell of the matrix."""

    version: int
    file_format: str
    partitioning: str
    deletes: str

    @property
    def name(self) -> str:
        """The table's name, also the id of the test."""
        return f"v{self.version}_{self.file_format}_{self.partitioning}_{self.deletes}"


def matrix() -> Iterator[Case]:
    """Every cell; deletes exist from format version 2 on."""
    for version in (1, 2):
        for file_format in FORMATS:
            for partitioning in PARTITIONINGS:
                for deletes in DELETES if version > 1 else ("none",):
                    yield Case(version, file_format, partitioning, deletes)


CASES = list(matrix())


@dataclass(frozen=True, slots=True)
class JavaTable:
    """A table that Java made, and the rows Java reads from it."""

    name: str
    path: str
    rows: pa.Table


FIRST, SECOND, THIRD = (0, 24), (24, 40), (40, 46)


def create(
    spark: SparkSession, name: str, ddl: str, partitioned_by: str = "", **properties: str
) -> None:
    """Create table `name`; property names are written with `_` for `.` and `__` for `-`."""
    listed = {key.replace("__", "-").replace("_", "."): v for key, v in properties.items()}
    listed = {"write.delete.mode": "merge-on-read", "write.distribution-mode": "none"} | listed
    options = ", ".join(f"'{key}'='{value}'" for key, value in listed.items())
    partitions = f"PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
    spark.sql(
        f"CREATE TABLE {identifier(name)} ({ddl}) USING iceberg {partitions} "
        f"TBLPROPERTIES ({options})"
    )


def append(spark: SparkSession, name: str, start: int, stop: int, file_format: str = "") -> None:
    """Let Java append `rows.table` of these arguments as one file a partition."""
    made = frame(spark, rows.table(start, stop, file_format)).coalesce(1)
    made.writeTo(identifier(name)).option("fanout-enabled", "true").append()


def build(spark: SparkSession, case: Case) -> str:
    """Create, fill and delete from the table of a case; return its name."""
    name = case.name
    create(
        spark,
        name,
        rows.DDL,
        PARTITIONINGS[case.partitioning],
        format__version=str(case.version),
        write_format_default=case.file_format,
    )
    append(spark, name, *FIRST)
    append(spark, name, *SECOND)
    if case.deletes in ("position", "both"):
        spark.sql(f"DELETE FROM {identifier(name)} WHERE id % 5 = 0")
        delete_unsorted_positions(spark, name, case.file_format)
    if case.deletes in ("equality", "both"):
        _delete_equalities(spark, name, case.file_format)
    append(spark, name, *THIRD)
    return name


def build_and_read(spark: SparkSession, case: Case) -> JavaTable:
    """Build the table of a case and read it with Java."""
    name = build(spark, case)
    path = location(spark, name)
    return JavaTable(name, path, read(spark, path))


def delete_unsorted_positions(spark: SparkSession, name: str, file_format: str) -> None:
    """Delete the last and then the first row of each of the two largest files, in one commit."""
    table = load(spark, name)
    largest = sorted(data_files(table), key=lambda file: -file.recordCount())[:2]
    written = []
    for file in largest:
        spec = table.specs()[file.specId()]
        place = Place(spec, file.partition() if spec.isPartitioned() else None)
        positions = [(file.location(), file.recordCount() - 1), (file.location(), 0)]
        written.append(write_position_delete(spark, name, positions, place, file_format))
    commit_deletes(spark, name, *written)


def _delete_equalities(spark: SparkSession, name: str, file_format: str) -> None:
    """Two sets of keys: the id everywhere, (d, s) in the first partition only."""
    by_id = "SELECT CAST(id AS BIGINT) AS id FROM VALUES (2), (9), (25), (26), (99), (41) AS v(id)"
    delete_equal(spark, name, by_id, ["id"], file_format)
    by_pair = f"SELECT d, s FROM {identifier(name)} WHERE id IN (4, 8, 10, 16, 33)"
    pairs = spark.sql(by_pair)
    first = places(spark, name)[0]
    file = write_equality_delete(spark, name, pairs, ["d", "s"], first, file_format)
    commit_deletes(spark, name, file)
