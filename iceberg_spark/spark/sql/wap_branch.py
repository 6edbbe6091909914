"""The session's branch for tables that enable write-audit-publish."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import WRITE_WAP_ENABLED, bool_property

_BRANCH, _ID = "spark.wap.branch", "spark.wap.id"


def wap_branch(spark: SparkSession, properties: Mapping[str, str]) -> str | None:
    """Return the session's branch for a table with these properties, None for main.

    Raises InvalidInputError if the session also has an id to stage snapshots under (Java:
    SparkTableUtil.wapSessionBranch).
    """
    if not bool_property(properties, WRITE_WAP_ENABLED):
        return None
    branch, staged = spark.conf.get(_BRANCH, None), spark.conf.get(_ID, None)
    if branch is not None and staged is not None:
        raise InvalidInputError(
            f"{_BRANCH} ('{branch}') and {_ID} ('{staged}') are set both: unset one of them"
        )
    return branch


def wap_id(spark: SparkSession, properties: Mapping[str, str]) -> str | None:
    """Return the id under which the session stages snapshots of such a table, None if it does not.

    Java: SparkWriteConf.wapId.
    """
    return spark.conf.get(_ID, None) if bool_property(properties, WRITE_WAP_ENABLED) else None


def branch_to_read(spark: SparkSession, metadata: TableMetadata) -> str | None:
    """Return the session's branch if the table has it already, None for main.

    Java: SparkTableUtil.determineReadBranch. Raises InvalidInputError.
    """
    branch = wap_branch(spark, metadata.properties)
    return branch if branch in metadata.refs else None
