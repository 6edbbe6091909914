"""A scan as a DataFrame for queries that are written later.

Spark's optimizer prunes the files of a relation of Spark's reader (`prune_files`). It cannot prune
files inside the tasks of the Arrow engine, so a classic session plans these files again for each
query, when Spark has pushed the filters and columns of the query to the scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from iceberg_spark.expr.logic import conjunction
from iceberg_spark.expr.nodes import ALWAYS_TRUE
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import plan as plan_scan
from iceberg_spark.scan.split import SplitOptions
from iceberg_spark.spark.adapt.many_columns import pick_columns
from iceberg_spark.spark.adapt.types import check_geo_types, nullable, to_spark
from iceberg_spark.spark.catalyst.spark_catalog import RowsRequest, lazy_frame
from iceberg_spark.spark.reading.plan_frame import are_native, file_groups, plan_frame, with_count
from iceberg_spark.spark.reading.relation_registry import pushed_filter
from iceberg_spark.spark.session.engine import Engine
from iceberg_spark.spec import reserved
from iceberg_spark.spec.schema import Schema


def scan_frame(
    plan: ScanPlan,
    spark: SparkSession,
    *,
    engine: Engine | None = None,
    split: SplitOptions | None = None,
) -> DataFrame:
    """Return the rows of a scan as a DataFrame, whose files later filters prune.

    The arguments, the columns and the errors are those of `plan_frame`.
    """
    check_geo_types(plan.context.read_schema, spark)
    groups = file_groups(plan, spark, engine)
    if engine != "native" and not are_native(groups) and _can_be_planned_again(plan):
        scan = QueriedScan(spark, plan, engine, split)
        frame = lazy_frame(spark, plan.context.table_location, scan)
        if frame is not None:
            count = plan.record_count
            return frame if count is None or engine == "arrow" else with_count(frame, count)
    return plan_frame(plan, spark, engine=engine, split=split, groups=groups)


def _can_be_planned_again(plan: ScanPlan) -> bool:
    """Return whether the plan has files that another filter may leave out."""
    return plan.metadata is not None and not plan.is_by_catalog and len(plan) > 0


@dataclass(frozen=True, slots=True, eq=False)
class QueriedScan:
    """A scan that is planned again for each query. It is a `ResolvedRelation`."""

    spark: SparkSession
    plan: ScanPlan
    engine: Engine | None
    split: SplitOptions | None
    version: str = field(default_factory=lambda: uuid4().hex)

    @property
    def columns(self) -> s.StructType:
        """The columns of the scan, with its metadata columns."""
        return nullable(to_spark(self.plan.context.read_schema))

    @property
    def metadata_columns(self) -> s.StructType:
        """A scan has all its columns by name."""
        return s.StructType([])

    def rows(self, used: RowsRequest) -> Sequence[DataFrame]:
        """Plan the files that may have rows for which the filters of a query hold."""
        context, metadata = self.plan.context, self.plan.metadata
        count = self.plan.record_count
        if used.is_counted and not used.filters and count is not None:
            return [self.spark.range(count)]
        fields = context.read_schema.fields
        # The planner has no values of metadata columns: Spark applies their filters to the rows.
        stored = Schema(*(column for column in fields if context.table_schema.get(column.field_id)))
        condition, variants = pushed_filter(replace(context, read_schema=stored), used.filters)
        # Deleted rows are shown if `_deleted` is a column of the scan, also to a query without it.
        read = (
            tuple(
                column
                for column in fields
                if column.name in used.columns or column.field_id == reserved.DELETED_ID
            )
            or fields[:1]
        )
        queried = replace(context, read_schema=Schema(*read))
        planned = replace(self.plan, context=queried)
        if metadata is not None and (condition != ALWAYS_TRUE or variants is not None):
            queried = replace(queried, row_filter=conjunction((context.row_filter, condition)))
            planned = plan_scan(
                metadata, context.io, queried, pruned_by=variants, tasks=self.plan.tasks
            )
        frame = plan_frame(planned, self.spark, engine=self.engine, split=self.split)
        return [pick_columns(frame, used.columns) if used.columns else frame]
