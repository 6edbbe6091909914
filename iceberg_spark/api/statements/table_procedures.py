"""Procedures that bring tables and files into a catalog, and a view of changes."""

from __future__ import annotations

from iceberg_spark.api.statements.procedure import Called, Procedure, Rows
from iceberg_spark.api.statements.target import catalog_named
from iceberg_spark.errors import InvalidInputError, UnsupportedError

_START, _END = "start-snapshot-id", "end-snapshot-id"
_START_MS, _END_MS = "start-timestamp", "end-timestamp"


def _register(called: Called) -> Rows:
    place = called.place()
    catalog = catalog_named(called.spark, called.catalog)
    table = catalog.register_table(place.identifier, called.values["metadata_file"])
    head = table.current_snapshot()
    if head is None:
        return [(None, None, None)]
    counts = (head.summary.get(name) for name in ("total-records", "total-data-files"))
    return [(head.snapshot_id, *(None if one is None else int(one) for one in counts))]


def _add_files(called: Called) -> Rows:
    source = called.values["source_table"]
    kind, _, path = source.partition(".")
    path = path.strip("`")
    if kind.lower() != "parquet" or "/" not in path:
        raise UnsupportedError(
            f"add_files from {source}: name a folder or file of Parquet, like `parquet`.`/data/f`"
        )
    if called.values.get("partition_filter"):
        raise UnsupportedError("add_files: name the folder of the partitions instead of a filter")
    table = called.table()
    check = called.values.get("check_duplicate_files", True)
    table.add_files(path, check_duplicate_files=bool(check))
    head = table.current_snapshot()
    summary = {} if head is None else head.summary
    names = ("added-data-files", "changed-partition-count")
    return [tuple(int(summary.get(name, 0)) for name in names)]


def _changelog_view(called: Called) -> Rows:
    options = called.texts("options")
    unknown = options.keys() - {_START, _END, _START_MS, _END_MS}
    if unknown:
        raise InvalidInputError(f"create_changelog_view has no option '{min(unknown)}'")
    table = called.table()
    start, end = (_snapshot(called, options, *names) for names in _BOUNDS)
    name = called.values.get("changelog_view") or f"{table.identifier.split('.')[-1]}_changes"
    changes = table.scan().changes(
        start,
        end,
        net_changes=bool(called.values.get("net_changes") or False),
        compute_updates=called.values.get("compute_updates"),
        identifier_columns=tuple(called.values.get("identifier_columns") or ()),
    )
    changes.to_df(called.spark).createOrReplaceTempView(name)
    return [(name,)]


_BOUNDS = ((_START, _START_MS), (_END, _END_MS))


def _snapshot(called: Called, options: dict[str, str], by_id: str, by_ms: str) -> int | None:
    """Return the snapshot that an option names, by its id or as the last one up to a moment."""
    if by_id in options:
        return int(options[by_id])
    if by_ms not in options:
        return None
    found = [
        one.snapshot_id
        for one in called.table().history()
        if one.timestamp_ms <= int(options[by_ms])
    ]
    return found[-1] if found else None


TABLES: dict[str, Procedure] = {
    "register_table": Procedure(
        ("table", "metadata_file"),
        2,
        "current_snapshot_id bigint, total_records_count bigint, total_data_files_count bigint",
        _register,
    ),
    "add_files": Procedure(
        ("table", "source_table", "partition_filter", "check_duplicate_files", "parallelism"),
        2,
        "added_files_count bigint, changed_partition_count bigint",
        _add_files,
    ),
    "create_changelog_view": Procedure(
        (
            "table", "changelog_view", "options", "compute_updates", "identifier_columns",
            "net_changes",
        ),
        1,
        "changelog_view string",
        _changelog_view,
    ),
}  # fmt: skip
