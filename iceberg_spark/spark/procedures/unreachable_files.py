"""Which files only expired snapshots reach, as a Spark job: for tables with very many files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

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
from iceberg_spark.spark.session.active_session import active_session

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
