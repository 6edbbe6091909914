"""CALL: procedures by name, with Java's parameters and columns (iceberg: SparkProcedures)."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import NoSuchProcedureError
from iceberg_spark.spark.sql.statements.call import Call
from iceberg_spark.spec.nearest import did_you_mean
from iceberg_spark.statements.answers import rows_of
from iceberg_spark.statements.maintenance_procedures import MAINTENANCE
from iceberg_spark.statements.procedure import Called, Procedure
from iceberg_spark.statements.procedure_values import cast_values
from iceberg_spark.statements.snapshot_procedures import SNAPSHOTS
from iceberg_spark.statements.table_procedures import TABLES

PROCEDURES: dict[str, Procedure] = {**SNAPSHOTS, **MAINTENANCE, **TABLES}
PURPOSES: Mapping[str, str] = {
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
"""What each procedure does, in a sentence."""
_NAMESPACE = "system"


def procedure_named(name: str) -> Procedure:
    """Return a procedure, ignoring the case of its name. Raises NoSuchProcedureError."""
    procedure = PROCEDURES.get(name.lower())
    if procedure is None:
        close = did_you_mean(name, tuple(PROCEDURES))
        raise NoSuchProcedureError(
            f"There is no procedure '{name}'{close}; there are: {', '.join(sorted(PROCEDURES))}"
        )
    return procedure


def call(spark: SparkSession, statement: Call) -> DataFrame:
    """Call a procedure of a catalog. Raises NoSuchProcedureError, InvalidInputError."""
    name = ".".join(statement.procedure)
    if len(statement.procedure) != 3 or statement.procedure[1].lower() != _NAMESPACE:
        raise NoSuchProcedureError(f"CALL {name}: procedures are called catalog.system.name")
    catalog, _, called = statement.procedure
    procedure = procedure_named(called)
    texts = procedure.matched(called, statement.positional, statement.named)
    values = cast_values(spark, texts, procedure.parameters)
    procedure.check(called, values)
    rows = procedure.run(Called(spark, catalog, values))
    return rows_of(spark, procedure.columns, rows)
