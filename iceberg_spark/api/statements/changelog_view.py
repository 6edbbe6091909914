"""create_changelog_view: a temporary view of what changed between two snapshots."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.api.statements.procedure import Called, Rows
from iceberg_spark.api.statements.target import Target
from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.scan.change_bounds import CHANGE_BOUNDS, change_bounds
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spec.quoted_name import quoted


def create_changelog_view(called: Called) -> Rows:
    """Create the view, and return its name, quoted for SQL.

    Raises InvalidOptionError, NoSuchSnapshotError if the requested changes have expired.
    """
    target = called.target()
    table = target.whole_table()
    metadata = table.metadata
    bounds = _numbers(called.texts("options"))
    start, end = change_bounds(metadata, metadata.current_snapshot_id, bounds)
    changes = table.scan(case_sensitive=is_case_sensitive(called.spark)).changes(
        start,
        end,
        net_changes=bool(called.values.get("net_changes") or False),
        compute_updates=called.values.get("compute_updates"),
        identifier_columns=tuple(called.values.get("identifier_columns") or ()),
    )
    name = called.values.get("changelog_view")
    if name is None:
        name = quoted(f"{_last_part(target)}_changes")
    changes.to_df(called.spark).createOrReplaceTempView(name)
    return [(name,)]


def _last_part(target: Target) -> str:
    path = target.path.rstrip("/")
    return path.rpartition("/" if "/" in path else ".")[2]


def _numbers(options: Mapping[str, str]) -> dict[str, int]:
    """Return the options' numbers by lower-case names: case does not count, as in Java."""
    numbers = {}
    for name, text in options.items():
        if name.lower() not in CHANGE_BOUNDS:
            raise InvalidOptionError(f"create_changelog_view has no option '{name}'")
        try:
            numbers[name.lower()] = int(text)
        except ValueError:
            raise InvalidOptionError(f"'{name}' must be a whole number, not '{text}'") from None
    return numbers
