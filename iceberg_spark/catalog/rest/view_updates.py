"""The requests that change a view on a server (Java's)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from iceberg_spark.spec.next_view import check_dialects
from iceberg_spark.spec.schema_json import schema_to_dict
from iceberg_spark.spec.view import NewView, ViewMetadata
from iceberg_spark.spec.view_json import version_to_dict

_LAST_ADDED = -1


def replacing(base: ViewMetadata, view: NewView) -> dict[str, Any]:
    """Return a CommitViewRequest. Raises ValidationException if it would lose a dialect."""
    check_dialects(base, view)
    updates: list[dict[str, Any]] = []
    if view.properties:
        updates.append({"action": "set-properties", "updates": dict(view.properties)})
    updates += _version_updates(base, view)
    if view.location not in (None, base.location):
        updates.append({"action": "set-location", "location": view.location})
    return {"requirements": _same(base), "updates": updates}


def changing_properties(
    base: ViewMetadata, updates: Mapping[str, str], removals: Iterable[str]
) -> dict[str, Any]:
    """Return a CommitViewRequest that sets and removes properties."""
    changes: list[dict[str, Any]] = []
    if updates:
        changes.append({"action": "set-properties", "updates": dict(updates)})
    gone = list(removals)
    if gone:
        changes.append({"action": "remove-properties", "removals": gone})
    return {"requirements": _same(base), "updates": changes}


def _same(base: ViewMetadata) -> list[dict[str, str]]:
    return [{"type": "assert-view-uuid", "uuid": base.view_uuid}]


def _version_updates(base: ViewMetadata, view: NewView) -> list[dict[str, Any]]:
    """Return the updates that add a version. An existing schema or version is named by its id.

    Servers do not add what they have already, so "the last one added" would not exist.
    """
    same = view.same_version_in(base)
    if same is not None:
        return [_set_current(same.version_id)]
    schema_id = view.same_schema_in(base)
    added = []
    if schema_id is None:
        newest = max((schema.schema_id for schema in base.schemas), default=-1) + 1
        schema = {**schema_to_dict(view.schema), "schema-id": newest}
        added.append({"action": "add-schema", "schema": schema})
    version = replace(
        view.version,
        version_id=max(existing.version_id for existing in base.versions) + 1,
        schema_id=_LAST_ADDED if schema_id is None else schema_id,
    )
    added.append({"action": "add-view-version", "view-version": version_to_dict(version)})
    return [*added, _set_current(_LAST_ADDED)]


def _set_current(version_id: int) -> dict[str, Any]:
    return {"action": "set-current-view-version", "view-version-id": version_id}
