"""Rows that several passes look at, and that are the same in each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.storagelevel import StorageLevel

from iceberg_spark.spark.row_level.own_names import RUN
from iceberg_spark.spark.session.classic_session import is_connect


@contextmanager
def kept_rows(frame: DataFrame, *, apart: bool = True) -> Iterator[DataFrame]:
    """Keep what a frame gives while the block runs, in Spark's storage memory and on disk beyond.

    Kept `apart` it shares nothing with another frame of the same plan, which may end first. Over
    Connect each pass analyses a plan anew, with other random numbers and samples, and does not
    find what is kept of it: there it is run at once, and held until nobody refers to it.
    """
    if is_connect(frame.sparkSession):
        yield frame.localCheckpoint(eager=True, storageLevel=StorageLevel.MEMORY_AND_DISK)
        return
    own = frame.select("*", sf.lit(uuid.uuid4().hex).alias(RUN)) if apart else frame
    kept = own.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield kept.drop(RUN) if apart else kept
    finally:
        kept.unpersist()
