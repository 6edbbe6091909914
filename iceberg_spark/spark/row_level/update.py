"""UPDATE with Spark, copy-on-write and merge-on-read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import BooleanType, StructField, StructType

from iceberg_spark.expr.build import Predicate
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.row_level.conditions import is_of_one_row, text_of, usable_filter, variants_in
from iceberg_spark.row_level.position_deletes import DeletesWriter
from iceberg_spark.row_level.row_level_change import ChangedRows, PlannedChange, RowChange, RowVerb
from iceberg_spark.row_level.target_files import Target, all_rows, only_files, target_files
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.scan.planned_files import data_file
from iceberg_spark.spark.adapt.many_columns import by_position, plain, rename_columns, select_as
from iceberg_spark.spark.reading.planning_tasks import SparkPlanningTasks
from iceberg_spark.spark.row_level.assignments import Assignments, assignments
from iceberg_spark.spark.row_level.changed_rows import write_changed, write_rewritten
from iceberg_spark.spark.row_level.conditions import (
    OF_UPDATE,
    analyze,
    check_condition,
    reporting,
    spark_errors,
)
from iceberg_spark.spark.row_level.delete import matching
from iceberg_spark.spark.row_level.fixed_clock import clock
from iceberg_spark.spark.row_level.inner_fields import check_inner_names, has_struct
from iceberg_spark.spark.row_level.kept_rows import kept_rows
from iceberg_spark.spark.row_level.position_deletes import write_deletes
from iceberg_spark.spark.row_level.target_rows import (
    MATCHES,
    ROW_POSITION,
    check_names,
    empty_frame,
    projected_here,
    require_types,
    row_type,
    rows_by_file,
    rows_frame,
)
from iceberg_spark.spark.row_level.target_rows import (
    name_target as called,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec.reserved import LAST_UPDATED_SEQUENCE_NUMBER
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.lineage import keeping_lineage, lineage_names


def update_on_spark(
    verb: RowVerb,
    context: WriteContext,
    updates: Mapping[str, str],
    where: str | Predicate | Unbound,
    spark: SparkSession,
) -> PlannedChange:
    """Return the change that assigns new values to matching rows (ANSI store assignment).

    Raises InvalidExpressionError, InvalidSchemaError naming a column, InvalidInputError for a value
    that its column cannot hold.
    """
    require_types(context.schema, "an update")
    stamped = clock(context.schema.column_names)
    values = assignments(context.schema, updates, "set", case_sensitive=verb.case_sensitive)
    values = values.rewritten(stamped)
    condition = stamped(text_of(where, "where", context.schema))
    empty = called(empty_frame(context.schema, spark), verb.names.target)
    with reporting(OF_UPDATE):
        check_condition(empty, condition, "where")
    work = _Update(verb, context, values, condition, spark)
    with spark_errors(f"set {dict(updates)}"):
        work.check_inner_names(empty)
        analyze(work.changed(empty))
        row_filter, _ = usable_filter(verb, condition, verb.names.target)
        variants = variants_in(verb, condition, verb.names.target)
        target = target_files(
            verb.metadata,
            verb.io,
            row_filter,
            verb.target_options,
            pruned_by=variants,
            tasks=SparkPlanningTasks(spark),
        )
        if not len(target.plan):
            return PlannedChange(RowChange(), row_filter)
        in_place = work.by_position if verb.mode.merge_on_read else work.rewritten
        alone = is_of_one_row((condition, *values.texts))
        return PlannedChange(in_place(target), row_filter, after_deletes=alone)


@dataclass(frozen=True, slots=True)
class _Update:
    """The parts that both modes share."""

    verb: RowVerb
    context: WriteContext
    values: Assignments
    condition: str
    spark: SparkSession

    @property
    def lineage(self) -> tuple[str, ...]:
        """The metadata columns that rewritten rows keep."""
        return lineage_names(self.context)

    def rows(self, plan: ScanPlan) -> DataFrame:
        """Return full rows of a plan under the name that expressions use for the table."""
        read = rows_frame(self.verb.metadata, plan, self.spark, metadata_columns=self.lineage)
        rows = projected_here(read, (self.condition, *self.values.texts))
        return called(rows, self.verb.names.target)

    def check_inner_names(self, rows: DataFrame) -> None:
        """Refuse values whose structs have other fields than the table's."""
        target, columns = self.verb.names.target, self.values.columns
        fields = row_type(self.context.schema).fields
        struct_fields = [
            field for field in fields if field.name in columns and has_struct(field.dataType)
        ]
        values = [
            self.values.value(field.name, target).alias(field.name) for field in struct_fields
        ]
        check_inner_names(rows.select(*values), struct_fields)

    def changed(self, rows: DataFrame) -> DataFrame:
        """Return rows with the new values in the table's types."""
        target = self.verb.names.target
        new_values = {name: self.values.value(name, target) for name in self.values.columns}
        if self.lineage:  # the number of the last update is that of the commit
            new_values[LAST_UPDATED_SEQUENCE_NUMBER.name] = sf.lit(None).cast("bigint")
        return rows.withColumns(new_values).to(row_type(keeping_lineage(self.context).schema))

    def by_position(self, target: Target) -> RowChange:
        """Mark the old rows as deleted and write the new ones."""
        if is_of_one_row([self.condition]):
            places = matching(self.verb, target, self.condition, self.spark, ROW_POSITION)
            return self._moved(target, places, partial(self._matching, target))
        with self._persist_matching(target) as matching_rows:
            rows = called(matching_rows.drop(*ROW_POSITION), self.verb.names.target)
            return self._moved(target, matching_rows.select(*ROW_POSITION), lambda _: rows)

    def _matching(self, target: Target, paths: Collection[str]) -> DataFrame:
        """Return the matching rows of some files."""
        return self.rows(only_files(target.plan, paths)).where(expression(self.condition))

    @contextmanager
    def _persist_matching(self, target: Target) -> Iterator[DataFrame]:
        """Persist the matching rows and their positions while the block runs.

        A subquery may return other rows the second time: a sample, a LIMIT, or a table that others
        write.
        """
        check_names("The table", self.context.schema.column_names, ROW_POSITION)
        metadata_columns = (*ROW_POSITION, *self.lineage)
        read = rows_frame(
            self.verb.metadata, target.plan, self.spark, metadata_columns=metadata_columns
        )
        every = called(projected_here(read, [self.condition]), self.verb.names.target)
        with kept_rows(every.where(expression(self.condition))) as rows:
            yield rows

    def _moved(
        self, target: Target, places: DataFrame, rows: Callable[[Collection[str]], DataFrame]
    ) -> RowChange:
        """Delete rows by position, and write their new versions."""
        verb, granularity = self.verb, self.verb.mode.granularity
        writer = DeletesWriter(self.context, verb.metadata.partition_specs, granularity)
        gone = write_deletes(places, tuple(target.plan), writer)
        if not gone.deleted:
            return RowChange()
        changed = self.changed(rows(gone.referenced))
        return RowChange(
            added_data=write_changed(verb, self.context, [changed]),
            added_deletes=tuple(gone.files),
            removed_deletes=tuple(gone.replaced),
            referenced=tuple(gone.referenced),
            counts=ChangedRows(updated=gone.deleted),
        )

    def rewritten(self, target: Target) -> RowChange:
        """Rewrite the files with matching rows."""
        verb = self.verb
        counts = rows_by_file(matching(verb, target, self.condition, self.spark, ("_file",)))
        if not counts:
            return RowChange()
        plan = only_files(target.plan, counts)
        rows = self.rows(all_rows(plan))
        assigned = self.values.columns
        return RowChange(
            added_data=write_rewritten(
                verb, self.context, plan, [self._with_new_values(rows)], assigned=assigned
            ),
            removed_data=tuple(data_file(task) for task in plan),
            counts=ChangedRows(updated=sum(counts.values())),
        )

    def _with_new_values(self, rows: DataFrame) -> DataFrame:
        """Return all rows, with the new values in matching ones, in the table's types."""
        schema = keeping_lineage(self.context).schema
        names = [field.name for field in schema.fields]
        assigned = [name for name in names if name in self.values.columns]
        # Computed once: each use of an expression would draw a sample of its own.
        target = self.verb.names.target
        rows = called(rows.select("*", expression(self.condition).alias(MATCHES)), target)
        # Values are computed for matching rows only: elsewhere they might overflow.
        matches = sf.col(MATCHES)
        values = [sf.when(matches, self.values.value(name, target)) for name in assigned]
        new = {name: f"{name} of clause 1" for name in assigned}  # as in a MERGE, for errors
        of_table = [plain(index) for index in range(len(names))]
        hit = rows.select("*", *values)
        labelled = rename_columns(hit, [*of_table, "matches", *new.values()])
        kinds = {field.name: field.dataType for field in row_type(schema).fields}
        typed = labelled.to(
            StructType(
                [
                    *(StructField(plain(i), kinds[name]) for i, name in enumerate(names)),
                    StructField("matches", BooleanType()),
                    *(StructField(label, kinds[name]) for name, label in new.items()),
                ]
            )
        )
        places = {name: len(names) + 1 + index for index, name in enumerate(assigned)}
        new_values = {name: plain(index) for name, index in places.items()}
        if self.lineage:
            new_values[LAST_UPDATED_SEQUENCE_NUMBER.name] = "null"
        texts = [
            f"case when {plain(len(names))} then {new_values[name]} else {old} end"
            if name in new_values
            else old
            for name, old in zip(names, of_table, strict=True)
        ]
        return select_as(by_position(typed), texts, names)
