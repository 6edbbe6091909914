"""Metadata of a view that is created or changed (Java: ViewMetadata.Builder)."""

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


def create_view(view: NewView, location: str) -> ViewMetadata:
    """Return the metadata of a new view; `location` is the default location."""
    version = replace(view.version, version_id=1, schema_id=0)
    schema = _numbered(view.schema, 0)
    log = (ViewHistoryEntry(version.timestamp_ms, 1),)
    properties = dict(view.properties)
    directory = view.location or location
    metadata = ViewMetadata(str(uuid.uuid4()), directory, 1, (version,), log, (schema,), properties)
    return _shortened(metadata)


def replace_view(base: ViewMetadata, view: NewView, now_ms: int) -> ViewMetadata:
    """Return a view with another definition; an earlier equal definition becomes current again.

    The view keeps its location unless `view` has one. `now_ms` is ms since the epoch. Raises
    ValidationException if a dialect would be lost.
    """
    check_dialects(base, view)
    same = view.same_version_in(base)
    if same is None:
        metadata, version, since = _with_version(base, view)
    else:
        metadata, version, since = base, same, now_ms
    log = metadata.version_log
    if version.version_id != base.current_version_id:
        log = (*log, ViewHistoryEntry(since, version.version_id))
    properties = {**base.properties, **view.properties}
    changed = replace(
        metadata,
        location=view.location or base.location,
        current_version_id=version.version_id,
        version_log=log,
        properties=properties,
    )
    return _shortened(changed)


def with_properties(
    base: ViewMetadata, updates: Mapping[str, str], removals: Iterable[str]
) -> ViewMetadata:
    """Return a view with some properties set and others removed."""
    gone = set(removals)
    remaining = {key: value for key, value in base.properties.items() if key not in gone}
    return _shortened(replace(base, properties={**remaining, **updates}))


def check_dialects(base: ViewMetadata, view: NewView) -> None:
    """Raise ValidationException if the text of a dialect would be lost."""
    properties = {**base.properties, **view.properties}
    if properties.get(DROP_DIALECT_ALLOWED, "false").lower() == "true":
        return
    dialects = {dialect.lower() for dialect in view.version.dialects}
    lost = [dialect for dialect in base.current_version.dialects if dialect.lower() not in dialects]
    if lost:
        raise ValidationException(
            f"The view has a text for {', '.join(lost)}, which would be lost: to allow that, set "
            f"its property {DROP_DIALECT_ALLOWED} to true"
        )


def _with_version(base: ViewMetadata, view: NewView) -> tuple[ViewMetadata, ViewVersion, int]:
    """Return a view with a new version that is not yet current, that version, and its time."""
    schema_id, schemas = view.same_schema_in(base), base.schemas
    if schema_id is None:
        schema_id = max((former.schema_id for former in schemas), default=-1) + 1
        schemas = (*schemas, _numbered(view.schema, schema_id))
    number = max(former.version_id for former in base.versions) + 1
    version = replace(view.version, version_id=number, schema_id=schema_id)
    metadata = replace(base, schemas=schemas, versions=(*base.versions, version))
    return metadata, version, version.timestamp_ms


def _numbered(schema: Schema, schema_id: int) -> Schema:
    return Schema(
        *schema.fields, schema_id=schema_id, identifier_field_ids=schema.identifier_field_ids
    )


def _shortened(view: ViewMetadata) -> ViewMetadata:
    """Return a view without its oldest versions; a property limits how many stay.

    The log begins after its last entry with a removed version. Raises ValidationException.
    """
    most = int_property(view.properties, _VERSIONS_KEPT, _DEFAULT_KEPT)
    if most <= 0:
        raise ValidationException(f"Property {_VERSIONS_KEPT} must be positive, not {most}")
    if len(view.versions) <= most:
        return view
    former = [
        candidate for candidate in view.versions if candidate.version_id != view.current_version_id
    ]
    newest = sorted(former, key=lambda candidate: candidate.version_id, reverse=True)[: most - 1]
    versions = (view.current_version, *newest)
    kept_ids = {candidate.version_id for candidate in versions}
    log: list[ViewHistoryEntry] = []
    for entry in view.version_log:
        log = [*log, entry] if entry.version_id in kept_ids else []
    return replace(view, versions=versions, version_log=tuple(log))
