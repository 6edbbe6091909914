"""create_changelog_view: a temporary view of what changed between two snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iceberg_spark.api.statements.procedure import Called, Rows
from iceberg_spark.api.statements.target import Target
from iceberg_spark.errors import InvalidOptionError, NoSuchSnapshotError
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spec.ancestry import ancestors
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.quoted_name import quoted
from iceberg_spark.spec.snapshot import Snapshot

_START, _END = "start-snapshot-id", "end-snapshot-id"
_START_MS, _END_MS = "start-timestamp", "end-timestamp"


def create_changelog_view(called: Called) -> Rows:
    """Make the view, and return its name as SQL takes it.

    Raises InvalidOptionError, NoSuchSnapshotError where changes that are asked for have expired.
    """
    place = called.place()
    table = place.whole_table()
    start, end = _bounds(table.metadata, _numbers(called.texts("options")))
    changes = table.scan(case_sensitive=is_case_sensitive(called.spark)).changes(
        start,
        end,
        net_changes=bool(called.values.get("net_changes") or False),
        compute_updates=called.values.get("compute_updates"),
        identifier_columns=tuple(called.values.get("identifier_columns") or ()),
    )
    name = called.values.get("changelog_view")
    if name is None:
        name = quoted(f"{_last_part(place)}_changes")
    changes.to_df(called.spark).createOrReplaceTempView(name)
    return [(name,)]


def _last_part(place: Target) -> str:
    path = place.path.rstrip("/")
    return path.rpartition("/" if "/" in path else ".")[2]


def _numbers(options: Mapping[str, str]) -> dict[str, int]:
    """Return the options' numbers; case does not tell names apart, as in Java."""
    found = {}
    for name, text in options.items():
        if name.lower() not in (_START, _END, _START_MS, _END_MS):
            raise InvalidOptionError(f"create_changelog_view has no option '{name}'")
        try:
            found[name.lower()] = int(text)
        except ValueError:
            raise InvalidOptionError(f"'{name}' must be a whole number, not '{text}'") from None
    return found


def _bounds(metadata: TableMetadata, given: Mapping[str, int]) -> tuple[int | None, int | None]:
    """Return the snapshot before the first change and that of the last one.

    Times are those of the current snapshot and its ancestors (Java: SparkChangelogScanBuilder).
    """
    for by_id, by_ms in ((_START, _START_MS), (_END, _END_MS)):
        if by_id in given and by_ms in given:
            raise InvalidOptionError(f"'{by_id}' and '{by_ms}' exclude each other")
    if _START_MS in given and given[_START_MS] >= given.get(_END_MS, given[_START_MS] + 1):
        raise InvalidOptionError(f"'{_START_MS}' must be before '{_END_MS}'")
    start, end = given.get(_START), given.get(_END)
    kept = _kept(metadata)
    if _START_MS in given:
        start = _last_until(kept, given[_START_MS])
        if start is None and kept and kept[-1].parent_snapshot_id is not None:
            raise NoSuchSnapshotError(
                f"Some of what happened after '{_START_MS}' {given[_START_MS]} has expired: the "
                f"oldest snapshot kept is {kept[-1].snapshot_id} of {kept[-1].timestamp_ms}"
            )
    if _END_MS in given:
        end = _last_until(kept, given[_END_MS])
        if end is None:  # nothing had happened yet: from any snapshot up to itself
            start = end = metadata.current_snapshot_id
    return start, end


def _kept(metadata: TableMetadata) -> tuple[Snapshot, ...]:
    """Return the current snapshot and its ancestors, newest first."""
    head = metadata.current_snapshot_id
    return () if head is None else tuple(ancestors(metadata, head))


def _last_until(kept: Sequence[Snapshot], timestamp_ms: int) -> int | None:
    return next((one.snapshot_id for one in kept if one.timestamp_ms <= timestamp_ms), None)
