"""Branches and tags in ALTER TABLE: create, replace, drop, with their retention."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_spark.spark.sql.statements.cursor import Cursor

_MS = {"DAYS": 86_400_000, "HOURS": 3_600_000, "MINUTES": 60_000}
_KINDS = ("BRANCH", "TAG")


@dataclass(frozen=True, slots=True)
class RefChange:
    """A branch or tag to create, to replace (`replaces`), to create or replace, or to drop.

    Ages are in ms. `snapshot_id` None is the newest snapshot (or the ref's own, if it stays).
    """

    kind: str
    name: str
    creates: bool = False
    replaces: bool = False
    drops: bool = False
    if_exists: bool = False
    if_not_exists: bool = False
    snapshot_id: int | None = None
    max_ref_age_ms: int | None = None
    min_snapshots_to_keep: int | None = None
    max_snapshot_age_ms: int | None = None


def sees_ref(cursor: Cursor) -> bool:
    """Return whether a change of a branch or tag comes next."""
    starts = (("CREATE", "OR", "REPLACE"), ("CREATE",), ("REPLACE",), ("DROP",))
    return any(cursor.sees(*words, kind) for words in starts for kind in _KINDS)


def read_ref_change(cursor: Cursor) -> RefChange:
    """Read a clause that begins with CREATE, REPLACE or DROP (Java: IcebergSqlExtensions.g4).

    Raises InvalidInputError.
    """
    if cursor.takes("DROP"):
        kind = _kind(cursor)
        if_exists = cursor.takes("IF", "EXISTS")
        return RefChange(kind, cursor.identifier(), drops=True, if_exists=if_exists)
    creates = cursor.takes("CREATE")
    replaces = cursor.takes("OR", "REPLACE") if creates else cursor.takes("REPLACE")
    kind = _kind(cursor)
    if_not_exists = cursor.takes("IF", "NOT", "EXISTS")
    name = cursor.identifier()
    snapshot_id = cursor.integer() if cursor.takes("AS", "OF", "VERSION") else None
    age = _age(cursor) if cursor.takes("RETAIN") else None
    count, snapshot_age = None, None
    if kind == "branch" and cursor.takes("WITH", "SNAPSHOT", "RETENTION"):
        count, snapshot_age = _retention(cursor)
    return RefChange(
        kind,
        name,
        creates=creates,
        replaces=replaces,
        if_not_exists=if_not_exists,
        snapshot_id=snapshot_id,
        max_ref_age_ms=age,
        min_snapshots_to_keep=count,
        max_snapshot_age_ms=snapshot_age,
    )


def _kind(cursor: Cursor) -> str:
    kind = cursor.takes_one_of(*_KINDS)
    if kind is None:
        raise cursor.error("BRANCH or TAG is needed")
    return kind.lower()


def _age(cursor: Cursor) -> int:
    number = cursor.integer()
    unit = cursor.takes_one_of(*_MS)
    if unit is None:
        raise cursor.error(f"{', '.join(_MS)} is needed")
    return number * _MS[unit]


def _retention(cursor: Cursor) -> tuple[int | None, int | None]:
    """Read `2 SNAPSHOTS`, `3 DAYS` or both in this order."""
    number = cursor.integer()
    if not cursor.takes("SNAPSHOTS"):
        unit = cursor.takes_one_of(*_MS)
        if unit is None:
            raise cursor.error(f"SNAPSHOTS, {', '.join(_MS)} is needed")
        return None, number * _MS[unit]
    return number, None if cursor.at_end else _age(cursor)
