"""Updates folded over table metadata: the one builder of new metadata.

Source: Java's TableMetadata.Builder.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from itertools import groupby
from typing import Any, assert_never

from iceberg_spark.errors import CorruptFileError, UnsupportedError, ValidationException
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_definitions import apply_definition
from iceberg_spark.spec.apply_snapshots import apply_snapshot, corrected_log, remove_refs
from iceberg_spark.spec.apply_state import ApplyState
from iceberg_spark.spec.field_names import check_field_names
from iceberg_spark.spec.format_version import FORMAT_VERSIONS, READ_VERSIONS, rules_of
from iceberg_spark.spec.lineage_names import check_upgrade
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_validation import validate
from iceberg_spark.spec.partition import FIRST_PARTITION_FIELD_ID
from iceberg_spark.spec.properties import DEFAULT_FORMAT_VERSION, check_not_reserved

_UNSET = -1


def apply(
    base: TableMetadata | None, updates: Iterable[u.TableUpdate], *, now_ms: int
) -> TableMetadata:
    """Return the metadata after the updates; `base` itself when they change nothing.

    Without a base a table is created: the updates contain location, schema, spec and sort order;
    format version and uuid default to 2 and a random one. `now_ms` (ms since the epoch) becomes
    `last_updated_ms`. `metadata_log` maintains the metadata log. Raises ValidationException for an
    update that contradicts the table, InvalidSchemaError for an invalid schema, spec or order,
    CommitFailedException for a snapshot that was created on an older base.
    """
    changes = tuple(updates)
    start = _empty(changes) if base is None else base
    state = ApplyState(start, now_ms)
    for _, run in groupby(changes, type):
        state = _run(state, tuple(run))
    if state.metadata is base:
        return base
    metadata = replace(state.metadata, snapshot_log=corrected_log(state), last_updated_ms=now_ms)
    if base is None:
        _check_complete(metadata)
    check_field_names(base, metadata)
    try:
        validate(metadata)
    except CorruptFileError as cause:
        raise ValidationException(f"The change would make invalid metadata: {cause}") from cause
    return metadata


def _empty(changes: tuple[u.TableUpdate, ...]) -> TableMetadata:
    versions = (
        update.format_version for update in changes if isinstance(update, u.UpgradeFormatVersion)
    )
    version = _supported(next(versions, DEFAULT_FORMAT_VERSION))
    return TableMetadata(
        format_version=version,
        table_uuid=str(uuid.uuid4()),
        location="",
        last_updated_ms=0,
        last_column_id=0,
        schemas={},
        current_schema_id=_UNSET,
        partition_specs={},
        default_spec_id=_UNSET,
        last_partition_id=FIRST_PARTITION_FIELD_ID - 1,
        sort_orders={},
        default_sort_order_id=_UNSET,
        next_row_id=0 if rules_of(version).has_row_lineage else None,
    )


def _check_complete(metadata: TableMetadata) -> None:
    for what, missing in (
        ("location", not metadata.location),
        ("schema", metadata.current_schema_id == _UNSET),
        ("partition spec", metadata.default_spec_id == _UNSET),
        ("sort order", metadata.default_sort_order_id == _UNSET),
    ):
        if missing:
            raise ValidationException(f"A new table needs a {what}")


def _run(state: ApplyState, updates: tuple[u.TableUpdate, ...]) -> ApplyState:
    """Apply updates of one kind. References go together: each removal copies those that stay."""
    names = {update.ref_name for update in updates if isinstance(update, u.RemoveSnapshotRef)}
    return remove_refs(state, names) if names else reduce(_step, updates, state)


def _step(state: ApplyState, update: u.TableUpdate) -> ApplyState:
    if isinstance(update, u.DefinitionUpdate):
        return apply_definition(state, update)
    if isinstance(update, u.SnapshotUpdate):
        return apply_snapshot(state, update)
    match update:
        case u.AssignUuid(uuid=text):
            return state if text == state.metadata.table_uuid else state.but(table_uuid=text)
        case u.UpgradeFormatVersion(format_version=version):
            return _upgrade(state, version)
        case u.SetLocation(location=location):
            return _set_location(state, location)
        case u.SetProperties(updates=changes):
            return _set_properties(state, changes)
        case u.RemoveProperties(removals=keys):
            return _remove_properties(state, keys)
        case u.AddEncryptionKey(encryption_key=key):
            return _add_key(state, key)
        case u.RemoveEncryptionKey(key_id=key_id):
            return _remove_key(state, key_id)
        case _:
            assert_never(update)


def _supported(version: int) -> int:
    if version not in FORMAT_VERSIONS:
        raise UnsupportedError(
            f"format-version {version} is not supported; supported: {READ_VERSIONS}"
        )
    return version


def _upgrade(state: ApplyState, version: int) -> ApplyState:
    metadata = state.metadata
    if _supported(version) == metadata.format_version:
        return state
    if version < metadata.format_version:
        raise ValidationException(
            f"A table can't go back from format-version {metadata.format_version} to {version}"
        )
    if rules_of(version).has_row_lineage and metadata.current_schema_id in metadata.schemas:
        check_upgrade(metadata.schema)
    return state.but(
        format_version=version,
        table_uuid=metadata.table_uuid or str(uuid.uuid4()),  # v1 could do without, v2 can't
        next_row_id=(metadata.next_row_id or 0) if rules_of(version).has_row_lineage else None,
    )


def _set_location(state: ApplyState, location: str) -> ApplyState:
    stripped = location.rstrip("/") or location
    return state if stripped == state.metadata.location else state.but(location=stripped)


def _set_properties(state: ApplyState, changes: Mapping[str, str]) -> ApplyState:
    check_not_reserved(changes)
    merged = {**state.metadata.properties, **changes}
    return state if merged == state.metadata.properties else state.but(properties=merged)


def _remove_properties(state: ApplyState, keys: Iterable[str]) -> ApplyState:
    gone = frozenset(keys) & state.metadata.properties.keys()
    remaining = {key: value for key, value in state.metadata.properties.items() if key not in gone}
    return state.but(properties=remaining) if gone else state


def _add_key(state: ApplyState, key: Mapping[str, Any]) -> ApplyState:
    keys = state.metadata.encryption_keys
    if any(existing["key-id"] == key["key-id"] for existing in keys):
        return state
    return state.but(encryption_keys=(*keys, key))


def _remove_key(state: ApplyState, key_id: str) -> ApplyState:
    keys = state.metadata.encryption_keys
    remaining = tuple(existing for existing in keys if existing["key-id"] != key_id)
    return state if len(remaining) == len(keys) else state.but(encryption_keys=remaining)
