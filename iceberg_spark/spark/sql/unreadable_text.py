"""The error for SQL that this library cannot parse; Spark's parser may give a better error."""

from iceberg_spark.errors import InvalidInputError


class UnreadableTextError(InvalidInputError):
    """A query or a statement cannot be parsed."""
