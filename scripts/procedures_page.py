"""The reference of docs/procedures.md: each procedure with its parameters and columns.

python -m scripts.procedures_page           # print it
python -m scripts.procedures_page --write   # write it into docs/procedures.md
"""

import sys
from pathlib import Path

from iceberg_spark.api.statements.procedure import Procedure
from iceberg_spark.api.statements.procedures import PROCEDURES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "procedures.md"
BEGIN = "<!-- begin: make settings -->"
END = "<!-- end: make settings -->"
PURPOSE = {
    "rollback_to_snapshot": "Make an ancestor of the current snapshot the current one again.",
    "rollback_to_timestamp": "Make the snapshot current that was current at a time.",
    "set_current_snapshot": "Make any snapshot current, by its id or by a branch or tag.",
    "cherrypick_snapshot": "Commit the changes of a staged snapshot on top of the current one.",
    "publish_changes": "Commit the snapshot that was staged with this `wap.id`.",
    "fast_forward": "Move a branch to the head of another one that descends from it.",
    "ancestors_of": "List the ancestors of a snapshot, by default of the current one.",
    "expire_snapshots": "Remove old snapshots, and the files that only they need.",
    "remove_orphan_files": "List, and unless `dry_run` delete, files that no snapshot names.",
    "rewrite_data_files": "Compact data files: `binpack`, or `sort` by columns or a z-order.",
    "rewrite_manifests": "Rewrite manifests, by default clustered by partition.",
    "rewrite_position_delete_files": "Merge position delete files and drop dangling deletes.",
    "convert_equality_deletes": "Replace equality deletes by position deletes or vectors.",
    "compute_table_stats": "Count the distinct values of columns, for the planners of engines.",
    "compute_partition_stats": "Write the statistics of all partitions.",
    "rewrite_table_path": "Copy the metadata with another prefix, to move a table.",
    "maintenance_plan": "List the maintenance that the table needs, and why.",
    "register_table": "Add a table to the catalog by its newest metadata file.",
    "add_files": "Add Parquet, ORC or Avro files without rewriting them.",
    "snapshot": "Create a table from another table or folder, and share its files.",
    "migrate": "Turn a folder of files into a table in place.",
    "upsert": "Replace and delete rows by key, from a view of changes.",
    "create_changelog_view": "Create a view of the changes between two snapshots.",
}
"""What each procedure is for, in a sentence."""
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
    lines = [f"## {name}", "", PURPOSE[name], ""]
    if name in _ONLY_HERE:
        lines += ["Java's runtime does not have it.", ""]
    lines += ["| parameter | type | |", "|---|---|---|"]
    for position, (parameter, kind) in enumerate(procedure.parameters.items()):
        needed = "required" if position < procedure.required else ""
        lines.append(f"| `{parameter}` | `{kind.simpleString()}` | {needed} |")
    columns = ", ".join(f"`{column.split()[0]}`" for column in procedure.columns.split(", "))
    return "\n".join([*lines, "", f"Returns {columns}.", ""])


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(insert_report(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(report())
