"""When a change was planned, and which later commits it conflicts with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from iceberg_spark.commits.conflicts import MayMatch
from iceberg_spark.commits.removed_entries import Mask, row_matches
from iceberg_spark.errors import InvalidExpressionError, ValidationException
from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.logic import field_ids
from iceberg_spark.expr.nodes import Bound, Unbound
from iceberg_spark.expr.to_text import to_text
from iceberg_spark.spec.manifest_file import ManifestFile
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema


@dataclass(frozen=True, slots=True)
class Planned:
    """What a change read: the branch's head `snapshot_id` (None: an empty table), filtered.

    `refuse_new_data` is for isolation level serializable: rows that another commit added since and
    that `row_filter` may match (any rows without a filter) are a conflict. `refuse_new_deletes` is
    for both levels: deletes and removals of such rows are a conflict. `schema` is the schema that
    the names in the filter refer to.
    """

    snapshot_id: int | None
    row_filter: Unbound | None = None
    refuse_new_data: bool = True
    refuse_new_deletes: bool = True
    case_sensitive: bool = True
    time_zone: str | None = None
    schema: Schema | None = None


def bound_filter(base: TableMetadata, planned: Planned) -> Bound | None:
    """Return the filter of the rows that the change read, bound to a base."""
    if planned.row_filter is None:
        return None
    return bind_again(
        base,
        planned.row_filter,
        planned.schema,
        case_sensitive=planned.case_sensitive,
        time_zone=planned.time_zone,
    )


def bind_again(
    base: TableMetadata,
    unbound: Unbound,
    schema: Schema | None,
    *,
    case_sensitive: bool = True,
    time_zone: str | None = None,
) -> Bound:
    """Bind a filter to a base that may be newer than the schema of its names.

    Raises:
        ValidationException: a name refers to another column in the base, or to none.
    """

    def bound(to: Schema) -> Bound:
        return bind(to, unbound, case_sensitive=case_sensitive, time_zone=time_zone)

    if schema is None or schema == base.schema:
        return bound(base.schema)
    try:
        now = bound(base.schema)
        same = set(field_ids(now)) == set(field_ids(bound(schema)))
    except InvalidExpressionError:
        same = False
    if not same:
        raise ValidationException(
            f"Conflict: another commit changed the columns of {base.location} that "
            f"{to_text(unbound)} is about; look at the schema and run it again"
        )
    return now


def may_match_filter(base: TableMetadata, bound: Bound | None) -> MayMatch:
    """Return the mask of entries that may hold rows of a predicate; all entries without one."""

    def every(_manifest: ManifestFile, entries: pa.Table) -> Mask:
        return np.ones(entries.num_rows, np.bool_)

    def matching(manifest: ManifestFile, entries: pa.Table) -> Mask:
        return (
            row_matches(base, manifest, entries, bound)[0]
            if bound is not None
            else every(manifest, entries)
        )

    return every if bound is None else matching
