"""The state of PySpark's readers and writers, which the classic ones keep in the JVM only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidOptionError

FORMAT_NAME = "pyiceberg-lite"


@dataclass(slots=True)
class BuilderState:
    """Format, options, mode and so on, collected from the builder's calls."""

    source: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    mode: str | None = None
    partition_by: tuple[str, ...] = ()
    buckets: tuple[int, tuple[str, ...]] | None = None
    """Number and columns of `bucketBy`."""
    clustering: str | None = None
    """The method that set one of Spark's own layouts: `sortBy` or `clusterBy`."""
    other: bool = False  # an option or method that only PySpark's own reader or writer supports

    def is_ours(self, session: SparkSession) -> bool:
        """Return whether the builder uses this library's format, and only options that it supports.

        The format `iceberg` is this library's too, unless Iceberg's Java runtime is present.
        """
        if self.other:
            return False
        source = str(self.source or session.conf.get("spark.sql.sources.default", "")).lower()
        return source == FORMAT_NAME or (source == JAVA_FORMAT and not has_java_source(session))

    def add(self, options: Mapping[str, object]) -> None:
        """Add options as Spark does: booleans in lower case; None is not an option."""
        for key, value in options.items():
            if value is not None:
                text = str(value)
                self.options[key] = text.lower() if isinstance(value, bool) else text

    def with_branch(self, branch: str) -> dict[str, str]:
        """Return the options with the branch of a table's name.

        Raises:
            InvalidOptionError: the option `branch` names another branch (Java:
                SparkTableUtil.determineWriteBranch).
        """
        others = {key: text for key, text in self.options.items() if key.lower() != "branch"}
        branches = [text for key, text in self.options.items() if key not in others]
        if any(text != branch for text in branches):
            raise InvalidOptionError(
                f"The table's name has branch '{branch}', the option 'branch' is '{branches[0]}': "
                "use only one of them"
            )
        return {**others, "branch": branch}

    def location(self, path: object) -> str | None:
        """Return the table from the argument or the option `path`; None if it is not one text."""
        if path is not None:
            return path if isinstance(path, str) and "path" not in self.options else None
        return self.options.get("path")


JAVA_FORMAT = "iceberg"
_MISSING = "DATA_SOURCE_NOT_FOUND"


def has_java_source(session: SparkSession) -> bool:
    """Return whether Spark finds a data source called `iceberg`, classic or over Connect.

    Spark resolves the format of a load first. Java's source refuses a schema before it opens a
    table.
    """
    try:
        _ = session.read.format(JAVA_FORMAT).schema("a int").load().schema
    except Exception as error:  # noqa: BLE001 - Java's errors have many classes
        return _MISSING not in str(error)
    return True
