"""Procedures that keep a table small and quick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iceberg_spark.api.maintenance import Maintenance
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.sql.row_filter import parse_row_filter
from iceberg_spark.statements.procedure import Called, Procedure, Rows
from iceberg_spark.statements.procedure_values import (
    COUNT,
    FLAG,
    MOMENT,
    NUMBER,
    NUMBERS,
    PAIRS,
    TEXT,
    TEXTS,
)

_ORPHANS = ("equal_schemes", "equal_authorities")


@dataclass(frozen=True, slots=True)
class _Shown:
    """The columns that a procedure's result is shown by: attributes of it, and their types."""

    columns: tuple[tuple[str, str], ...]
    attributes: tuple[str, ...] = ()

    @property
    def ddl(self) -> str:
        return ", ".join(f"{name} {kind}" for name, kind in self.columns)

    def row(self, result: object) -> tuple[Any, ...]:
        names = self.attributes or tuple(name for name, _ in self.columns)
        return tuple(getattr(result, name) for name in names)


def _columns(**kinds: str) -> tuple[tuple[str, str], ...]:
    return tuple(kinds.items())


_EXPIRED = _Shown(
    _columns(
        deleted_data_files_count="bigint",
        deleted_position_delete_files_count="bigint",
        deleted_equality_delete_files_count="bigint",
        deleted_manifest_files_count="bigint",
        deleted_manifest_lists_count="bigint",
        deleted_statistics_files_count="bigint",
    )
)
_DATA = _Shown(
    _columns(
        rewritten_data_files_count="int",
        added_data_files_count="int",
        rewritten_bytes_count="bigint",
        failed_data_files_count="int",
        removed_delete_files_count="int",
    )
)
_MANIFESTS = _Shown(_columns(rewritten_manifests_count="int", added_manifests_count="int"))
_DELETES = _Shown(
    _columns(
        rewritten_delete_files_count="int",
        added_delete_files_count="int",
        rewritten_bytes_count="bigint",
        added_bytes_count="bigint",
    ),
    ("removed_delete_files", "added_delete_files", "rewritten_bytes_count", "added_bytes_count"),
)
_CONVERTED = _Shown(
    _columns(
        removed_delete_files="bigint",
        added_delete_files="bigint",
        added_position_deletes="bigint",
    )
)
_TABLE_STATS = _Shown(_columns(statistics_file="string"))
_PARTITION_STATS = _Shown(_columns(partition_statistics_file="string"))
_PATHS = _Shown(
    _columns(
        latest_version="string",
        file_list_location="string",
        rewritten_manifest_file_paths_count="int",
        rewritten_delete_file_paths_count="int",
    )
)
_PLANNED = _Shown(
    _columns(action="string", reason="string", bytes="bigint", requests="bigint"),
)


def _of(called: Called) -> Maintenance:
    return called.table().maintenance


def _expire(called: Called) -> Rows:
    arguments = called.arguments(
        "older_than", "retain_last", "max_concurrent_deletes", "stream_results", "snapshot_ids",
        "clean_expired_metadata", "delete_outside",
    )  # fmt: skip
    return [_EXPIRED.row(_of(called).expire_snapshots(**arguments, spark=called.spark))]


def _orphans(called: Called) -> Rows:
    arguments = called.arguments(
        "older_than", "location", "dry_run", "max_concurrent_deletes", "file_list_view",
        "prefix_mismatch_mode",
    )  # fmt: skip
    arguments |= {name: called.texts(name) for name in _ORPHANS if called.arguments(name)}
    result = _of(called).remove_orphan_files(**arguments, spark=called.spark)
    return [(location,) for location in result.orphan_file_locations]


def _of_branch(called: Called) -> tuple[Maintenance, dict[str, Any]]:
    """Return a table's maintenance and the branch, which the table's name may give (`t.branch_b`).

    The argument comes first, as in Java.
    """
    target = called.target()
    branch = called.values.get("branch") or target.branch
    return target.table().maintenance, {} if branch is None else {"branch": branch}


def _where(called: Called) -> dict[str, Any]:
    """Return the argument `where`, with constant expressions evaluated by Spark, as in Java."""
    arguments = called.arguments("where")
    return {name: parse_row_filter(called.spark, text) for name, text in arguments.items()}


def _rewrite_data(called: Called) -> Rows:
    maintenance, branch = _of_branch(called)
    arguments = called.arguments("strategy", "sort_order") | _where(called) | branch
    options = called.texts("options")
    result = maintenance.rewrite_data_files(**arguments, options=options, spark=called.spark)
    return [_DATA.row(result)]


def _rewrite_manifests(called: Called) -> Rows:
    arguments = called.arguments("use_caching", "spec_id", "sort_by")
    return [_MANIFESTS.row(_of(called).rewrite_manifests(**arguments))]


def _rewrite_deletes(called: Called) -> Rows:
    maintenance, branch = _of_branch(called)
    arguments = _where(called) | branch
    result = maintenance.rewrite_position_delete_files(
        called.texts("options"), **arguments, spark=called.spark
    )
    return [_DELETES.row(result)]


def _convert(called: Called) -> Rows:
    maintenance, branch = _of_branch(called)
    return [_CONVERTED.row(maintenance.convert_equality_deletes(**branch, spark=called.spark))]


def _table_stats(called: Called) -> Rows:
    arguments = called.arguments("snapshot_id", "columns")
    if arguments.get("columns") == []:
        raise InvalidInputError("compute_table_stats: columns names none; leave it out for all")
    result = _of(called).compute_table_stats(**arguments, spark=called.spark)
    return [] if result.statistics_file is None else [_TABLE_STATS.row(result)]


def _partition_stats(called: Called) -> Rows:
    result = _of(called).compute_partition_stats(**called.arguments("snapshot_id"))
    return [] if result.partition_statistics_file is None else [_PARTITION_STATS.row(result)]


def _table_path(called: Called) -> Rows:
    arguments = called.arguments(
        "source_prefix", "target_prefix", "start_version", "end_version", "staging_location",
        "create_file_list",
    )  # fmt: skip
    return [_PATHS.row(_of(called).rewrite_table_path(**arguments))]


def _plan(called: Called) -> Rows:
    return [_PLANNED.row(item) for item in _of(called).plan()]


MAINTENANCE: dict[str, Procedure] = {
    "expire_snapshots": Procedure(
        {
            "table": TEXT,
            "older_than": MOMENT,
            "retain_last": COUNT,
            "max_concurrent_deletes": COUNT,
            "stream_results": FLAG,
            "snapshot_ids": NUMBERS,
            "clean_expired_metadata": FLAG,
            "delete_outside": FLAG,
        },
        1,
        _EXPIRED.ddl,
        _expire,
    ),
    "remove_orphan_files": Procedure(
        {
            "table": TEXT,
            "older_than": MOMENT,
            "location": TEXT,
            "dry_run": FLAG,
            "max_concurrent_deletes": COUNT,
            "file_list_view": TEXT,
            "equal_schemes": PAIRS,
            "equal_authorities": PAIRS,
            "prefix_mismatch_mode": TEXT,
            "prefix_listing": FLAG,
            "stream_results": FLAG,
        },
        1,
        "orphan_file_location string",
        _orphans,
    ),
    "rewrite_data_files": Procedure(
        {
            "table": TEXT,
            "strategy": TEXT,
            "sort_order": TEXT,
            "options": PAIRS,
            "where": TEXT,
            "branch": TEXT,
        },
        1,
        _DATA.ddl,
        _rewrite_data,
    ),
    "rewrite_manifests": Procedure(
        {"table": TEXT, "use_caching": FLAG, "spec_id": COUNT, "sort_by": TEXTS},
        1,
        _MANIFESTS.ddl,
        _rewrite_manifests,
    ),
    "rewrite_position_delete_files": Procedure(
        {"table": TEXT, "options": PAIRS, "where": TEXT}, 1, _DELETES.ddl, _rewrite_deletes
    ),
    "convert_equality_deletes": Procedure(
        {"table": TEXT, "branch": TEXT}, 1, _CONVERTED.ddl, _convert
    ),
    "compute_table_stats": Procedure(
        {"table": TEXT, "snapshot_id": NUMBER, "columns": TEXTS}, 1, _TABLE_STATS.ddl, _table_stats
    ),
    "compute_partition_stats": Procedure(
        {"table": TEXT, "snapshot_id": NUMBER}, 1, _PARTITION_STATS.ddl, _partition_stats
    ),
    "rewrite_table_path": Procedure(
        {
            "table": TEXT,
            "source_prefix": TEXT,
            "target_prefix": TEXT,
            "start_version": TEXT,
            "end_version": TEXT,
            "staging_location": TEXT,
            "create_file_list": FLAG,
        },
        3,
        _PATHS.ddl,
        _table_path,
    ),
    "maintenance_plan": Procedure({"table": TEXT}, 1, _PLANNED.ddl, _plan),
}
