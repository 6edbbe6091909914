"""What a user asked of PySpark's reader or writer: the classic ones keep it in the JVM only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spark.session.java_source import JAVA_FORMAT, has_java_source

FORMAT_NAME = "pyiceberg-lite"


@dataclass(slots=True)
class Asked:
    """Format, options and the like, as the builder's calls come in."""

    source: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    mode: str | None = None
    partition_by: tuple[str, ...] = ()
    buckets: tuple[int, tuple[str, ...]] | None = None
    """Number and columns of `bucketBy`."""
    clustering: str | None = None
    """The method that asked for an order or clustering of Spark's: `sortBy` or `clusterBy`."""
    other: bool = False  # something that only PySpark's own reader or writer understands

    def is_ours(self, session: SparkSession) -> bool:
        """Return whether this library's format, and nothing that it can't take, was asked for.

        The format `iceberg` is this library's, too, where Java's runtime is not there.
        """
        if self.other:
            return False
        source = str(self.source or session.conf.get("spark.sql.sources.default", "")).lower()
        return source == FORMAT_NAME or (source == JAVA_FORMAT and not has_java_source(session))

    def add(self, options: Mapping[str, object]) -> None:
        """Take options as Spark does: booleans in lower case, None means not given."""
        for key, value in options.items():
            if value is not None:
                text = str(value)
                self.options[key] = text.lower() if isinstance(value, bool) else text

    def with_branch(self, branch: str) -> dict[str, str]:
        """Return the options with a branch that a table's name says.

        Raises InvalidOptionError for an option that says another one (Java:
        SparkTableUtil.determineWriteBranch).
        """
        others = {key: text for key, text in self.options.items() if key.lower() != "branch"}
        branches = [text for key, text in self.options.items() if key not in others]
        if any(text != branch for text in branches):
            raise InvalidOptionError(
                f"The name says branch '{branch}', and the option 'branch' says '{branches[0]}': "
                "leave one of them out"
            )
        return {**others, "branch": branch}

    def place(self, path: object) -> str | None:
        """Return the table, from the argument or option `path`; None where it isn't one text."""
        if path is not None:
            return path if isinstance(path, str) and "path" not in self.options else None
        return self.options.get("path")
