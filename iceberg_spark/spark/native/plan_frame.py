"""A planned scan as a Spark frame: the seam that everything which reads with Spark shares."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.split import SplitOptions, split_options
from iceberg_spark.spark.native.arrow_frame import arrow_frame
from iceberg_spark.spark.native.engine import Engine


def plan_frame(
    plan: ScanPlan,
    spark: SparkSession,
    *,
    engine: Engine | None = None,
    split: SplitOptions | None = None,
) -> DataFrame:
    """Return the rows of a plan as a frame; nothing is planned again, nothing read yet.

    The columns are those of `plan.context.read_schema` (metadata columns too), nullable, with
    the table's comments and no other field metadata. `engine` forces one; None chooses per
    group of files. Works with classic and Connect sessions. Raises UnsupportedError naming
    what the forced engine can't do.
    """
    if engine == "native":
        raise UnsupportedError("The native engine can't read yet: leave `engine` out")
    groups = plan.groups(split_options({}) if split is None else split)
    return arrow_frame(plan.context, groups, spark)
