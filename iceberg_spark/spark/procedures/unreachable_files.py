"""Spark jobs over lists of files: those that only expired snapshots reach, and listings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import TimestampNTZType, TimestampType

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.places import Places
from iceberg_spark.maintenance.limits import EXPIRING
from iceberg_spark.maintenance.reachable import (
    KEY,
    MANIFESTS,
    FindFiles,
    Manifests,
    live_files,
    unreachable_files,
    with_keys,
)
from iceberg_spark.manifest.reader import FILES
from iceberg_spark.spark.adapt.jobs import job_rows
from iceberg_spark.spark.session.active_session import active_session, needed_session

Table: TypeAlias = Any  # pyarrow ships no types


_FILES_DDL = "file_path string, content int, key string"


def where_it_pays(spark: SparkSession | None) -> FindFiles:
    """Return the search that uses a session that is given, or active and the table large."""

    def find(io: FileIO, manifests: Manifests) -> Iterable[Table]:
        session = spark
        if session is None and manifests.most_files >= EXPIRING.spark_from_files:
            session = active_session()
        if session is None:
            return (unreachable_files(io, manifests),)
        return unreachable_by_spark(session, io, manifests)

    return find


@dataclass(frozen=True, slots=True)
class _ReadLive:
    """Reads manifests: their live files."""

    io: FileIO

    def rows(self, manifests: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
        """Yield the live files of some manifests."""
        io, places = self.io, Places()
        for files in live_files(io, pa.Table.from_pylist(manifests, MANIFESTS)):
            yield from with_keys(files.cast(FILES), places).to_batches()


def unreachable_by_spark(spark: SparkSession, io: FileIO, manifests: Manifests) -> Iterator[Table]:
    """Yield the files that only unreachable manifests hold; the driver holds 50,000 at a time."""
    gone = _live(spark, io, manifests.unreachable)
    if manifests.others.num_rows:
        gone = gone.union(spark.createDataFrame(with_keys(manifests.others, Places())))
    used = _live(spark, io, manifests.remaining).select(KEY)
    left = gone.dropDuplicates([KEY]).join(used, KEY, "left_anti")
    rows = left.select("file_path", "content").toLocalIterator()
    while portion := tuple(islice(rows, EXPIRING.rows_at_once)):
        paths, contents = zip(*portion, strict=True)
        yield pa.table([pa.array(paths, pa.string()), pa.array(contents, pa.int32())], FILES.names)


def _live(spark: SparkSession, io: FileIO, manifests: Table) -> DataFrame:
    tasks = -(-manifests.num_rows // EXPIRING.task_manifests)
    rows = manifests.to_pylist()
    return job_rows(
        spark, [rows[offset::tasks] for offset in range(tasks)], _ReadLive(io).rows, _FILES_DDL
    )


def listed_files(view: object, spark: SparkSession | None) -> Any:  # pyarrow ships no types
    """Return the columns `file_path` and `last_modified` of a view (its name) or a frame.

    Times without a zone are of the session's. The driver holds the rows. Raises InvalidInputError
    for columns that are missing.
    """
    frame: Any = view
    if isinstance(view, str):
        frame = needed_session(spark).table(view)
    names = ("file_path", "last_modified")
    lacking = [name for name in names if name not in getattr(frame, "columns", ())]
    if lacking:
        raise InvalidInputError(
            f"file_list_view lacks {', '.join(lacking)}: it needs the columns file_path (text) and "
            "last_modified (timestamp)"
        )
    if isinstance(frame.schema["last_modified"].dataType, TimestampNTZType):
        frame = frame.withColumn("last_modified", frame["last_modified"].cast(TimestampType()))
    return frame.select(*names).toArrow()
