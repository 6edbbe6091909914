"""Where the rows of a statement land: on a branch, or staged, as name and session say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from iceberg_spark.api.statements.target import Name, target
from iceberg_spark.api.table import Table
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.sql.wap_branch import WAP_BRANCH, wap_branch
from iceberg_spark.spec.properties import WRITE_WAP_ENABLED, bool_property
from iceberg_spark.spec.summary import STAGED_WAP_ID

_ID = "spark.wap.id"


@dataclass(frozen=True, slots=True)
class Landing:
    """A table that a statement changes; None is main. `properties` go into the snapshot.

    `case_sensitive` is whether the session tells names of columns apart by case.
    """

    table: Table
    case_sensitive: bool
    branch: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


def landing(spark: SparkSession, name: Name) -> Landing:
    """Return where a statement's rows go.

    A branch is the name's (`cat.db.t.branch_x`), or, where the table has `write.wap.enabled`, the
    session's `spark.wap.branch`, made where there is none; with `spark.wap.id` the snapshot is
    staged (Java: SparkWriteConf.branch, wapId). Raises NoSuchTableError, InvalidInputError.
    """
    place = target(spark, name)
    table, case = place.table(), is_case_sensitive(spark)
    if place.branch is not None or not bool_property(table.properties, WRITE_WAP_ENABLED):
        return Landing(table, case, place.branch)
    branch, staged = wap_branch(spark, table.properties), spark.conf.get(_ID, None)
    if branch is not None and staged is not None:
        raise InvalidInputError(f"{WAP_BRANCH} and {_ID} are set both: a write goes one way")
    if staged is not None:
        return Landing(table, case, None, {STAGED_WAP_ID: staged})
    head = table.current_snapshot()
    if branch is not None and branch not in table.refs():
        made = table.manage_snapshots()
        made.create_branch(None if head is None else head.snapshot_id, branch).commit()
    return Landing(table, case, branch)
