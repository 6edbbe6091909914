"""Files as a relation over Spark's own Parquet reader."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.spark.reading.limits import NATIVE
from iceberg_spark.spark.reading.marked_files import MARK
from iceberg_spark.spark.session import classic_frame
from iceberg_spark.spark.session.classic_session import is_connect

OPTIONS = {
    "__globPaths__": "false",
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
    "mergeSchema": "false",
    "recursiveFileLookup": "false",
}
"""What the session says about these is not asked; none of a user's options gets here."""


def files_relation(
    session: SparkSession,
    kind: StructType,
    paths: Sequence[str],
    sizes: Sequence[int],
    mark: str | None = None,
) -> DataFrame:
    """Return a relation of some files; `mark` is the value of the option that marks it."""
    if is_connect(session) or len(paths) > NATIVE.kept_paths:
        return _listed(session, kind, paths, mark)
    return _known(session, kind, tuple(zip(paths, sizes, strict=True)), mark)


@lru_cache(maxsize=NATIVE.kept_relations)
def _known(
    session: SparkSession, kind: StructType, files: tuple[tuple[str, int], ...], mark: str | None
) -> DataFrame:
    """Return a relation of a classic session, the same one again for the same files.

    A file never changes; one that was added anew under its name has another size. Frames have
    columns of their own above it, so that they can be joined with each other.
    """
    return _listed(session, kind, [path for path, _ in files], mark)


def _listed(
    session: SparkSession, kind: StructType, paths: Sequence[str], mark: str | None
) -> DataFrame:
    marked = {} if mark is None else {MARK: mark}
    reader = session.read.schema(kind).options(**OPTIONS, **marked)
    return classic_frame.read_parquet(session, reader, paths, many=NATIVE.many_paths)
