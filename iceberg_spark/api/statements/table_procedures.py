"""Procedures that bring tables and files into a catalog, and a view of changes."""

from __future__ import annotations

from iceberg_spark.api.import_table import migrate, snapshot
from iceberg_spark.api.statements.procedure import Called, Procedure, Rows
from iceberg_spark.api.statements.target import catalog_named
from iceberg_spark.api.table import Table
from iceberg_spark.engines.on_spark import source_folder
from iceberg_spark.errors import InvalidInputError, UnsupportedError

_UPSERTED = ("added_records", "added_equality_deletes", "added_position_deletes")
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
    given = called.given("check_duplicate_files", "parallelism")
    if called.given("partition_filter"):
        given["partition_filter"] = called.texts("partition_filter")
    table = called.table()
    table.add_files(_source(called), **given)
    head = table.current_snapshot()
    summary = {} if head is None else head.summary
    names = ("added-data-files", "changed-partition-count")
    return [tuple(int(summary.get(name, 0)) for name in names)]


def _source(called: Called) -> str:
    """Return the folder of `source_table`: of `parquet`.`/a/folder`, or of a table of Spark's."""
    source = str(called.values["source_table"])
    kind, _, path = source.partition(".")
    if kind.strip("`").lower() == "parquet" and "/" in path:
        return path.strip("`")
    return source if "/" in source else source_folder(source, called.spark)


def _imported(table: Table) -> Rows:
    head = table.current_snapshot()
    return [(0 if head is None else int(head.summary.get("total-data-files", 0)),)]


def _snapshot(called: Called) -> Rows:
    if called.given("location"):
        raise UnsupportedError(
            "snapshot: the catalog says where the table goes; leave location out"
        )
    target = f"{called.catalog}.{called.place().identifier}"
    properties = called.texts("properties")
    return _imported(snapshot(_source(called), target, properties=properties, spark=called.spark))


def _migrate(called: Called) -> Rows:
    return _imported(
        migrate(
            str(called.values["table"]), properties=called.texts("properties"), spark=called.spark
        )
    )


def _upsert(called: Called) -> Rows:
    changes = called.spark.table(str(called.values["source_view"]))
    given = called.given("order_by", "global_delete")
    result = called.table().upsert(changes, tuple(called.values.get("keys") or ()), **given)
    return [tuple(getattr(result, name) for name in _UPSERTED)]


def _changelog_view(called: Called) -> Rows:
    options = called.texts("options")
    unknown = options.keys() - {_START, _END, _START_MS, _END_MS}
    if unknown:
        raise InvalidInputError(f"create_changelog_view has no option '{min(unknown)}'")
    table = called.table()
    start, end = (_bound(called, options, *names) for names in _BOUNDS)
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


def _bound(called: Called, options: dict[str, str], by_id: str, by_ms: str) -> int | None:
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
    "snapshot": Procedure(
        ("source_table", "table", "location", "properties", "parallelism"),
        2,
        "imported_files_count bigint",
        _snapshot,
    ),
    "migrate": Procedure(
        ("table", "properties", "drop_backup", "backup_table_name", "parallelism"),
        1,
        "migrated_files_count bigint",
        _migrate,
    ),
    "upsert": Procedure(
        ("table", "source_view", "keys", "order_by", "global_delete"),
        2,
        ", ".join(f"{name} bigint" for name in _UPSERTED),
        _upsert,
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
