"""Snapshots, references and logs to and from JSON (specification, Appendix C)."""

from __future__ import annotations

from typing import Any, NoReturn

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.format_version import rules_of
from iceberg_spark.spec.json_node import (
    as_int,
    as_list,
    as_long,
    as_object,
    as_text,
    optional,
    required,
    text_map,
    unknown_members,
)
from iceberg_spark.spec.snapshot import (
    MetadataLogEntry,
    Operation,
    Snapshot,
    SnapshotLogEntry,
    SnapshotRef,
    SnapshotRefType,
)

_SNAPSHOT_MEMBERS = frozenset((
    "sequence-number", "snapshot-id", "parent-snapshot-id", "timestamp-ms", "summary",
    "manifest-list", "manifests", "schema-id", "first-row-id", "added-rows", "key-id",
))  # fmt: skip
_REF_MEMBERS = frozenset((
    "snapshot-id", "type", "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms",
))  # fmt: skip

_SNAPSHOT_LOG_MEMBERS = frozenset(("snapshot-id", "timestamp-ms"))
_METADATA_LOG_MEMBERS = frozenset(("metadata-file", "timestamp-ms"))


def snapshot_to_dict(snapshot: Snapshot, *, has_sequence_numbers: bool = False) -> dict[str, Any]:
    """Return the JSON object of a snapshot, members in Java's order, without null members.

    With `has_sequence_numbers` (format version 2 and up) snapshots of version 1 get what the
    specification requires and Java omits: the sequence number 0, and a summary.
    """
    number = snapshot.sequence_number
    return _present(
        {
            "sequence-number": number if has_sequence_numbers else number or None,
            "snapshot-id": snapshot.snapshot_id,
            "parent-snapshot-id": snapshot.parent_snapshot_id,
            "timestamp-ms": snapshot.timestamp_ms,
            "summary": _summary_to_dict(snapshot, is_required=has_sequence_numbers),
            "manifest-list": snapshot.manifest_list,
            "manifests": None if snapshot.manifests is None else list(snapshot.manifests),
            "schema-id": snapshot.schema_id,
            "first-row-id": snapshot.first_row_id,
            "added-rows": snapshot.added_rows,
            "key-id": snapshot.key_id,
        }
    ) | dict(snapshot.extra)


def _summary_to_dict(snapshot: Snapshot, *, is_required: bool) -> dict[str, str] | None:
    operation = snapshot.operation
    if operation is None:
        # Unknown, so that which promises least: readers of changes do not take it for an append.
        return {"operation": Operation.OVERWRITE.value} if is_required else None
    return {"operation": str(operation)} | dict(snapshot.summary)


def _present(members: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in members.items() if value is not None}


def snapshot_from_dict(node: Any, format_version: int) -> Snapshot:
    """Return the snapshot of a JSON object.

    A summary without an operation gets `overwrite`, as in Java. Raises CorruptFileError, also
    for a snapshot with neither `manifest-list` nor (v1, or a table upgraded from it) `manifests`.
    """
    members = as_object(node, "A snapshot")
    summary = optional(members, "summary", text_map) or {}
    if summary and "operation" not in summary:
        summary = {"operation": Operation.OVERWRITE.value, **summary}
    manifest_list = optional(members, "manifest-list", as_text)
    manifests = _manifests(members, manifest_list, format_version)
    return Snapshot(
        snapshot_id=required(members, "snapshot-id", as_long),
        timestamp_ms=required(members, "timestamp-ms", as_long),
        manifest_list=manifest_list,
        parent_snapshot_id=optional(members, "parent-snapshot-id", as_long),
        sequence_number=optional(members, "sequence-number", as_long) or 0,
        summary=ReadOnly(summary),
        schema_id=optional(members, "schema-id", as_int),
        manifests=manifests,
        first_row_id=optional(members, "first-row-id", as_long),
        added_rows=optional(members, "added-rows", as_long),
        key_id=optional(members, "key-id", as_text),
        extra=unknown_members(members, _SNAPSHOT_MEMBERS) or {},
    )


def _manifests(
    members: Any, manifest_list: str | None, format_version: int
) -> tuple[str, ...] | None:
    if manifest_list is not None:
        return None  # with both, the list is the one that counts (as in Java)
    nodes = optional(members, "manifests", as_list)
    if nodes is None:
        inline = rules_of(format_version).inlines_manifests
        need = "'manifest-list' or 'manifests'" if inline else "'manifest-list'"
        raise CorruptFileError(f"A snapshot needs {need}: {members.get('snapshot-id')}")
    return tuple(as_text(node, "'manifests'") for node in nodes)


def ref_to_dict(ref: SnapshotRef) -> dict[str, Any]:
    """Return the JSON object of a branch or tag."""
    return _present(
        {
            "snapshot-id": ref.snapshot_id,
            "type": str(ref.snapshot_ref_type),
            "min-snapshots-to-keep": ref.min_snapshots_to_keep,
            "max-snapshot-age-ms": ref.max_snapshot_age_ms,
            "max-ref-age-ms": ref.max_ref_age_ms,
        }
    ) | dict(ref.extra)


def ref_from_dict(node: Any) -> SnapshotRef:
    """Return the branch or tag of a JSON object.

    Raises CorruptFileError; retention must be positive, and a tag only has `max-ref-age-ms`.
    """
    members = as_object(node, "A reference")
    text = required(members, "type", as_text)
    if text.lower() not in tuple(SnapshotRefType):
        raise CorruptFileError(f"'type' must be 'branch' or 'tag', not '{text}'")
    ref = SnapshotRef(
        required(members, "snapshot-id", as_long),
        SnapshotRefType(text.lower()),
        optional(members, "min-snapshots-to-keep", as_int),
        optional(members, "max-snapshot-age-ms", as_long),
        optional(members, "max-ref-age-ms", as_long),
        unknown_members(members, _REF_MEMBERS) or {},
    )
    problem = ref_problem(ref)
    if problem is not None:
        raise CorruptFileError(problem)
    return ref


def ref_problem(ref: SnapshotRef) -> str | None:
    """Return what is invalid in the retention of a reference, None if it is valid."""
    ages = {
        "min-snapshots-to-keep": ref.min_snapshots_to_keep,
        "max-snapshot-age-ms": ref.max_snapshot_age_ms,
        "max-ref-age-ms": ref.max_ref_age_ms,
    }
    for name, value in ages.items():
        if value is not None and value <= 0:
            return f"'{name}' must be positive, not {value}"
        if value is not None and not ref.is_branch and name != "max-ref-age-ms":
            return f"A tag can't have '{name}'"
    return None


def snapshot_log_from_dict(node: Any) -> SnapshotLogEntry:
    """Return an entry of `snapshot-log`. Raises CorruptFileError."""
    members = as_object(node, "An entry")
    return SnapshotLogEntry(
        required(members, "snapshot-id", as_long),
        required(members, "timestamp-ms", as_long),
        unknown_members(members, _SNAPSHOT_LOG_MEMBERS),
    )


def snapshot_log_to_dict(entry: SnapshotLogEntry) -> dict[str, Any]:
    """Return the JSON object of an entry of `snapshot-log`."""
    node: dict[str, Any] = {"timestamp-ms": entry.timestamp_ms, "snapshot-id": entry.snapshot_id}
    return node | dict(entry.extra or {})


def metadata_log_from_dict(node: Any) -> MetadataLogEntry:
    """Return an entry of `metadata-log`. Raises CorruptFileError."""
    members = as_object(node, "An entry")
    return MetadataLogEntry(
        required(members, "metadata-file", as_text),
        required(members, "timestamp-ms", as_long),
        unknown_members(members, _METADATA_LOG_MEMBERS),
    )


def metadata_log_to_dict(entry: MetadataLogEntry) -> dict[str, Any]:
    """Return the JSON object of an entry of `metadata-log`."""
    node: dict[str, Any] = {
        "timestamp-ms": entry.timestamp_ms,
        "metadata-file": entry.metadata_file,
    }
    return node | dict(entry.extra or {})


class ReadOnly(dict[str, str]):
    """A dict that refuses to be changed; `dict(it)` and `it | {...}` are dicts of one's own."""

    __slots__ = ()

    def _refused(self, *_: object, **__: object) -> NoReturn:
        """Raise TypeError."""
        raise TypeError("Table metadata is not changed in place; dict(...) makes a copy")

    __setitem__ = __delitem__ = __ior__ = _refused
    clear = pop = popitem = setdefault = update = _refused

    def __reduce__(self) -> tuple[type[ReadOnly], tuple[dict[str, str]]]:
        """Pickle as a whole: item by item it would be refused."""
        return ReadOnly, (dict(self),)
