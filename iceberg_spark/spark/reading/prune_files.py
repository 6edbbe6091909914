"""Pruning of a plan's relations: files by filters and joins, rows by keys of other relations."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from iceberg_spark.errors import IcebergError
from iceberg_spark.read.joined_keys import can_prune, is_large, is_small, joined_plan
from iceberg_spark.read.row_keys import KEYS
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.catalyst.file_pruning import (
    PrunedRelation,
    ScannedPlan,
    ScannedRelation,
    install_file_pruning,
    prune_files,
)
from iceberg_spark.spark.catalyst.key_filters import OptimizedPlan, optimized_plan
from iceberg_spark.spark.reading.answered_aggregates import answer_aggregates
from iceberg_spark.spark.reading.filter_by_keys import filter_by_keys, joined_tables
from iceberg_spark.spark.reading.limits import NARROWING
from iceberg_spark.spark.reading.parquet_files import MARK
from iceberg_spark.spark.reading.relation_registry import (
    FilteredPlan,
    RegisteredRelation,
    filtered_plan,
    registered_relation,
)
from iceberg_spark.spark.reading.relation_size import row_bytes

_log = logging.getLogger(__name__)


def prune_in_optimizer(session: SparkSession) -> bool:
    """Have the optimizer of a classic session prune the files of planned relations."""
    return install_file_pruning(session, prune_relations, MARK)


@dataclass(slots=True, eq=False)
class _Relation:
    """A relation of a plan, with its plan by its own filters, and the files to read."""

    scanned: ScannedRelation
    filtered: FilteredPlan
    mask: npt.NDArray[np.bool_] | None
    rows: int

    @classmethod
    def of(cls, scanned: ScannedRelation, registered: RegisteredRelation) -> _Relation | None:
        """Return a relation with its plan by its filters; None if it cannot be planned again."""
        filtered = filtered_plan(registered, scanned.filters)
        if filtered is None:
            return None
        relation = cls(scanned, filtered, None, registered.rows)
        relation.keep(filtered.plan)
        return relation

    @property
    def registered(self) -> RegisteredRelation:
        return self.filtered.registered

    def keep(self, plan: ScanPlan) -> None:
        """Remove the files that another plan of the relation does not have."""
        if plan.files is self.registered.plan.files:
            return
        names = plan.files.column("file_path").combine_chunks()
        mask = (
            pc.is_in(self.registered.paths, names).combine_chunks().to_numpy(zero_copy_only=False)
        )
        if not mask.all():
            self.mask = mask if self.mask is None else mask & self.mask
            self.rows = int(np.asarray(self.registered.files.rows)[self.mask].sum())

    def pruned(self) -> PrunedRelation | None:
        """Return the change of the relation; None if it needs all files and columns."""
        if self.mask is None and self.scanned.columns is None:
            return None
        return PrunedRelation(self.scanned.number, self._used_bytes(), self.mask)

    def _used_bytes(self) -> int:
        """Return the estimated bytes of the used columns, by which Spark chooses joins.

        A relation has all columns of its table. Spark would count texts that the plan does not use.
        """
        columns, used = self.registered.columns, self.scanned.columns
        if used is not None:
            read = tuple(
                column
                for column in columns.read
                if column.requested is not None and column.requested.name in used
            )
            columns = replace(columns, read=read)
        return int(self.rows * row_bytes(columns, self.registered.plan, self.registered.plan.files))


def prune_relations(session: SparkSession, plan: ScannedPlan, query: Any) -> None:
    """Prune the relations of a plan and answer its aggregates; `query` is Java's `PlanQuery`.

    Raises what planning a scan raises.
    """
    relations = [
        relation
        for scanned in plan.relations
        if (registered := registered_relation(scanned.mark)) is not None
        and (relation := _Relation.of(scanned, registered)) is not None
    ]
    _remove_files(relations, query)
    by_number = {
        relation.scanned.number: (relation.scanned, relation.filtered) for relation in relations
    }
    answer_aggregates(plan.aggregates, by_number, query)
    if 1 < len(relations) <= NARROWING.leaves:
        try:
            _prune_by_joins(session, relations, query)
        except (IcebergError, OSError, pa.ArrowException):
            _log.debug("The joins of a plan leave out no rows", exc_info=True)


def _prune_by_joins(session: SparkSession, relations: Sequence[_Relation], query: Any) -> None:
    """Prune relations by keys of others: files by partitions, rows where that pays."""
    joined = {
        relation.scanned.leaf_index: relation
        for relation in relations
        if relation.scanned.leaf_index >= 0
    }
    plans = {leaf: relation.filtered for leaf, relation in joined.items()}
    most_rows = max((relation.rows for relation in joined.values()), default=0)
    if may_prune_by_joins(plans):
        smaller_plans = joined_plans(plans, optimized_plan(session, query))
        for leaf, plan in smaller_plans.items():
            joined[leaf].keep(plan)
        _remove_files([joined[leaf] for leaf in smaller_plans], query)
    if most_rows >= KEYS.least_rows and len(joined) > 1:
        optimized = optimized_plan(session, query)
        pairs = [(relation.scanned, relation.filtered) for relation in joined.values()]
        rows = {relation.scanned.number: relation.rows for relation in joined.values()}
        filter_by_keys(joined_tables(pairs, rows, optimized), optimized)


def _remove_files(relations: Sequence[_Relation], query: Any) -> None:
    changes = (relation.pruned() for relation in relations)
    prune_files(query, [change for change in changes if change is not None])


def may_prune_by_joins(plans: Mapping[int, FilteredPlan]) -> bool:
    """Return whether one relation is large and another one has few keys."""
    large = {leaf for leaf, filtered in plans.items() if is_large(filtered.plan)}
    small = {leaf for leaf, filtered in plans.items() if _has_few_keys(filtered)}
    return bool(large and small) and len(large | small) > 1


def joined_plans(
    plans: Mapping[int, FilteredPlan], optimized: OptimizedPlan
) -> dict[int, ScanPlan]:
    """Return the smaller plans of relations, by their leaf index.

    Raises what reading keys raises.
    """
    smaller_plans: dict[int, ScanPlan] = {}
    for joined in optimized.joins:
        leaf, key_leaf = joined.column.leaf_index, joined.key.leaf_index
        if leaf not in plans or key_leaf not in plans:
            continue
        if not is_large(plans[leaf].plan) or not _has_few_keys(plans[key_leaf]):
            continue
        column, key = (
            plans[leaf].registered.field(joined.column.name),
            plans[key_leaf].registered.field(joined.key.name),
        )
        plan = smaller_plans.get(leaf, plans[leaf].plan)
        if column is None or key is None or not can_prune(plan, column, key):
            continue
        smaller_plan = joined_plan(plan, column, plans[key_leaf].plan, key).plan
        if smaller_plan is not None:
            smaller_plans[leaf] = smaller_plan
    return smaller_plans


def _has_few_keys(filtered: FilteredPlan) -> bool:
    """Return whether a relation's keys may be read. Rows that it shows as deleted are not keys."""
    return is_small(filtered.plan) and not filtered.registered.shows_deleted_rows
