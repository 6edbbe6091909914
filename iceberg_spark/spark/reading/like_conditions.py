"""Conditions by LIKE of several words, behind the search for each of these (`LikeConditions.java`).

Of TPC-H's query 13, `o_comment NOT LIKE '%special%requests%'`, a fifth of the time went there.
"""

from __future__ import annotations

import re

from pyspark.sql import DataFrame

from iceberg_spark.spark.reading.limits import NARROWING
from iceberg_spark.spark.reading.marked_files import has_marked_files
from iceberg_spark.spark.reading.parquet_files import MARK
from iceberg_spark.spark.session.classic_plans import PLAN_ERRORS, plan_marks
from iceberg_spark.spark.session.classic_queries import with_quicker_likes

_PATTERN = re.compile(r"\bLIKE\s*r?['\"]", re.IGNORECASE)


def quicker_likes(frame: DataFrame, text: str) -> DataFrame:
    """Return a query's frame, whose rows are the same and found sooner; `text` is the query's.

    The frame itself where that has no such condition or no relation of ours, and over Connect.
    """
    if not has_marked_files() or _PATTERN.search(text) is None:
        return frame  # nothing is asked of Java
    try:
        is_ours = any(plan_marks(frame, MARK, most=NARROWING.leaves))
        return with_quicker_likes(frame) if is_ours else frame
    except PLAN_ERRORS:
        return frame  # what is wrong, an action says
