"""Shared parts of position and equality delete files."""

from __future__ import annotations

from itertools import count

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.write.context import WriteContext

DELETES = "-deletes"
"""How the names of delete files end, before the extension (Java: OutputFileFactory's suffix)."""

numbers = count(1)
"""File numbers of this process: a task writes deletes of both kinds for many partitions."""


def check_takes_position_deletes(context: WriteContext) -> None:
    """Raise UnsupportedError for a format version to which no position delete file may be added."""
    check_takes_deletes(context)
    if rules_of(context.format_version).has_deletion_vectors:
        raise UnsupportedError(
            f"Table {context.table_location} has format version {context.format_version}, which "
            "takes deletion vectors and no new position delete files"
        )


def check_takes_deletes(context: WriteContext) -> None:
    """Raise UnsupportedError for a format version without delete files."""
    if not rules_of(context.format_version).has_delete_files:
        raise UnsupportedError(
            f"Table {context.table_location} has format version {context.format_version}, which "
            "has no delete files; upgrade it by setting format-version to 2"
        )
