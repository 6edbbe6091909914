"""What a catalog makes of a view that is created or changed (Java: ViewMetadata.Builder)."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace

from iceberg_spark.errors import ValidationException
from iceberg_spark.spec.properties import int_property
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.view import (
    DROP_DIALECT_ALLOWED,
    NewView,
    ViewHistoryEntry,
    ViewMetadata,
    ViewVersion,
)

_VERSIONS_KEPT = "version.history.num-entries"
_DEFAULT_KEPT = 10


def created(view: NewView, location: str) -> ViewMetadata:
    """Return the metadata of a view that was not there; `location` is where it goes unasked."""
    version = replace(view.version, version_id=1, schema_id=0)
    schema = _numbered(view.schema, 0)
    log = (ViewHistoryEntry(version.timestamp_ms, 1),)
    properties = dict(view.properties)
    place = view.location or location
    made = ViewMetadata(str(uuid.uuid4()), place, 1, (version,), log, (schema,), properties)
    return _shortened(made)


def replaced(base: ViewMetadata, view: NewView, now_ms: int) -> ViewMetadata:
    """Return a view with another definition; one that it had before becomes current again.

    It stays where it is unless another location is asked for.

    `now_ms` is since 1970 in UTC. Raises ValidationException where a dialect would be lost.
    """
    check_dialects(base, view)
    same = view.same_version_in(base)
    if same is None:
        made, version, since = _with_version(base, view)
    else:
        made, version, since = base, same, now_ms
    log = made.version_log
    if version.version_id != base.current_version_id:
        log = (*log, ViewHistoryEntry(since, version.version_id))
    properties = {**base.properties, **view.properties}
    changed = replace(
        made,
        location=view.location or base.location,
        current_version_id=version.version_id,
        version_log=log,
        properties=properties,
    )
    return _shortened(changed)


def with_properties(
    base: ViewMetadata, updates: Mapping[str, str], removals: Iterable[str]
) -> ViewMetadata:
    """Return a view with properties set and others taken away."""
    gone = set(removals)
    kept = {key: value for key, value in base.properties.items() if key not in gone}
    return _shortened(replace(base, properties={**kept, **updates}))


def check_dialects(base: ViewMetadata, view: NewView) -> None:
    """Raise ValidationException where a text would be lost that has another dialect."""
    properties = {**base.properties, **view.properties}
    if properties.get(DROP_DIALECT_ALLOWED, "false").lower() == "true":
        return
    kept = {one.lower() for one in view.version.dialects}
    lost = [one for one in base.current_version.dialects if one.lower() not in kept]
    if lost:
        raise ValidationException(
            f"The view has a text for {', '.join(lost)}, which would be lost: set its property "
            f"{DROP_DIALECT_ALLOWED} to true if that is meant"
        )


def _with_version(base: ViewMetadata, view: NewView) -> tuple[ViewMetadata, ViewVersion, int]:
    """Return a view with one more version, which is not current yet, that, and since when."""
    schema_id, schemas = view.same_schema_in(base), base.schemas
    if schema_id is None:
        schema_id = max((one.schema_id for one in schemas), default=-1) + 1
        schemas = (*schemas, _numbered(view.schema, schema_id))
    number = max(one.version_id for one in base.versions) + 1
    version = replace(view.version, version_id=number, schema_id=schema_id)
    made = replace(base, schemas=schemas, versions=(*base.versions, version))
    return made, version, version.timestamp_ms


def _numbered(schema: Schema, schema_id: int) -> Schema:
    return Schema(
        *schema.fields, schema_id=schema_id, identifier_field_ids=schema.identifier_field_ids
    )


def _shortened(view: ViewMetadata) -> ViewMetadata:
    """Return a view without its oldest versions, of which a property says how many stay.

    The log begins behind the last version of it that is gone. Raises ValidationException.
    """
    most = int_property(view.properties, _VERSIONS_KEPT, _DEFAULT_KEPT)
    if most <= 0:
        raise ValidationException(f"Property {_VERSIONS_KEPT} must be positive, not {most}")
    if len(view.versions) <= most:
        return view
    former = [one for one in view.versions if one.version_id != view.current_version_id]
    newest = sorted(former, key=lambda one: one.version_id, reverse=True)[: most - 1]
    versions = (view.current_version, *newest)
    kept = {one.version_id for one in versions}
    log: list[ViewHistoryEntry] = []
    for entry in view.version_log:
        log = [*log, entry] if entry.version_id in kept else []
    return replace(view, versions=versions, version_log=tuple(log))
