"""The internal classes of Spark that this library needs, and whether a session has them."""

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
    """Return which features a session has through Spark's internals; over Connect it has none.

    Each source is compiled once for a JVM. Without a feature, queries return the same rows through
    public APIs.
    """
    return {
        name: compiled_object(session, source, __package__) is not None
        for name, source in _SOURCES.items()
    }
