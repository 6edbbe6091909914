"""Updates folded over table metadata: the one builder of new metadata.

Source: Java's TableMetadata.Builder.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import groupby
from typing import Any, assert_never

from iceberg_spark.errors import (
    CommitFailedException,
    CorruptFileError,
    InvalidSchemaError,
    UnsupportedError,
    ValidationException,
)
from iceberg_spark.spec import updates as u
from iceberg_spark.spec.apply_definitions import ApplyState, apply_definition
from iceberg_spark.spec.format_version import FORMAT_VERSIONS, READ_VERSIONS, rules_of
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.metadata_validation import CLOCK_TOLERANCE_MS, validate
from iceberg_spark.spec.partition import FIRST_PARTITION_FIELD_ID, PartitionField
from iceberg_spark.spec.properties import DEFAULT_FORMAT_VERSION, check_not_reserved
from iceberg_spark.spec.reserved import check_upgrade
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import MAIN_BRANCH, Snapshot, SnapshotLogEntry, SnapshotRef
from iceberg_spark.spec.snapshot_json import ref_problem
from iceberg_spark.spec.transforms import IdentityTransform, VoidTransform

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


def apply_snapshot(state: ApplyState, update: u.SnapshotUpdate) -> ApplyState:
    """Apply an update of snapshots, references or statistics; raises as the functions below."""
    match update:
        case u.AddSnapshot(snapshot=snapshot):
            return add_snapshot(state, snapshot)
        case u.SetSnapshotRef(ref_name=name, ref=ref):
            return set_ref(state, name, ref)
        case u.RemoveSnapshots(snapshot_ids=numbers):
            return remove_snapshots(state, numbers)
        case u.RemoveSnapshotRef(ref_name=name):
            return remove_refs(state, {name})
        case u.SetStatistics(statistics=file):
            return set_statistics(state, file, "statistics")
        case u.RemoveStatistics(snapshot_id=number):
            return remove_statistics(state, number, "statistics")
        case u.SetPartitionStatistics(partition_statistics=file):
            return set_statistics(state, file, "partition_statistics")
        case u.RemovePartitionStatistics(snapshot_id=number):
            return remove_statistics(state, number, "partition_statistics")
        case _:
            assert_never(update)


def add_snapshot(state: ApplyState, snapshot: Snapshot) -> ApplyState:
    """Add a snapshot; no reference points to it yet.

    Raises CommitFailedException if the sequence number or the first row id is behind the table's:
    another commit was faster, and the snapshot must be created again. Raises ValidationException
    for an existing id, a time more than a minute before the table's last update, or a v3 snapshot
    without row ids.
    """
    metadata = state.metadata
    if not (metadata.schemas and metadata.partition_specs and metadata.sort_orders):
        raise ValidationException("A snapshot needs a schema, partition spec and sort order first")
    if snapshot.snapshot_id in metadata.snapshots:
        raise ValidationException(f"There is a snapshot {snapshot.snapshot_id} already")
    _check_time(metadata, snapshot)
    changes: dict[str, Any] = {"snapshots": {**metadata.snapshots, snapshot.snapshot_id: snapshot}}
    if metadata.rules.has_sequence_numbers:
        changes["last_sequence_number"] = _next_sequence_number(metadata, snapshot)
    elif snapshot.sequence_number != 0:
        raise ValidationException("Format v1 has no sequence numbers; the snapshot's must be 0")
    if metadata.rules.has_row_lineage:
        changes["next_row_id"] = _next_row_id(metadata, snapshot)
    return replace(state.but(**changes), added=state.added | {snapshot.snapshot_id})


def _check_time(metadata: TableMetadata, snapshot: Snapshot) -> None:
    if snapshot.timestamp_ms < metadata.last_updated_ms - CLOCK_TOLERANCE_MS:
        raise ValidationException(
            f"Snapshot {snapshot.snapshot_id} is of {snapshot.timestamp_ms} ms, more than a "
            f"minute before the table's last update at {metadata.last_updated_ms} ms; "
            "is this machine's clock late?"
        )


def _next_sequence_number(metadata: TableMetadata, snapshot: Snapshot) -> int:
    last, number = metadata.last_sequence_number, snapshot.sequence_number
    if number <= last and snapshot.parent_snapshot_id is not None:
        raise CommitFailedException(
            f"Snapshot {snapshot.snapshot_id} has the sequence number {number}, "
            f"which is not above the table's {last}"
        )
    return max(last, number)


def _next_row_id(metadata: TableMetadata, snapshot: Snapshot) -> int:
    first, added, expected = snapshot.first_row_id, snapshot.added_rows, metadata.next_row_id or 0
    if first is None or added is None:
        raise ValidationException(
            f"Format v3 needs first-row-id and added-rows in snapshot {snapshot.snapshot_id}"
        )
    if first < expected:
        raise CommitFailedException(
            f"Snapshot {snapshot.snapshot_id} has the first row id {first}, "
            f"which is behind the table's next row id {expected}"
        )
    return first + added


def set_ref(state: ApplyState, name: str, ref: SnapshotRef) -> ApplyState:
    """Create or move a branch or tag; moving main changes the current snapshot and its log.

    Raises ValidationException for an unknown snapshot, main as a tag or a bad retention.
    """
    metadata = state.metadata
    if metadata.refs.get(name) == ref:
        return state
    snapshot = metadata.snapshots.get(ref.snapshot_id)
    if snapshot is None:
        raise ValidationException(f"Can't set '{name}' to unknown snapshot {ref.snapshot_id}")
    if name == MAIN_BRANCH and not ref.is_branch:
        raise ValidationException("'main' can't be a tag, it must be a branch")
    problem = ref_problem(ref)
    if problem is not None:
        raise ValidationException(f"Reference '{name}': {problem}")
    changed = state.but(refs={**metadata.refs, name: ref})
    if name != MAIN_BRANCH or ref.snapshot_id == metadata.current_snapshot_id:
        return changed
    # going back to a snapshot that was there happens now, a new one has its own time
    time = snapshot.timestamp_ms if ref.snapshot_id in state.added else state.now_ms
    log = (*metadata.snapshot_log, SnapshotLogEntry(ref.snapshot_id, time))
    moved = changed.but(current_snapshot_id=ref.snapshot_id, snapshot_log=log)
    return replace(moved, main_moves=state.main_moves | {ref.snapshot_id})


def remove_refs(state: ApplyState, names: Collection[str]) -> ApplyState:
    """Remove branches and tags; without main the table has no current snapshot."""
    metadata = state.metadata
    refs = {name: ref for name, ref in metadata.refs.items() if name not in names}
    if len(refs) == len(metadata.refs):
        return state
    current = None if MAIN_BRANCH in names else metadata.current_snapshot_id
    return state.but(refs=refs, current_snapshot_id=current)


def remove_snapshots(state: ApplyState, snapshot_ids: Iterable[int]) -> ApplyState:
    """Remove snapshots, their statistics, and the references that point to them."""
    metadata = state.metadata
    gone = frozenset(snapshot_ids) & metadata.snapshots.keys()
    if not gone:
        return state
    changed = state.but(
        snapshots={
            number: snapshot
            for number, snapshot in metadata.snapshots.items()
            if number not in gone
        },
        statistics=_without(metadata.statistics, gone),
        partition_statistics=_without(metadata.partition_statistics, gone),
    )
    names = {name for name, ref in metadata.refs.items() if ref.snapshot_id in gone}
    return replace(remove_refs(changed, names), removed=True)


def _without(
    files: tuple[Mapping[str, Any], ...], snapshot_ids: frozenset[int]
) -> tuple[Mapping[str, Any], ...]:
    return tuple(file for file in files if file["snapshot-id"] not in snapshot_ids)


def set_statistics(state: ApplyState, file: Mapping[str, Any], field: str) -> ApplyState:
    """Set the statistics file of a snapshot, in `statistics` or `partition_statistics`."""
    files = getattr(state.metadata, field)
    return state.but(**{field: (*_without(files, frozenset([file["snapshot-id"]])), file)})


def remove_statistics(state: ApplyState, snapshot_id: int, field: str) -> ApplyState:
    """Remove the statistics file of a snapshot, if there is one."""
    files = getattr(state.metadata, field)
    remaining = _without(files, frozenset([snapshot_id]))
    return state if len(remaining) == len(files) else state.but(**{field: remaining})


def corrected_log(state: ApplyState) -> tuple[SnapshotLogEntry, ...]:
    """Return the snapshot log without snapshots that were never current outside these updates.

    The updates add such a snapshot and replace it on main. A removed snapshot takes the history
    before it along: time travel across a gap would return wrong snapshots.
    Source: Java's TableMetadata.Builder.updateSnapshotLog.
    """
    metadata = state.metadata
    passing = (state.main_moves & state.added) - {metadata.current_snapshot_id}
    if not passing and not state.removed:
        return metadata.snapshot_log
    log: list[SnapshotLogEntry] = []
    for entry in metadata.snapshot_log:
        if entry.snapshot_id not in metadata.snapshots:
            if state.removed:
                log.clear()
        elif entry.snapshot_id not in passing:
            log.append(entry)
    return tuple(log)


# Names of partition fields next to names of columns, in every spec of a table.
#
# Java binds each spec, former ones too, to the current schema when it loads a table, and fails if
# a field has the name of a column that is not its source
# (PartitionSpec.Builder.checkAndAddPartition- Name). The rule for new names is stricter, like
# Java's for new tables: the field has to be the identity of that very column. A void field stands
# for a field that was removed.


@dataclass(frozen=True, slots=True)
class _Clash:
    """A partition field and a column of its name that may not have it."""

    column_id: int
    source_ids: tuple[int, ...]
    transform: str
    name: str


def check_field_names(before: TableMetadata | None, after: TableMetadata) -> None:
    """Refuse a change that gives a column the name of a partition field, or the other way round.

    Clashes that exist already are tolerated: another library created them, and the table is
    readable. Raises InvalidSchemaError naming column, field and spec.
    """
    if before is not None and (
        before.schema is after.schema and before.partition_specs is after.partition_specs
    ):
        return
    former_clashes = set() if before is None else {clash for clash, _ in _clashes(before)}
    for clash, spec_id in _clashes(after):
        if clash not in former_clashes:
            raise InvalidSchemaError(_text(clash, spec_id, after))


def _clashes(metadata: TableMetadata) -> Iterator[tuple[_Clash, int]]:
    """Yield the fields that have a column's name, with their specs."""
    schema = metadata.schema
    for spec in metadata.partition_specs.values():
        for part in spec.fields:
            column_id = schema.find_id(part.name, as_spelled=True)
            if column_id is not None and not _may_share(part, column_id, schema):
                yield (
                    _Clash(column_id, part.source_ids, str(part.transform), part.name),
                    (spec.spec_id),
                )


def _may_share(part: PartitionField, column_id: int, schema: Schema) -> bool:
    """Return whether a field may have the name of a column.

    A field whose source was dropped is of a former spec, or void: Java loads it under any name.
    """
    if all(schema.get(source_id) is None for source_id in part.source_ids):
        return True
    is_alike = isinstance(part.transform, IdentityTransform | VoidTransform)
    return is_alike and part.source_ids == (column_id,)


def _text(clash: _Clash, spec_id: int, metadata: TableMetadata) -> str:
    names = (metadata.schema.find_column_name(source_id) for source_id in clash.source_ids)
    source = ", ".join(filter(None, names))
    text = (
        f"Column '{clash.name}' and partition field '{clash.name}' of spec {spec_id}, which is "
        f"{clash.transform} of column '{source}', can't share a name: only the identity of "
        "that column may. Choose another name"
    )
    if spec_id == metadata.default_spec_id:
        return text
    return (
        f"{text}, or remove the former spec: rewrite the files that are stored by it, then call "
        "maintenance.expire_snapshots(clean_expired_metadata=True)"
    )
