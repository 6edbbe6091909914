"""Java Iceberg's own API over py4j: what Spark SQL has no words for, above all equality deletes.

Rows always come from a Spark query as InternalRows, so that NaN, -0.0, NULL and every type reach
the Java writers exactly as Spark holds them.
"""

from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

JavaObject = Any  # py4j has no types
_FILE_NUMBER = count()


def location(spark: SparkSession, name: str) -> str:
    """Return the path of table `name` of the Hadoop catalog `j`."""
    return f"{spark.conf.get('spark.sql.catalog.j.warehouse')}/db/{name}"


def identifier(name: str) -> str:
    """Return the SQL identifier of table `name`."""
    return f"j.db.{name}"


@cache
def iceberg(spark: SparkSession) -> JavaObject:
    """Return the JVM package org.apache.iceberg; Java looks for a package in every archive."""
    return spark.sparkContext._jvm.org.apache.iceberg


def load(spark: SparkSession, name: str) -> JavaObject:
    """Load table `name` as Java's org.apache.iceberg.Table."""
    jvm = iceberg(spark)
    return jvm.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, identifier(name))


def read(spark: SparkSession, path: str, **options: str) -> pa.Table:
    """Read a table with Java: this is the oracle."""
    return spark.read.format("iceberg").options(**options).load(path).toArrow()


def frame(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Make a DataFrame of Arrow rows; Spark alone would make timestamps without zone zoned."""
    return spark.createDataFrame(table, from_arrow_schema(table.schema, prefer_timestamp_ntz=True))


@dataclass(frozen=True, slots=True)
class Place:
    """A spec and one of its partitions; `partition` is None for the unpartitioned spec."""

    spec: JavaObject
    partition: JavaObject | None


def global_place(spark: SparkSession) -> Place:
    """Return the unpartitioned spec: an equality delete written there is global."""
    return Place(iceberg(spark).PartitionSpec.unpartitioned(), None)


def places(spark: SparkSession, name: str) -> list[Place]:
    """Return the spec and partition of every live data file, each once."""
    table = load(spark, name)
    found: dict[str, Place] = {}
    for file in data_files(table):
        spec = table.specs()[file.specId()]
        partition = file.partition() if spec.isPartitioned() else None
        key = f"{file.specId()}/{spec.partitionToPath(partition) if partition else ''}"
        found[key] = Place(spec, partition)
    return [found[key] for key in sorted(found)]


def data_files(table: JavaObject) -> list[JavaObject]:
    """Return the live data files of the current snapshot."""
    tasks = table.newScan().includeColumnStats().planFiles().iterator()
    files = []
    while tasks.hasNext():
        files.append(tasks.next().file())
    return sorted(files, key=lambda file: str(file.location()))


def _output_file(spark: SparkSession, table: JavaObject, suffix: str) -> JavaObject:
    path = f"{table.location()}/data/{suffix}-{next(_FILE_NUMBER):05d}"
    output = table.io().newOutputFile(path)
    return iceberg(spark).encryption.EncryptedFiles.plainAsEncryptedOutput(output)


def _internal_rows(frame: DataFrame) -> list[JavaObject]:
    return list(frame._jdf.queryExecution().executedPlan().executeCollect())


def _row_class(spark: SparkSession) -> JavaObject:
    loader = spark.sparkContext._jvm.Thread.currentThread().getContextClassLoader()
    return loader.loadClass("org.apache.spark.sql.catalyst.InternalRow")


def _parent(keys: list[str]) -> str:
    """Return the struct that holds a nested key, such as `st` for `st.a`."""
    return keys[0].split(".")[0] if "." in keys[0] else ""


def write_equality_delete(
    spark: SparkSession,
    name: str,
    rows: DataFrame,
    keys: list[str],
    place: Place,
    file_format: str = "PARQUET",
) -> JavaObject:
    """Write one equality delete file with all columns of `rows`; only `keys` are equality ids."""
    jvm, table = iceberg(spark), load(spark, name)
    schema = table.schema().select([*(c for c in rows.columns if c != _parent(keys)), *keys])
    java_format = jvm.FileFormat.fromString(file_format)
    builder = (
        jvm.formats.FormatModelRegistry.equalityDeleteWriteBuilder(
            java_format,
            _row_class(spark),
            _output_file(spark, table, f"equality.{file_format.lower()}"),
        )
        .setAll(table.properties())
        .schema(schema)
        .engineSchema(jvm.spark.SparkSchemaUtil.convert(schema))
        .equalityFieldIds([schema.findField(key).fieldId() for key in keys])
        .metricsConfig(jvm.MetricsConfig.forTable(table))
        .spec(place.spec)
        .partition(place.partition)
    )
    ordered = rows.select(*[f"`{field.name()}`" for field in schema.columns()])
    writer = builder.build()
    for row in _internal_rows(ordered):
        writer.write(row)
    writer.close()
    return writer.toDeleteFile()


def write_data_file(
    spark: SparkSession, name: str, rows: DataFrame, place: Place, file_format: str = "PARQUET"
) -> JavaObject:
    """Write one data file with the table's columns, without committing it."""
    jvm, table = iceberg(spark), load(spark, name)
    writer = (
        jvm.formats.FormatModelRegistry.dataWriteBuilder(
            jvm.FileFormat.fromString(file_format),
            _row_class(spark),
            _output_file(spark, table, f"data.{file_format.lower()}"),
        )
        .setAll(table.properties())
        .schema(table.schema())
        .engineSchema(jvm.spark.SparkSchemaUtil.convert(table.schema()))
        .metricsConfig(jvm.MetricsConfig.forTable(table))
        .spec(place.spec)
        .partition(place.partition)
        .build()
    )
    for row in _internal_rows(rows):
        writer.write(row)
    writer.close()
    return writer.toDataFile()


def write_position_delete(
    spark: SparkSession,
    name: str,
    positions: list[tuple[str, int]],
    place: Place,
    file_format: str = "PARQUET",
) -> JavaObject:
    """Write one position delete file with (path, position) rows in the order given."""
    jvm, table = iceberg(spark), load(spark, name)
    builder = (
        jvm.formats.FormatModelRegistry.positionDeleteWriteBuilder(
            jvm.FileFormat.fromString(file_format),
            _output_file(spark, table, f"position.{file_format.lower()}"),
        )
        .setAll(table.properties())
        .metricsConfig(jvm.MetricsConfig.forPositionDelete())
        .spec(place.spec)
        .partition(place.partition)
    )
    writer, delete = builder.build(), jvm.deletes.PositionDelete.create()
    for path, position in positions:
        writer.write(delete.set(path, position))
    writer.close()
    return writer.toDeleteFile()


def commit_deletes(spark: SparkSession, name: str, *delete_files: JavaObject) -> None:
    """Commit delete files in one row delta."""
    delta = load(spark, name).newRowDelta()
    for file in delete_files:
        delta = delta.addDeletes(file)
    delta.commit()


def commit_rows_and_deletes(
    spark: SparkSession, name: str, data_file: JavaObject, *delete_files: JavaObject
) -> None:
    """Commit a data file and delete files under one sequence number, as Flink's upserts do."""
    delta = load(spark, name).newRowDelta().addRows(data_file)
    for file in delete_files:
        delta = delta.addDeletes(file)
    delta.commit()


def delete_equal(
    spark: SparkSession,
    name: str,
    query: str,
    keys: list[str],
    file_format: str = "PARQUET",
    only: list[Place] | None = None,
) -> None:
    """Delete rows equal to those of a SQL query in every partition (or in `only`), one commit."""
    rows = spark.sql(query)
    targets = places(spark, name) if only is None else only
    files = [write_equality_delete(spark, name, rows, keys, p, file_format) for p in targets]
    commit_deletes(spark, name, *files)
