"""What this library needs of Spark's internal classes, and whether a session has it."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from iceberg_spark.spark.session.compiled_java import compiled_object

_SOURCES: Mapping[str, str] = {
    "columns of files without a join": "PlannedRelations",
    "filters by keys": "KeyFilters",
    "file pruning in the optimizer": "FilePruning",
    "tables resolved by Spark": "IcebergCatalog",
}
"""Each capability, and the Java source next to this module that it needs.

The imports of a source are the classes of Spark that it needs: it compiles only if they are there.
"""


def capabilities(session: SparkSession) -> dict[str, bool]:
    """Return what a session can do by Spark's internals; over Connect it can do none of it.

    Each source is compiled once for a JVM. Without a capability, queries return the same rows by
    public means.
    """
    return {
        name: compiled_object(session, source, __package__) is not None
        for name, source in _SOURCES.items()
    }
