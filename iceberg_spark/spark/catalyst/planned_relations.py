"""Relations of classic sessions over planned files, with values for each file.

Spark gives rows their file by `_metadata`, a struct that it builds for every row, and it lists the
files although they are known. `PlannedRelations.java` gives it the files and their values instead.
It is not available over Connect, nor if it does not compile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.spark.session.classic_session import (
    frame_of_plan,
    java_static,
    java_texts,
)
from iceberg_spark.spark.session.compiled_java import compiled_object

_CLASS = "PlannedRelations"


@dataclass(frozen=True, slots=True)
class GivenFiles:
    """The files of a relation and their values, of the type `kind`.

    `cells` has for each file its path, its size in bytes and its values. A value is "=" and a text
    of what Spark stores; an empty text is NULL.
    `read_bytes` is the size that the relation reports.
    """

    kind: StructType
    cells: Sequence[str]
    read_bytes: int


def gives_file_values(session: SparkSession) -> bool:
    """Return whether a session's relations can have values of their files as columns."""
    return compiled_object(session, _CLASS, __package__) is not None


def planned_relation(
    session: SparkSession,
    kind: StructType,
    options: Mapping[str, str],
    files: GivenFiles,
    listed: DataFrame | None = None,
) -> DataFrame:
    """Return a relation over Parquet files, in a session for which `gives_file_values` is true.

    Its columns are those of `kind`, as in the files, and the files' values. `listed` is Spark's own
    relation over the same files, if their store reports which hosts have them.
    """
    inside: Any = session
    java = inside._jsparkSession
    types = [java.parseDataType(struct.json()) for struct in (kind, files.kind)]
    option_texts = [text for option in options.items() for text in option]
    maker: Any = compiled_object(session, _CLASS, __package__)
    plan = maker.relation(
        java,
        types[0],
        java_texts(session, option_texts),
        types[1],
        java_texts(session, files.cells),
        files.read_bytes,
        _statuses(session, listed),
    )
    return frame_of_plan(session, plan)


def _statuses(session: SparkSession, listed: DataFrame | None) -> Any:
    if listed is None:
        return java_static(session, "scala.collection.immutable.Nil$", "MODULE$")
    inside: Any = listed
    return inside._jdf.logicalPlan().relation().location().allFiles()
