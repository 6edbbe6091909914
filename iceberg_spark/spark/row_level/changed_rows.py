"""The new data files of a change, and how their rows are distributed to tasks."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from iceberg_spark.row_level.row_level_change import RowVerb
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spark.adapt.many_columns import pick_columns
from iceberg_spark.spark.writing.distribution import arrangement, is_sortable
from iceberg_spark.spark.writing.write_by_spark import table_column
from iceberg_spark.spark.writing.write_files import write_frame
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.spec.properties import (
    DELETE_DISTRIBUTION_MODE,
    MERGE_DISTRIBUTION_MODE,
    UPDATE_DISTRIBUTION_MODE,
    WRITE_DISTRIBUTION_MODE,
    text_property,
)
from iceberg_spark.spec.reserved import LINEAGE_NAMES, ROW_ID
from iceberg_spark.write.align_columns import AlignOptions
from iceberg_spark.write.context import WriteContext
from iceberg_spark.write.lineage import keeping_lineage

_MODES = {
    "delete": DELETE_DISTRIBUTION_MODE,
    "update": UPDATE_DISTRIBUTION_MODE,
    "merge": MERGE_DISTRIBUTION_MODE,
}


def write_changed(
    verb: RowVerb, context: WriteContext, rows: Sequence[DataFrame]
) -> tuple[DataFile, ...]:
    """Write rows that may belong to any partition, in one pass.

    Their distribution is `write.<verb>.distribution-mode`, else `write.distribution-mode`, else the
    table's default. Rows with lineage columns keep their lineage.
    """
    mode, context = _distribution_mode(verb, context), _kept_lineage(context, rows)
    return _written(context, [_columns(context, frame) for frame in rows], mode)


def write_rewritten(
    verb: RowVerb,
    context: WriteContext,
    plan: ScanPlan,
    remaining: Sequence[DataFrame],
    moving: Sequence[DataFrame] = (),
    *,
    assigned: Collection[str] = (),
) -> tuple[DataFile, ...]:
    """Write the remaining rows of rewritten files, and new rows, in one pass.

    Without a property and a sort order, the tasks that read files also write them, and only the
    rows of `moving` are shuffled to a task for each partition. So there are no more files than
    before, plus one for each split. It does not hold if a file's rows may belong to several
    partitions: the file has another spec, or a partition column is assigned.

    Args:
        verb: the change.
        context: how files are written.
        plan: the rewritten files.
        remaining: their rows that stay.
        moving: new rows.
        assigned: columns in which remaining rows may have new values.
    """
    mode, context = _distribution_mode(verb, context), _kept_lineage(context, [*remaining, *moving])
    remaining = [_columns(context, frame) for frame in remaining]
    moving = [_columns(context, frame) for frame in moving]
    if mode is None and not is_sortable(context) and _lie_by_partition(context, plan, assigned):
        schema = context.schema
        keys = arrangement(context, None, lambda field_id: table_column(schema, field_id)).keys
        moving = [frame.repartition(*keys) if keys else frame for frame in moving]
        mode = "none"
    return _written(context, [*remaining, *moving], mode)


def _kept_lineage(context: WriteContext, frames: Sequence[DataFrame]) -> WriteContext:
    """Return a context that writes row ids if some of the rows have them."""
    some = any(ROW_ID.name in frame.columns for frame in frames)
    return keeping_lineage(context) if some else context


def _columns(context: WriteContext, frame: DataFrame) -> DataFrame:
    """Return the columns to write; new rows have no lineage yet."""
    names = [field.name for field in context.schema.fields]
    frame_columns = frame.columns
    missing = [name for name in LINEAGE_NAMES if name in names and name not in frame_columns]
    if missing:
        frame = frame.withColumns({name: sf.lit(None).cast("bigint") for name in missing})
    return pick_columns(frame, names)


def _written(
    context: WriteContext, frames: Sequence[DataFrame], mode: str | None
) -> tuple[DataFile, ...]:
    if not frames:
        return ()
    rows = reduce(DataFrame.union, frames)
    return write_frame(rows, context, AlignOptions(), distribution_mode=mode)


def _distribution_mode(verb: RowVerb, context: WriteContext) -> str | None:
    """Return the distribution mode that table properties give a verb, None without one."""
    for name in (_MODES.get(verb.mode.verb), WRITE_DISTRIBUTION_MODE):
        if name is not None and name in context.properties:
            return text_property(context.properties, name)
    return None


def _lie_by_partition(context: WriteContext, plan: ScanPlan, assigned: Collection[str]) -> bool:
    schema = context.schema
    sources = {
        schema.find_field(schema.path_ids(part.source_id)[0]).name
        for part in context.spec.fields
        if schema.get(part.source_id) is not None
    }
    specs = set(pc.unique(plan.files.column("spec_id")).to_pylist())
    return sources.isdisjoint(assigned) and specs <= {context.spec.spec_id}
