"""Procedures that bring tables, files and changes into a catalog, and a view of changes."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from iceberg_spark.api.import_table import migrate, snapshot
from iceberg_spark.api.table import Table
from iceberg_spark.engines.on_spark import source_table
from iceberg_spark.errors import InvalidInputError, InvalidOptionError, UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.scan.incremental import CHANGE_BOUNDS, change_bounds
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.sql.query import plan_query
from iceberg_spark.spark.sql.references_iceberg import references_iceberg
from iceberg_spark.spec.data_file import ROW_FORMAT_NAMES
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.statements.procedure import Called, Procedure, Rows
from iceberg_spark.statements.procedure_values import COUNT, FLAG, PAIRS, TEXT, TEXTS
from iceberg_spark.statements.target import Target, catalog_named
from iceberg_spark.statements.write_target import load_write_target
from iceberg_spark.write.import_folder import ImportOptions, check_same_files


def create_changelog_view(called: Called) -> Rows:
    """Create the view, and return its name, quoted for SQL.

    Raises InvalidOptionError, NoSuchSnapshotError if the requested changes have expired.
    """
    target = called.target()
    table = target.whole_table()
    metadata = table.metadata
    bounds = _numbers(called.texts("options"))
    start, end = change_bounds(metadata, metadata.current_snapshot_id, bounds)
    changes = table.scan(case_sensitive=is_case_sensitive(called.spark)).changes(
        start,
        end,
        net_changes=bool(called.values.get("net_changes") or False),
        compute_updates=called.values.get("compute_updates"),
        identifier_columns=tuple(called.values.get("identifier_columns") or ()),
    )
    name = called.values.get("changelog_view")
    if name is None:
        name = quote(f"{_last_part(target)}_changes")
    changes.to_df(called.spark).createOrReplaceTempView(name)
    return [(name,)]


def _last_part(target: Target) -> str:
    path = target.path.rstrip("/")
    return path.rpartition("/" if "/" in path else ".")[2]


def _numbers(options: Mapping[str, str]) -> dict[str, int]:
    """Return the options' numbers by lower-case names: case does not count, as in Java."""
    numbers = {}
    for name, text in options.items():
        if name.lower() not in CHANGE_BOUNDS:
            raise InvalidOptionError(f"create_changelog_view has no option '{name}'")
        try:
            numbers[name.lower()] = int(text)
        except ValueError:
            raise InvalidOptionError(f"'{name}' must be a whole number, not '{text}'") from None
    return numbers


_UPSERTED = ("added_records", "added_equality_deletes", "added_position_deletes")


def _register(called: Called) -> Rows:
    target = called.target()
    if location.is_absolute(target.identifier):
        raise InvalidInputError(f"register_table: {target.path} is no name in {called.catalog}")
    catalog = catalog_named(called.spark, called.catalog)
    table = catalog.register_table(target.identifier, called.values["metadata_file"])
    head = table.current_snapshot()
    if head is None:
        return [(None, None, None)]
    counts = (head.summary.get(name) for name in ("total-records", "total-data-files"))
    return [(head.snapshot_id, *(None if count is None else int(count) for count in counts))]


def _add_files(called: Called) -> Rows:
    arguments = called.arguments("check_duplicate_files", "parallelism")
    if called.arguments("partition_filter"):
        arguments["partition_filter"] = called.texts("partition_filter")
    table, source = called.table(), _source(called)
    if "/" not in source:
        only = arguments.get("partition_filter") or {}
        named, options = source_table(source, called.spark, only), ImportOptions(only)
        check_same_files(table.io, named.folder, named.files, named.name, options)
        source = named.folder
    table.add_files(source, **arguments)
    head = table.current_snapshot()
    summary = {} if head is None else head.summary
    names = ("added-data-files", "changed-partition-count")
    return [tuple(int(summary.get(name, 0)) for name in names)]


def _source(called: Called) -> str:
    """Return the folder in `source_table`, such as `orc`.`/a/folder`, or a table's name.

    The format of each file is read from the file itself.
    """
    source = str(called.values["source_table"])
    kind, _, path = source.partition(".")
    if kind.strip("`").lower() in ROW_FORMAT_NAMES and "/" in path:
        return path.strip("`")
    return source


def _imported(table: Table) -> Rows:
    head = table.current_snapshot()
    return [(0 if head is None else int(head.summary.get("total-data-files", 0)),)]


def _snapshot(called: Called) -> Rows:
    called.check_threads()
    table = snapshot(
        _source(called),
        called.target().path,
        properties=called.texts("properties"),
        spark=called.spark,
        **called.arguments("location"),
    )
    return _imported(table)


def _migrate(called: Called) -> Rows:
    of_backups = called.arguments("drop_backup", "backup_table_name")
    if of_backups:
        raise UnsupportedError(
            "migrate: a folder is migrated where it is and no backup is made; leave "
            f"{', '.join(of_backups)} out"
        )
    called.check_threads()
    return _imported(
        migrate(
            str(called.values["table"]), properties=called.texts("properties"), spark=called.spark
        )
    )


def _upsert(called: Called) -> Rows:
    """Upsert as a statement does: to the branch of the name or of the session, or staged."""
    destination = load_write_target(called.spark, called.target())
    source = f"TABLE {called.values['source_view']}"
    is_iceberg = references_iceberg(called.spark, source)
    changes = plan_query(called.spark, source).frame(called.spark) if is_iceberg else _view(called)
    with destination.verbs() as verbs:
        result = verbs.upsert(
            changes,
            tuple(called.values.get("keys") or ()),
            branch=destination.branch,
            snapshot_properties=destination.properties,
            case_sensitive=destination.case_sensitive,
            **called.arguments("order_by", "global_delete"),
        )
    return [tuple(getattr(result, name) for name in _UPSERTED)]


def _view(called: Called) -> DataFrame:
    return called.spark.table(str(called.values["source_view"]))


TABLES: dict[str, Procedure] = {
    "register_table": Procedure(
        {"table": TEXT, "metadata_file": TEXT},
        2,
        "current_snapshot_id bigint, total_records_count bigint, total_data_files_count bigint",
        _register,
    ),
    "add_files": Procedure(
        {
            "table": TEXT,
            "source_table": TEXT,
            "partition_filter": PAIRS,
            "check_duplicate_files": FLAG,
            "parallelism": COUNT,
        },
        2,
        "added_files_count bigint, changed_partition_count bigint",
        _add_files,
    ),
    "snapshot": Procedure(
        {
            "source_table": TEXT,
            "table": TEXT,
            "location": TEXT,
            "properties": PAIRS,
            "parallelism": COUNT,
            "ignore_missing_files": FLAG,
        },
        2,
        "imported_files_count bigint",
        _snapshot,
    ),
    "migrate": Procedure(
        {
            "table": TEXT,
            "properties": PAIRS,
            "drop_backup": FLAG,
            "backup_table_name": TEXT,
            "parallelism": COUNT,
            "ignore_missing_files": FLAG,
        },
        1,
        "migrated_files_count bigint",
        _migrate,
    ),
    "upsert": Procedure(
        {
            "table": TEXT,
            "source_view": TEXT,
            "keys": TEXTS,
            "order_by": TEXTS,
            "global_delete": FLAG,
        },
        2,
        ", ".join(f"{name} bigint" for name in _UPSERTED),
        _upsert,
    ),
    "create_changelog_view": Procedure(
        {
            "table": TEXT,
            "changelog_view": TEXT,
            "options": PAIRS,
            "compute_updates": FLAG,
            "identifier_columns": TEXTS,
            "net_changes": FLAG,
        },
        1,
        "changelog_view string",
        create_changelog_view,
    ),
}
