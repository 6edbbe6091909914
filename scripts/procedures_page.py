"""The reference of docs/procedures.md: each procedure with its parameters and columns.

python -m scripts.procedures_page           # print it
python -m scripts.procedures_page --write   # write it into docs/procedures.md
"""

import sys
from pathlib import Path

from iceberg_spark.statements.procedure import Procedure
from iceberg_spark.statements.procedures import PROCEDURES, PURPOSES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "procedures.md"
BEGIN = "<!-- begin: make settings -->"
END = "<!-- end: make settings -->"
MEANINGS = {
    "table": "the table, by its name or location",
    "branch": "the branch (default: `main`)",
    "max_concurrent_deletes": "the number of threads that delete files",
    "stream_results": "accepted without effect",
    "use_caching": "accepted without effect",
    "ignore_missing_files": "accepted without effect",
    "prefix_listing": "accepted without effect",
    "drop_backup": "refused: there is no backup",
    "backup_table_name": "refused: there is no backup",
    "properties": "properties of the new table",
    "options": "options of Java's procedure ([Maintain tables](maintenance.md))",
    "where": "a predicate; files that may match are rewritten",
    "add_files.source_table": "a table of Spark's, or a folder: ``parquet.`/data/visits` ``",
    "add_files.partition_filter": "adds only these partitions: `map('day', '2024-01-01')`",
    "add_files.check_duplicate_files": "refuses files that the table already has (default: true)",
    "add_files.parallelism": "the number of threads that read footers",
    "ancestors_of.snapshot_id": "the snapshot (default: the current one)",
    "cherrypick_snapshot.snapshot_id": "the snapshot whose change is repeated",
    "compute_partition_stats.snapshot_id": "the snapshot (default: the current one)",
    "compute_table_stats.snapshot_id": "the snapshot (default: the current one)",
    "compute_table_stats.columns": "the columns (default: all of primitive types)",
    "create_changelog_view.changelog_view": "the name of the view (default: `TABLE_changes`)",
    "create_changelog_view.options": "`start-snapshot-id`, `end-snapshot-id`, `start-timestamp`, "
    "`end-timestamp`",
    "create_changelog_view.compute_updates": "shows updates as pairs of rows",
    "create_changelog_view.identifier_columns": "the columns that identify a row",
    "create_changelog_view.net_changes": "leaves out what cancels out",
    "expire_snapshots.older_than": "expires snapshots before this time (default: 5 days ago)",
    "expire_snapshots.retain_last": "snapshots that are kept in any case (default: 1)",
    "expire_snapshots.snapshot_ids": "more snapshots to expire",
    "expire_snapshots.clean_expired_metadata": "removes specs and schemas that nothing needs",
    "expire_snapshots.delete_outside": "also deletes files outside of the table's location",
    "fast_forward.branch": "the branch to move; it is created if it is missing",
    "fast_forward.to": "the branch whose head it gets",
    "migrate.table": "the folder",
    "migrate.parallelism": "accepted without effect",
    "publish_changes.wap_id": "the id that was set as `spark.wap.id`",
    "register_table.metadata_file": "the location of the newest metadata file",
    "remove_orphan_files.older_than": "only files before this time (default: 3 days ago)",
    "remove_orphan_files.location": "the folder (default: the table's location)",
    "remove_orphan_files.dry_run": "lists the files, and deletes nothing (default: false)",
    "remove_orphan_files.file_list_view": "a view with the files, in place of a listing",
    "remove_orphan_files.equal_schemes": "schemes that are equal: `map('s3a', 's3')`",
    "remove_orphan_files.equal_authorities": "hosts or buckets that are equal",
    "remove_orphan_files.prefix_mismatch_mode": "what to do with files that the metadata names "
    "under another scheme or host: `ERROR` (default), `IGNORE` or `DELETE`",
    "rewrite_data_files.strategy": "`binpack` (default) or `sort`",
    "rewrite_data_files.sort_order": "`a DESC NULLS LAST, b` or `zorder(a, b)` "
    "(default: the table's order)",
    "rewrite_manifests.spec_id": "the partition spec (default: the current one)",
    "rewrite_manifests.sort_by": "partition fields to sort by, in this order",
    "rewrite_position_delete_files.where": "a predicate that chooses partitions",
    "rewrite_table_path.source_prefix": "the beginning of the paths to replace",
    "rewrite_table_path.target_prefix": "what replaces it",
    "rewrite_table_path.start_version": "a metadata file: only what came after it",
    "rewrite_table_path.end_version": "the last metadata file (default: the current one)",
    "rewrite_table_path.staging_location": "where the rewritten files go",
    "rewrite_table_path.create_file_list": "writes a list of the files to copy (default: true)",
    "rollback_to_snapshot.snapshot_id": "an ancestor of the current snapshot",
    "rollback_to_timestamp.timestamp": "the time",
    "set_current_snapshot.snapshot_id": "the snapshot",
    "set_current_snapshot.ref": "or the branch or tag that has it",
    "snapshot.source_table": "a table of Spark's, or a folder: ``parquet.`/data/visits` ``",
    "snapshot.table": "the new table",
    "snapshot.location": "where its own files go (default: the catalog's choice)",
    "snapshot.parallelism": "accepted without effect",
    "upsert.source_view": "a view of the changes, optionally with a column `_op`",
    "upsert.keys": "the columns of the key (default: the identifier fields)",
    "upsert.order_by": "columns that decide which row of a key is the last",
    "upsert.global_delete": "deletes in all partitions (default: false)",
}
"""What a parameter means, for all procedures or for one (`procedure.parameter`)."""
_ONLY_HERE = {"convert_equality_deletes", "maintenance_plan", "upsert"}


def report() -> str:
    """Return a section for each procedure, in alphabetical order."""
    return "\n".join(_section(name, PROCEDURES[name]) for name in sorted(PROCEDURES))


def insert_report(page: str) -> str:
    """Return the page with a new reference between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{report()}\n{END}{after}"


def _section(name: str, procedure: Procedure) -> str:
    lines = [f"## {name}", "", PURPOSES[name], ""]
    if name in _ONLY_HERE:
        lines += ["Java's runtime does not have it.", ""]
    lines += ["| parameter | type | meaning |", "|---|---|---|"]
    for position, (parameter, kind) in enumerate(procedure.parameters.items()):
        needed = "; required" if position < procedure.required else ""
        meaning = MEANINGS.get(f"{name}.{parameter}") or MEANINGS[parameter]
        lines.append(f"| `{parameter}` | `{kind.simpleString()}` | {meaning}{needed} |")
    columns = ", ".join(f"`{column.split()[0]}`" for column in procedure.columns.split(", "))
    return "\n".join([*lines, "", f"Returns {columns}.", ""])


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(insert_report(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(report())
