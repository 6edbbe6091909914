"""Arguments of `t.maintenance` as users give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import pyarrow as pa

from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import (
    active_session,
    is_case_sensitive,
    is_imported,
    read_by_session,
    session_time_zone,
)
from iceberg_spark.errors import InvalidInputError, InvalidTypeError
from iceberg_spark.expr.build import Predicate
from iceberg_spark.expr.nodes import Unbound
from iceberg_spark.maintenance.limits import ORPHANS
from iceberg_spark.maintenance.position_delete_groups import PositionRewrite
from iceberg_spark.maintenance.reachable import FindFiles
from iceberg_spark.maintenance.rewritten_deletes import Runner, run_here
from iceberg_spark.spec.arguments import check_int, moment_ms


def file_list(files: object, spark: on_spark.SparkSession | None) -> pa.Table | None:
    """Return a list of files as an Arrow table."""
    if files is None or isinstance(files, pa.Table):
        return files
    return on_spark.listed_files(files, spark)


def delete_threads(max_concurrent_deletes: int | None, default: int = ORPHANS.deletes) -> int:
    """Return how many threads delete files. Raises InvalidInputError for less than one."""
    if max_concurrent_deletes is None:
        return default
    threads = check_int(max_concurrent_deletes, "max_concurrent_deletes")
    if threads < 1:
        raise InvalidInputError(f"max_concurrent_deletes must be at least 1, not {threads}")
    return threads


def file_search(spark: on_spark.SparkSession | None) -> FindFiles | None:
    """Return the search for files that may use Spark, None if there can be no session."""
    if spark is None and not is_imported():
        return None
    return on_spark.where_it_pays(spark)


def delete_runner(spark: on_spark.SparkSession | None) -> Runner:
    """Return what rewrites deletes: tasks of `spark` or the active session, or this process."""
    session = active_session() if spark is None else spark
    return run_here if session is None else on_spark.runner(session)


def milliseconds(older_than: int | datetime | None) -> int | None:
    """Return a time in ms since the epoch; None stays so."""
    return None if older_than is None else moment_ms(older_than, "older_than")


def snapshots_to_retain(retain_last: int | None) -> int | None:
    """Return how many snapshots stay. Raises InvalidInputError for less than one."""
    if retain_last is None:
        return None
    count = check_int(retain_last, "retain_last")
    if count < 1:
        raise InvalidInputError(f"retain_last must be at least 1, not {count}")
    return count


def snapshot_numbers(snapshot_ids: Iterable[int]) -> frozenset[int]:
    """Return ids of snapshots. Raises InvalidTypeError."""
    if isinstance(snapshot_ids, int | str):
        raise InvalidTypeError(f"snapshot_ids must be a list of ids, not {snapshot_ids!r}")
    try:
        return frozenset(check_int(snapshot_id, "each") for snapshot_id in snapshot_ids)
    except InvalidTypeError as error:
        message = str(error).replace("each must be an integer", "snapshot_ids must be integers", 1)
        raise InvalidTypeError(message) from None


def flag(value: bool, name: str) -> bool:
    """Return what is True or False. Raises InvalidTypeError for anything else."""
    if not isinstance(value, bool):
        raise InvalidTypeError(f"{name} must be True or False, not {value!r}")
    return value


def position_rewrite(
    options: Mapping[str, object] | None,
    where: str | Predicate | Unbound | None,
    branch: str | None,
    spark: on_spark.SparkSession | None,
) -> PositionRewrite:
    """Return the request for a rewrite of position deletes, parsed with the session's settings."""
    return PositionRewrite(
        options or {},
        None if where is None else read_by_session(where, spark),
        branch,
        session_time_zone(spark),
        is_case_sensitive(spark),
    )
