"""Planned rewrites of delete files carried out and committed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from iceberg_spark.api.maintenance_arguments import delete_runner
from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.commit import CleanupOnFailure, commit
from iceberg_spark.engines import on_spark
from iceberg_spark.errors import CommitFailedException, ValidationException
from iceberg_spark.maintenance.rewritten_deletes import DeletePlan, DeleteRewrite

_log = logging.getLogger(__name__)


def carry_out_each(
    catalog: Catalog,
    loaded: LoadedTable,
    plans: Sequence[DeletePlan],
    branch: str | None,
    spark: on_spark.SparkSession | None,
    take: Callable[[LoadedTable], None],
) -> DeleteRewrite:
    """Carry plans out, each in a commit of its own; skip one that conflicts if another succeeded.

    Raises ValidationException, CommitFailedException if none succeeded.
    """
    done: list[DeleteRewrite] = []
    for index, plan in enumerate(plans):
        try:
            done.append(carry_out(catalog, loaded, plan, branch, spark, take))
        except (ValidationException, CommitFailedException):
            if not done and index == len(plans) - 1:
                raise
            _log.warning("A rewrite of deletes of %s failed", loaded.identifier, exc_info=True)
    return DeleteRewrite.total([DeleteRewrite(), *done])


def carry_out(
    catalog: Catalog,
    loaded: LoadedTable,
    planned: DeletePlan,
    branch: str | None,
    spark: on_spark.SparkSession | None,
    take: Callable[[LoadedTable], None],
) -> DeleteRewrite:
    """Write the new delete files, commit them, and hand the table over; return what was done."""
    io = loaded.io
    new = delete_runner(spark)(planned.work, planned.tasks, io)
    result = planned.result(new)  # nothing is left to do once it has landed
    with CleanupOnFailure(io, [file.file_path for file in new.written]) as handover:
        action = planned.action(new, branch)
        take(commit(catalog, loaded.identifier, action, loaded, handover=handover))
    return result
