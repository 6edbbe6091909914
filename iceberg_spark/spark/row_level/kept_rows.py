"""Rows that several passes read, which are the same in each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.storagelevel import StorageLevel

from iceberg_spark.spark.row_level.target_rows import RUN
from iceberg_spark.spark.session.classic_session import is_connect


@contextmanager
def kept_rows(frame: DataFrame, *, apart: bool = True) -> Iterator[DataFrame]:
    """Persist a DataFrame while the block runs, in Spark's storage memory and on disk.

    With `apart` it shares nothing with another DataFrame of the same plan, which may end first.
    Over Connect each pass analyzes a plan again, with other random numbers, and does not find
    persisted rows. There it is checkpointed, and held until nothing refers to it.
    """
    if is_connect(frame.sparkSession):
        yield checkpoint(frame)
        return
    own = frame.select("*", sf.lit(uuid.uuid4().hex).alias(RUN)) if apart else frame
    persisted = own.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield persisted.drop(RUN) if apart else persisted
    finally:
        persisted.unpersist()


def checkpoint(frame: DataFrame, *, eager: bool = True) -> DataFrame:
    """Checkpoint a DataFrame in its own session.

    Over Connect, PySpark returns a DataFrame of the thread's active session. If the process has
    several Connect sessions, that one may be another session, which does not have the rows.
    """
    if not is_connect(frame.sparkSession):
        return frame.localCheckpoint(eager=eager)
    active: Any = frame.localCheckpoint(eager=eager, storageLevel=StorageLevel.MEMORY_AND_DISK)
    relation = active._plan
    relation._spark_session = frame.sparkSession  # where it releases the rows in the end
    connect_frame: Any = type(frame)
    checkpointed: DataFrame = connect_frame(relation, frame.sparkSession)
    return checkpointed
