"""A planned scan as a DataFrame: the entry point of all native reading."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.report import count
from iceberg_spark.scan.split import SplitOptions, split_options
from iceberg_spark.spark.adapt.geo_types import check_geo_types
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.catalyst.classic_queries import Rows, TypedRows, frame_of
from iceberg_spark.spark.catalyst.planned_relations import gives_file_values
from iceberg_spark.spark.reading.counted_frame import with_count
from iceberg_spark.spark.reading.engine_choice import (
    MANY_SMALL_FILES,
    FileGroup,
    Reach,
    choose_engines,
    rows_of,
)
from iceberg_spark.spark.reading.frame_type import nullable
from iceberg_spark.spark.reading.misread_files import find_misread
from iceberg_spark.spark.reading.parquet_relation import relation
from iceberg_spark.spark.reading.prune_files import prune_in_optimizer
from iceberg_spark.spark.reading.reading_session import (
    reading_session,
    unfit_setting,
)
from iceberg_spark.spark.reading.worker_frame import arrow_frame
from iceberg_spark.spark.session.classic_session import active_session_kept, is_connect
from iceberg_spark.spark.session.engine import Engine
from iceberg_spark.spark.session.hadoop import hadoop_of

BUILT_IN_SCHEMES = frozenset({"", "file", "hdfs", "viewfs"})


def plan_frame(
    plan: ScanPlan,
    spark: SparkSession,
    *,
    engine: Engine | None = None,
    split: SplitOptions | None = None,
    filters: bool = True,
) -> DataFrame:
    """Return the rows of a plan as a DataFrame. Nothing is planned again, and nothing is read yet.

    The columns are those of `plan.context.read_schema`, with metadata columns. They are nullable,
    and have the table's comments and no other field metadata. It works in classic and Connect
    sessions.

    Args:
        plan: the scan.
        spark: the session of the DataFrame.
        engine: the engine to use; None chooses one for each group of files.
        split: how the Arrow engine splits files into tasks.
        filters: apply the filter of the plan. A query that has it among its own conditions needs no
            second one.

    Raises:
        UnsupportedError: the given engine cannot read a file.
    """
    rows = plan_rows(plan, spark, engine=engine, split=split, filters=filters)
    frame = frame_of(rows, spark)
    count = plan.record_count
    return frame if count is None or engine == "arrow" else with_count(frame, count)


def plan_rows(
    plan: ScanPlan,
    spark: SparkSession,
    *,
    engine: Engine | None = None,
    split: SplitOptions | None = None,
    filters: bool = True,
) -> Rows:
    """Return the rows of a plan for a query that they become a part of, as `plan_frame` does."""
    check_geo_types(plan.context.read_schema, spark)
    groups: list[FileGroup] = []

    def natively() -> list[DataFrame] | None:
        groups.extend(choose_engines(plan, reach_of(spark)))
        is_native = groups and all(group.engine == "native" for group in groups)
        return _relations(plan, groups, spark, filters=filters) if is_native else None

    frames = None if engine == "arrow" else natively()
    if frames is None:
        return _mixed(plan, groups, spark, engine, split, filters=filters)
    # The type is said once more, so that no field id of a relation is seen.
    return TypedRows(nullable(to_spark(plan.context.read_schema)), frames)


def _relations(
    plan: ScanPlan, native: list[FileGroup], spark: SparkSession, *, filters: bool
) -> list[DataFrame]:
    session = reading_session(spark, local=all(group.is_local for group in native))
    prune_in_optimizer(spark)
    with active_session_kept():
        return [
            relation(plan, group, group.columns, session, filters=filters)
            for group in native
            if group.columns
        ]


def _mixed(
    plan: ScanPlan,
    groups: list[FileGroup],
    spark: SparkSession,
    engine: Engine | None,
    split: SplitOptions | None,
    *,
    filters: bool,
) -> DataFrame:
    """Return a DataFrame of which the Arrow engine reads some or all files, or that has none."""
    native = [group for group in groups if group.engine == "native"]
    others = [group for group in groups if group.engine == "arrow"]
    if engine == "native" and others:
        why = "; ".join(f"{len(group.rows):,} files: {group.reason}" for group in others)
        raise UnsupportedError(f"The native engine can't read {why}. Leave `engine` out")
    rest = plan.subset(rows_of(others)) if native else plan
    tasks = rest.group_values(_for_arrow(others, split_options({}) if split is None else split))
    frame = arrow_frame(plan.context, tasks, spark)
    more = _relations(plan, native, spark, filters=filters) if native else []
    return reduce(lambda left, right: left.union(right), more, frame)


def _for_arrow(groups: list[FileGroup], split: SplitOptions) -> SplitOptions:
    """Return options that put many small files into fewer tasks, unless a file cost is given.

    A task takes Spark and a Python worker 30 to 60 ms; a small local file takes 1 ms.
    """
    many = any(group.reason == MANY_SMALL_FILES for group in groups)
    default = split_options({}).open_file_cost
    if not many or split.open_file_cost != default:
        return split
    return replace(split, open_file_cost=default // 4)


def reading_lines(
    plan: ScanPlan, spark: SparkSession | None = None, engine: Engine | None = None
) -> list[str]:
    """Return which engine reads how many files and why, one line for each group.

    Without a session, the lines are those of a classic session.
    """
    if engine == "arrow":
        return [f"{count(len(plan), 'file')}: arrow, as asked for"] if len(plan) else []
    groups = choose_engines(plan, Reach() if spark is None else reach_of(spark))
    return [f"{count(len(group.rows), 'file')}: {group.label}" for group in groups]


def reach_of(spark: SparkSession) -> Reach:
    """Return what a session's Spark can read."""
    hadoop = hadoop_of(spark)

    def has_file_system(prefix: str) -> bool:
        return prefix.partition(":")[0] in BUILT_IN_SCHEMES or hadoop.has_file_system(prefix)

    return Reach(
        not is_connect(spark),
        unfit_setting(spark),
        has_file_system,
        hadoop.setting,
        gives_file_values(spark),
        partial(find_misread, spark),
    )
