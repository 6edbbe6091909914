"""CALL: procedures by name, with Java's parameters and columns (iceberg: SparkProcedures)."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.statements.answers import rows_of
from iceberg_spark.api.statements.maintenance_procedures import MAINTENANCE
from iceberg_spark.api.statements.procedure import Called, Procedure
from iceberg_spark.api.statements.procedure_values import cast_values
from iceberg_spark.api.statements.snapshot_procedures import SNAPSHOTS
from iceberg_spark.api.statements.table_procedures import TABLES
from iceberg_spark.errors import InvalidInputError, NoSuchProcedureError
from iceberg_spark.spark.sql.statements.call import Call
from iceberg_spark.spec.nearest import did_you_mean

PROCEDURES: dict[str, Procedure] = {**SNAPSHOTS, **MAINTENANCE, **TABLES}
_NAMESPACE = "system"


def call(spark: SparkSession, statement: Call) -> DataFrame:
    """Call a procedure of a catalog. Raises InvalidInputError for an unknown one."""
    name = ".".join(statement.procedure)
    if len(statement.procedure) != 3 or statement.procedure[1].lower() != _NAMESPACE:
        raise InvalidInputError(f"CALL {name}: procedures are called catalog.system.name")
    catalog, _, called = statement.procedure
    procedure = PROCEDURES.get(called.lower())
    if procedure is None:
        close = did_you_mean(called, tuple(PROCEDURES))
        raise NoSuchProcedureError(
            f"There is no procedure '{called}'{close}; there are: {', '.join(sorted(PROCEDURES))}"
        )
    texts = procedure.matched(called, statement.positional, statement.named)
    values = cast_values(spark, texts, procedure.parameters)
    procedure.check(called, values)
    rows = procedure.run(Called(spark, catalog, values))
    return rows_of(spark, procedure.columns, rows)
