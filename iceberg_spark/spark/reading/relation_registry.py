"""The relations that were planned lately, so that the optimizer can plan them again by filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.bounded_cache import BoundedCache
from iceberg_spark.expr.nodes import ALWAYS_TRUE, Bound
from iceberg_spark.expr.variant_filter import VariantFilter, of_columns
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planner import narrow_plan
from iceberg_spark.spark.catalyst.file_pruning import Expression
from iceberg_spark.spark.reading.column_plan import ColumnPlan, Origin
from iceberg_spark.spark.reading.limits import NARROWING
from iceberg_spark.spark.reading.parquet_files import RelationFiles
from iceberg_spark.spark.reading.pushed_conditions import PushedConditions
from iceberg_spark.spec import types as t


@dataclass(frozen=True, slots=True, eq=False)
class RegisteredRelation:
    """A relation over the files of a plan. `paths` are the paths of its files in the table."""

    plan: ScanPlan
    columns: ColumnPlan
    session: SparkSession
    kind: StructType
    paths: pa.ChunkedArray
    files: RelationFiles

    @property
    def rows(self) -> int:
        """The number of rows in its files."""
        return sum(self.files.rows)

    @property
    def shows_deleted_rows(self) -> bool:
        """Whether it shows deleted rows too, whose keys must not prune other relations."""
        return self.columns.has(Origin.DELETED)

    def field(self, name: str) -> t.NestedField | None:
        """Return the table's field of a column, None for a column that Spark converts."""
        for planned in self.columns.read:
            requested = planned.requested
            if planned.is_stored and requested is not None and requested.name == name:
                return planned.field if requested.field_type == planned.field.field_type else None
        return None


_relations = BoundedCache(NARROWING.kept_files, entries=NARROWING.kept_relations)
"""The latest relations by their marks, bounded in files; one of very many files fills it."""


def register_relation(mark: str, registered: RegisteredRelation) -> None:
    """Register the relation that has a mark."""
    _relations.put(mark, registered, min(len(registered.files), NARROWING.kept_files))


def registered_relation(mark: str) -> RegisteredRelation | None:
    """Return the relation that has a mark, None if it is no longer registered."""
    registered: RegisteredRelation | None = _relations.get(mark)
    return registered


@dataclass(frozen=True, slots=True, eq=False)
class FilteredPlan:
    """A relation, and its plan by its own filters."""

    registered: RegisteredRelation
    plan: ScanPlan


def pushed_filter(
    context: ScanContext, filters: Sequence[Expression]
) -> tuple[Bound, VariantFilter | None]:
    """Return the predicate of filters on a scan, and what they say about fields of variants.

    Parts of filters that have no predicate are left out.
    """
    reader = PushedConditions.of_schema(context.read_schema, context.table_schema)
    understood = reader.predicate(filters)
    bound = ALWAYS_TRUE if understood is None else reader.variants.bind(understood)
    return of_columns(bound), reader.variants.filter(bound)


def filtered_plan(
    registered: RegisteredRelation, filters: Sequence[Expression]
) -> FilteredPlan | None:
    """Return the plan of the files that may have rows which match all filters.

    Returns None if the table cannot be planned again. The filter of the registered plan is ignored:
    another DataFrame over the same files may have added it. Raises what planning raises.
    """
    reader = PushedConditions(registered.columns, registered.plan.context.table_schema)
    understood = reader.predicate(filters)
    bound = ALWAYS_TRUE if understood is None else reader.variants.bind(understood)
    condition, variants = of_columns(bound), reader.variants.filter(bound)
    is_whole = registered.plan.context.row_filter == ALWAYS_TRUE
    if condition == ALWAYS_TRUE and variants is None and is_whole:
        return FilteredPlan(registered, registered.plan)
    plan = narrow_plan(registered.plan, condition, variants)
    return None if plan is None else FilteredPlan(registered, plan)
