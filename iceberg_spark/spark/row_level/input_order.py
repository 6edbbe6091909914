"""Numbers of rows in their input order, if their order is known.

Rows are numbered by partition and position. After a shuffle they arrive in the order in which
blocks were fetched, so that a number does not tell which of two rows is later.
"""

from __future__ import annotations

import re

from pyspark.sql import DataFrame

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.catalyst.classic_frame import lineage, physical_plan
from iceberg_spark.spark.row_level.own_names import SEQUENCE

_SHUFFLE = re.compile(r"(?<![A-Za-z])(?!Broadcast|Reused)\w*(?:Exchange|ShuffleRead)\b")
_SHUFFLED_RDD = re.compile(
    r"Shuffled\w*RDD|CoGroupedRDD|CheckpointRDD"
)  # a checkpoint hides what was before it
_RDD_SCAN = "Scan ExistingRDD"


def numbered(frame: DataFrame) -> DataFrame:
    """Return a DataFrame with its rows numbered in their input order, before any shuffle.

    Raises InvalidInputError if its rows were shuffled, and over Connect if the plan does not show
    whether they were.
    """
    with_sequence = frame.selectExpr("*", f"monotonically_increasing_id() AS {SEQUENCE}")
    plan = physical_plan(with_sequence)
    if _SHUFFLE.search(plan):
        raise InvalidInputError(
            "The rows of the frame were shuffled (its plan has an Exchange), so their order is no "
            "longer that of the input: pass order_by=[...], columns that say which row of a key "
            "is the last"
        )
    if _RDD_SCAN in plan and _rdd_may_be_shuffled(with_sequence):
        raise InvalidInputError(
            "Whether the rows of the frame were shuffled can't be told from its plan, which reads "
            "an RDD: pass order_by=[...], columns that say which row of a key is the last"
        )
    return with_sequence


def _rdd_may_be_shuffled(frame: DataFrame) -> bool:
    """Return whether the RDDs below a DataFrame may be shuffled; over Connect they may."""
    below = lineage(frame)
    return below is None or _SHUFFLED_RDD.search(below) is not None
