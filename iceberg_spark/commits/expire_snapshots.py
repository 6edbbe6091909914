"""Remove snapshots and references by age, count and id.

Source: specification, "Snapshot Retention Policy"; Java's RemoveSnapshots.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from iceberg_spark.commits.action import ActionCommit
from iceberg_spark.commits.batch_token import notes_after_expiry
from iceberg_spark.errors import InvalidInputError, NoSuchSnapshotError, ValidationException
from iceberg_spark.io.file_io import FileIO
from iceberg_spark.manifest.manifest_list import read_manifest_list_columns
from iceberg_spark.spec.ancestry import ancestors
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import (
    GC_ENABLED,
    MAX_REF_AGE_MS,
    MAX_SNAPSHOT_AGE_MS,
    MIN_SNAPSHOTS_TO_KEEP,
    bool_property,
    int_property,
)
from iceberg_spark.spec.snapshot import MAIN_BRANCH, SnapshotRef
from iceberg_spark.spec.updates import (
    RemovePartitionSpecs,
    RemoveSchemas,
    RemoveSnapshotRef,
    RemoveSnapshots,
    TableUpdate,
)


@dataclass(frozen=True, slots=True)
class Expiry:
    """What expires: snapshots older than a time (ms since the epoch) except the last few, and ids.

    None stands for the table's `history.expire.*` properties.
    """

    now_ms: int
    older_than_ms: int | None = None
    retain_last: int | None = None
    snapshot_ids: frozenset[int] = frozenset()
    cleans_metadata: bool = False
    """Whether to remove partition specs and schemas that no snapshot needs."""


@dataclass(frozen=True, slots=True)
class Expired:
    """The names of expired references and the ids of expired snapshots, in the metadata's order."""

    refs: tuple[str, ...]
    snapshot_ids: tuple[int, ...]


class ExpireSnapshots:
    """Remove expired snapshots and references from metadata; `maintenance.expire` removes files.

    `base` is the metadata of the last `prepare`: after the commit, the metadata that it replaced.
    """

    def __init__(self, expiry: Expiry) -> None:
        self._expiry = expiry
        self.base: TableMetadata | None = None

    def validate(self, base: TableMetadata, io: FileIO) -> None:
        """Check nothing: `prepare` applies the policy to the newest metadata."""

    def prepare(self, base: TableMetadata, io: FileIO) -> ActionCommit:
        """Return the updates that remove references and snapshots.

        Raises what `expired_snapshots` raises.
        """
        self.base = base
        expiring = expired_snapshots(base, self._expiry)
        refs: tuple[TableUpdate, ...] = tuple(RemoveSnapshotRef(name) for name in expiring.refs)
        numbers = expiring.snapshot_ids
        gone = (RemoveSnapshots(numbers),) if numbers else ()
        remaining = base.snapshots.keys() - set(numbers)
        unused = unused_metadata(base, remaining, io) if self._expiry.cleans_metadata else ()
        stay = [n for n, ref in base.refs.items() if ref.is_branch and n not in expiring.refs]
        notes = notes_after_expiry(base, io, numbers, stay) if numbers else ()
        return ActionCommit((*refs, *gone, *unused, *notes))

    def clean_up(self, io: FileIO, committed: TableMetadata | None) -> None:
        """Remove nothing: the action writes no files."""


def expired_snapshots(metadata: TableMetadata, expiry: Expiry) -> Expired:
    """Return the snapshots and references that the policy removes from a table.

    - A branch keeps its last snapshots and those that are young enough. The chain ends at the first
      snapshot that is neither.
    - A tag keeps its snapshot.
    - References that are too old are removed, except main.
    - Snapshots on no branch are removed by age.
    - Ids in the policy are removed as well, unless a reference keeps them.

    Raises:
        ValidationException: `gc.enabled` is false.
        InvalidInputError: a reference keeps a snapshot whose id is to expire.
    """
    check_gc_enabled(metadata)
    kept_refs = {
        name: ref for name, ref in metadata.refs.items() if _ref_stays(metadata, expiry, name, ref)
    }
    _check_not_referenced(expiry.snapshot_ids, kept_refs)
    remaining = {ref.snapshot_id for ref in kept_refs.values()}
    young: dict[int, set[int]] = {}
    for ref in kept_refs.values():
        if ref.is_branch:
            remaining.update(_kept_of_branch(metadata, expiry, ref, young))
    remaining.update(_kept_without_reference(metadata, expiry, kept_refs.values()))
    remaining -= expiry.snapshot_ids
    return Expired(
        tuple(name for name in metadata.refs if name not in kept_refs),
        tuple(number for number in metadata.snapshots if number not in remaining),
    )


def check_gc_enabled(metadata: TableMetadata) -> None:
    """Raise ValidationException if the table shares its files (`gc.enabled` is false)."""
    if not bool_property(metadata.properties, GC_ENABLED):
        raise ValidationException(
            f"Can't expire snapshots of {metadata.location}: '{GC_ENABLED}' is false, other tables "
            f"may use its files; set '{GC_ENABLED}' to true if none does"
        )


def check_known(metadata: TableMetadata, snapshot_ids: Iterable[int]) -> None:
    """Raise NoSuchSnapshotError if the table lacks one of the ids."""
    for number in snapshot_ids:
        if number not in metadata.snapshots:
            raise NoSuchSnapshotError(
                f"Can't expire snapshot {number}: {metadata.location} has no such snapshot (any "
                "more)"
            )


def _ref_stays(metadata: TableMetadata, expiry: Expiry, name: str, ref: SnapshotRef) -> bool:
    if name == MAIN_BRANCH:
        return True
    snapshot = metadata.snapshots.get(ref.snapshot_id)
    if snapshot is None:
        return False
    longest = ref.max_ref_age_ms
    if longest is None:
        longest = int_property(metadata.properties, MAX_REF_AGE_MS)
    return expiry.now_ms - snapshot.timestamp_ms <= longest


def _check_not_referenced(snapshot_ids: Iterable[int], refs: dict[str, SnapshotRef]) -> None:
    names_of: defaultdict[int, list[str]] = defaultdict(list)
    for name, ref in refs.items():
        names_of[ref.snapshot_id].append(name)
    for number in snapshot_ids:
        if names := names_of.get(number):
            raise InvalidInputError(
                f"Can't expire snapshot {number}: {', '.join(names)} points to it; remove or move "
                "the branch or tag first"
            )


def _older_than(metadata: TableMetadata, expiry: Expiry) -> int:
    if expiry.older_than_ms is not None:
        return expiry.older_than_ms
    return expiry.now_ms - int_property(metadata.properties, MAX_SNAPSHOT_AGE_MS)


def _kept_of_branch(
    metadata: TableMetadata, expiry: Expiry, ref: SnapshotRef, young: dict[int, set[int]]
) -> Iterator[int]:
    """Yield the snapshots that a branch keeps.

    `young` has, by age limit, the snapshots at which another branch has passed: everything older
    was yielded for that branch. Otherwise each of thousands of branches would walk the same
    history.
    """
    older_than = (
        _older_than(metadata, expiry)
        if ref.max_snapshot_age_ms is None
        else expiry.now_ms - ref.max_snapshot_age_ms
    )
    fewest = ref.min_snapshots_to_keep
    if fewest is None:
        fewest = expiry.retain_last
    if fewest is None:
        fewest = int_property(metadata.properties, MIN_SNAPSHOTS_TO_KEEP)
    passed = young.setdefault(older_than, set())
    for count, snapshot in enumerate(ancestors(metadata, ref.snapshot_id)):
        is_young = snapshot.timestamp_ms >= older_than
        if count >= fewest and (not is_young or snapshot.snapshot_id in passed):
            return
        if is_young:
            passed.add(snapshot.snapshot_id)
        yield snapshot.snapshot_id


def _kept_without_reference(
    metadata: TableMetadata, expiry: Expiry, refs: Collection[SnapshotRef]
) -> Iterator[int]:
    """Yield the snapshots on no branch that are too young to expire."""
    of_branches: set[int] = set()
    for ref in refs:
        for ancestor in ancestors(metadata, ref.snapshot_id) if ref.is_branch else ():
            if ancestor.snapshot_id in of_branches:
                break  # another branch has yielded all older snapshots
            of_branches.add(ancestor.snapshot_id)
    referenced = of_branches | {ref.snapshot_id for ref in refs}
    older_than = _older_than(metadata, expiry)
    for number, snapshot in metadata.snapshots.items():
        if number not in referenced and snapshot.timestamp_ms >= older_than:
            yield number


# Partition specs and schemas that no snapshot needs (Java: cleanExpiredMetadata).
#
# Java removes every schema that is not the schema of a remaining snapshot. Here a schema stays if
# it has dropped fields that equality deletes or partition specs may refer to.

_COLUMNS = ("partition_spec_id", "content", "added_files_count", "existing_files_count")


def unused_metadata(
    base: TableMetadata, snapshot_ids: Collection[int], io: FileIO
) -> tuple[TableUpdate, ...]:
    """Return the updates that remove what the snapshots `snapshot_ids` do not need."""
    if len(base.partition_specs) == len(base.schemas) == 1:
        return ()
    specs, has_deletes = {base.default_spec_id}, False
    schemas = {base.current_schema_id}
    for number in snapshot_ids:
        snapshot = base.snapshots[number]
        listed = read_manifest_list_columns(io, snapshot, base, _COLUMNS)
        specs.update(listed.column("partition_spec_id").to_pylist())
        has_deletes |= _has_live_deletes(listed)
        if snapshot.schema_id is not None:
            schemas.add(snapshot.schema_id)
    gone = tuple(number for number in base.partition_specs if number not in specs)
    old = [] if has_deletes else _unneeded(base, schemas, specs)
    updates: list[TableUpdate] = []
    if gone:
        updates.append(RemovePartitionSpecs(gone))
    if old:
        updates.append(RemoveSchemas(tuple(old)))
    return tuple(updates)


def _has_live_deletes(listed: pa.Table) -> bool:
    """Return whether a manifest may have a delete file; unknown counts are null."""
    columns = (listed.column(name).to_pylist() for name in _COLUMNS[1:])
    return any(
        content == ManifestContent.DELETES and (added != 0 or existing != 0)
        for content, added, existing in zip(*columns, strict=True)
    )


def _unneeded(base: TableMetadata, used: Collection[int], specs: Collection[int]) -> list[int]:
    """Return the other schemas, except those that alone have the source of a partition field."""
    used_schemas = [base.schemas[number] for number in used if number in base.schemas]
    field_ids = {field_id for schema in used_schemas for field_id in schema.field_ids}
    sources = {
        source
        for number in specs
        for field in base.partition_specs[number].fields
        for source in field.source_ids
    }
    return [
        number
        for number, schema in base.schemas.items()
        if number not in used and not (sources - field_ids) & set(schema.field_ids)
    ]
