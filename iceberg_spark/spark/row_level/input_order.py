"""Whether the order of a frame's rows is that of its input, so that they may be numbered.

Rows are numbered by partition and place in it. After a shuffle they arrive in whatever order
blocks were fetched, and a number says nothing about which of two rows is the later.
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
    """Return a frame with its rows numbered in their input order, before any shuffle.

    Raises InvalidInputError for a frame that was shuffled itself, and over Connect for one whose
    plan does not show whether it was.
    """
    found = frame.selectExpr("*", f"monotonically_increasing_id() AS {SEQUENCE}")
    plan = physical_plan(found)
    if _SHUFFLE.search(plan):
        raise InvalidInputError(
            "The rows of the frame were shuffled (its plan has an Exchange), so their order is no "
            "longer that of the input: pass order_by=[...], columns that say which row of a key "
            "is the last"
        )
    if _RDD_SCAN in plan and _rdd_may_be_shuffled(found):
        raise InvalidInputError(
            "Whether the rows of the frame were shuffled can't be told from its plan, which reads "
            "an RDD: pass order_by=[...], columns that say which row of a key is the last"
        )
    return found


def _rdd_may_be_shuffled(frame: DataFrame) -> bool:
    """Look at the lineage of the RDDs below a frame; over Connect nobody can."""
    below = lineage(frame)
    return below is None or _SHUFFLED_RDD.search(below) is not None
