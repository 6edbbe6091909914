"""What a session knows of Parquet tables and folders that are to be taken in."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.spark.session.active_session import needed_session


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A Parquet table of the session's own catalog: columns, folder, and the files it reads."""

    name: str
    folder: str
    schema: StructType
    files: frozenset[str]


def source_table(name: str, spark: SparkSession | None) -> SourceTable:
    """Look at a table of the session's own catalog.

    Its columns are those that its catalog says, not what folders and files look like, and its
    files those of its catalog's partitions (Java: SparkTableUtil.importSparkTable).
    Raises InvalidInputError without a session, UnsupportedError for what is no Parquet table.
    """
    session = needed_session(spark)
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    found = {row["col_name"]: row["data_type"] for row in rows}
    if str(found.get("Provider", "")).lower() != "parquet":
        raise UnsupportedError(
            f"{name} is no Parquet table but {found.get('Provider')}: only Parquet files can be "
            "taken in as they lie"
        )
    if "Location" not in found:
        raise InvalidInputError(f"{name} has no location of its own: it is a view")
    frame = session.table(name)
    files = frozenset(unquote(path) for path in frame.inputFiles())
    return SourceTable(name, str(found["Location"]), frame.schema, files)


def folder_schema(folder: str, spark: SparkSession) -> StructType:
    """Return the columns of a folder of Parquet files as Spark reads it."""
    return spark.read.parquet(folder).schema
