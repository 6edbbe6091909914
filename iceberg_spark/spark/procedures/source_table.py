"""What a session knows of tables and folders that are to be taken in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import lit
from pyspark.sql.types import StructField, StructType

from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.spark.session.active_session import needed_session
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spec.data_file import ROW_FORMAT_NAMES
from iceberg_spark.write.hive_paths import HIVE_NULL


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table of the session's own catalog: format, columns, folder, and the files it reads."""

    name: str
    provider: str
    folder: str
    schema: StructType
    files: frozenset[str]


def source_table(
    name: str, spark: SparkSession | None, partition_filter: Mapping[str, str] | None = None
) -> SourceTable:
    """Look at a table of the session's own catalog, at files of some of its partitions alone.

    The types of its partitions are those that its catalog says, not what folders look like, its
    files those of its catalog's partitions (Java: SparkTableUtil.importSparkTable).
    Raises InvalidInputError without a session, UnsupportedError for tables of other files than
    Parquet, ORC and Avro.
    """
    session = needed_session(spark)
    rows = run_sql(session, f"DESCRIBE TABLE EXTENDED {name}").collect()
    description = {row["col_name"]: row["data_type"] for row in rows}
    provider = str(description.get("Provider", "")).lower()
    if provider not in ROW_FORMAT_NAMES:
        raise UnsupportedError(
            f"{name} is no Parquet table but {description.get('Provider')}: only files of "
            "Parquet, ORC and Avro can be taken in as they lie"
        )
    if "Location" not in description:
        raise InvalidInputError(f"{name} has no location of its own: it is a view")
    frame = session.table(name)
    rows_of_it = frame
    for column, value in (partition_filter or {}).items():
        if column in frame.columns:
            rows_of_it = rows_of_it.where(_is(frame, column, value))
    files = frozenset(unquote(path) for path in rows_of_it.inputFiles())
    return SourceTable(name, provider, str(description["Location"]), frame.schema, files)


def _is(frame: DataFrame, column: str, value: str) -> Column:
    if value == HIVE_NULL:
        return frame[column].isNull()
    return frame[column] == lit(value).try_cast(frame.schema[column].dataType)


def taken_schema(table: SourceTable, folder: StructType, partitions: Sequence[str]) -> StructType:
    """Return the columns of a table that is taken in, in its order.

    Columns of files are as these have them, with those that the table lacks at the end; what is in
    the names of folders has the type that the table says. Names are matched without case, as
    Spark reads files, and spelled as the files do.
    """
    file_fields = {field.name.lower(): field for field in folder.fields}
    named = {name.lower() for name in partitions}
    fields = []
    for field in table.schema.fields:
        lower = field.name.lower()
        in_files = file_fields.pop(lower, field)
        kind = field.dataType if lower in named else in_files.dataType
        fields.append(StructField(in_files.name, kind, in_files.nullable, field.metadata))
    return StructType([*fields, *file_fields.values()])


def folder_schema(folder: str, provider: str, spark: SparkSession) -> StructType | None:
    """Return the columns of a folder of files as Spark reads it.

    None if Spark has no type for one of them: nanoseconds, times, UUIDs, half floats.
    """
    try:
        return spark.read.format(provider).load(folder).schema
    except PySparkException:
        return None
