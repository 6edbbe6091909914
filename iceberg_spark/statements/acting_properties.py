"""Table properties that are none: what Java's catalog for Spark does, or refuses, by them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iceberg_spark.api.transaction import TableTransaction
from iceberg_spark.errors import InvalidInputError

_INSTEAD = {
    "owner": "it is the user who makes the table",
    "sort-order": "use ALTER TABLE ... WRITE ORDERED BY",
    "identifier-fields": "use ALTER TABLE ... SET IDENTIFIER FIELDS",
    "format": "the format of data files is the property write.format.default",
}
_CURRENT, _PICKED = "current-snapshot-id", "cherry-pick-snapshot-id"


def check_new_properties(keys: Iterable[str]) -> None:
    """Refuse properties that a new table cannot store. Raises InvalidInputError."""
    for key in keys:
        if key in _INSTEAD:
            raise InvalidInputError(f"'{key}' is no property that a table keeps: {_INSTEAD[key]}")
        if key in (_CURRENT, _PICKED):
            raise InvalidInputError(f"'{key}' is no property: a new table has no snapshots yet")


def apply_properties(tx: TableTransaction, properties: Mapping[str, str]) -> None:
    """Set properties; those that name a snapshot set main to it or cherry-pick it (Spark3Util).

    Raises InvalidInputError for a key that is not a property, and NoSuchSnapshotError.
    """
    remaining = dict(properties)
    current, picked = remaining.pop(_CURRENT, None), remaining.pop(_PICKED, None)
    check_new_properties(remaining)
    if current is not None and picked is not None:
        raise InvalidInputError(f"Say '{_CURRENT}' or '{_PICKED}': which comes first is not said")
    if current is not None:
        tx.manage_snapshots().set_current_snapshot(_id(_CURRENT, current)).commit()
    if picked is not None:
        tx.manage_snapshots().cherrypick(_id(_PICKED, picked)).commit()
    if remaining:
        tx.set_properties(remaining)


def _id(key: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as cause:
        raise InvalidInputError(f"'{key}' takes the id of a snapshot, not '{text}'") from cause
