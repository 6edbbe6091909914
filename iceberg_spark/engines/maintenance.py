"""Compactions and counts of distinct values: parse the options, choose the engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import (
    active_session,
    is_case_sensitive,
    read_by_session,
    session_time_zone,
)
from iceberg_spark.expr.build import Predicate
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.io.location import scheme
from iceberg_spark.maintenance.column_sketches import (
    Sketches,
    SketchRunner,
    SketchWork,
    sketch_here,
)
from iceberg_spark.maintenance.compact import Compaction
from iceberg_spark.maintenance.compaction import (
    CompactionWork,
    PlannedGroup,
    Runner,
    WrittenGroup,
    run_here,
)
from iceberg_spark.maintenance.layout import layout
from iceberg_spark.maintenance.limits import COMPACTING, SKETCHING
from iceberg_spark.maintenance.plan_compaction import CompactionRequest
from iceberg_spark.maintenance.rewrite_options import rewrite_options
from iceberg_spark.save.write_options import overridden_properties
from iceberg_spark.scan.task import FileScanTask

_ENCODING = (
    "compression-codec", "compression-level", "shred-variants", "variant-inference-buffer-size"
)  # fmt: skip


def compaction(
    catalog: Catalog,
    loaded: LoadedTable,
    strategy: str | None,
    sort_order: str | None,
    where: str | Predicate | Unbound | None,
    options: Mapping[str, object],
    branch: str | None,
    spark: on_spark.SparkSession | None,
) -> Compaction:
    """Return the compaction of a table's newest version, ready to execute.

    Raises InvalidInputError, InvalidOptionError, InvalidSchemaError and what parsing raises.
    """
    case = is_case_sensitive(spark)
    chosen_layout = layout(loaded.metadata, strategy, sort_order, case_sensitive=case)
    request = CompactionRequest(
        chosen_layout,
        rewrite_options(options, chosen_layout.strategy, loaded.metadata),
        None if where is None else read_by_session(where, spark),
        branch,
        session_time_zone(spark),
        case,
        {} if spark is None else _encoding(spark),
    )
    return Compaction(catalog, loaded, request, _runner(spark))


def _encoding(spark: on_spark.SparkSession) -> dict[str, str]:
    """Return the file properties that the session's settings replace.

    The compaction's strategy decides the distribution of rows.
    """
    defaults = on_spark.session_write_defaults(spark)
    return overridden_properties({name: defaults[name] for name in _ENCODING if name in defaults})


def _runner(spark: on_spark.SparkSession | None) -> Runner:
    """Return the runner of groups: the given session, or the active one for large groups."""
    if spark is not None:
        return on_spark.compactor(spark)

    def run(work: CompactionWork, groups: Sequence[PlannedGroup]) -> list[WrittenGroup]:
        session = active_session()
        size = sum(group.group.input_bytes for group in groups)
        in_memory = scheme(work.write.table_location) == "memory"
        if session is None or in_memory or size <= COMPACTING.here_bytes:
            return run_here(work, groups)
        return on_spark.compactor(session)(work, groups)

    return run


def sketcher(spark: on_spark.SparkSession | None) -> SketchRunner:
    """Return the runner of sketches: the given session, or the active one for large tables."""
    if spark is not None:
        return on_spark.sketch_runner(spark)

    def run(work: SketchWork, tasks: Sequence[FileScanTask], io: FileIO) -> Iterable[Sketches]:
        session = active_session()
        size = sum(task.file_size_in_bytes for task in tasks)
        in_memory = scheme(work.scan.table_location) == "memory"
        if session is None or in_memory or size <= SKETCHING.here_bytes:
            return sketch_here(work, tasks, io)
        return on_spark.sketch_runner(session)(work, tasks, io)

    return run
