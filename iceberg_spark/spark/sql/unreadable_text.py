"""The error for SQL that this library cannot read; Spark's parser may tell more about it."""

from iceberg_spark.errors import InvalidInputError


class UnreadableTextError(InvalidInputError):
    """A query or a statement cannot be parsed."""
