"""Which snapshot a scan reads, and with which schema.

Source: specification "Point in Time Reads"; Java's `SnapshotUtil.schemaFor` and
`BaseIncrementalScan`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from iceberg_spark.errors import InvalidOptionError, NoSuchSnapshotError
from iceberg_spark.spec.ancestry import ancestors, snapshot_at
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.nearest import did_you_mean
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.snapshot import MAIN_BRANCH

_OPTION_NAMES = {
    "snapshot_id": "snapshot-id",
    "as_of_timestamp_ms": "as-of-timestamp",
    "branch": "branch",
    "tag": "tag",
    "version_as_of": "versionAsOf",
    "start_snapshot_id": "start-snapshot-id",
    "end_snapshot_id": "end-snapshot-id",
}
_INCREMENTAL = frozenset({"start_snapshot_id", "end_snapshot_id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotChoice:
    """A user's choice of the snapshot: at most one way of selecting it, or a range.

    `version_as_of` is a snapshot id, branch or tag, `as_of_timestamp_ms` ms since the epoch.
    `start_snapshot_id` (exclusive) selects the rows appended after it, up to `end_snapshot_id`.
    """

    snapshot_id: int | None = None
    as_of_timestamp_ms: int | None = None
    branch: str | None = None
    tag: str | None = None
    version_as_of: str | int | None = None
    start_snapshot_id: int | None = None
    end_snapshot_id: int | None = None

    @property
    def given(self) -> frozenset[str]:
        """The names of the options that are set."""
        return frozenset(name for name in _OPTION_NAMES if getattr(self, name) is not None)


@dataclass(frozen=True, slots=True)
class ChosenSnapshot:
    """A pinned snapshot (None: the table or branch is empty) and the schema to read it with."""

    snapshot_id: int | None
    schema: Schema
    start_snapshot_id: int | None = None


def choose_snapshot(metadata: TableMetadata, choice: SnapshotChoice) -> ChosenSnapshot:
    """Resolve a choice. Raises InvalidOptionError and NoSuchSnapshotError."""
    names = choice.given
    if names & _INCREMENTAL:
        _check_exclusive(names - _INCREMENTAL - {"branch"}, _INCREMENTAL & names)
        return _appends(metadata, choice)
    _check_exclusive(names, names)
    if choice.version_as_of is not None:
        return _version(metadata, choice.version_as_of)
    if choice.snapshot_id is not None:
        return _by_id(metadata, choice.snapshot_id)
    if choice.as_of_timestamp_ms is not None:
        return _by_id(metadata, snapshot_at(metadata, choice.as_of_timestamp_ms).snapshot_id)
    if choice.tag is not None:
        return _tag(metadata, choice.tag)
    return _branch(metadata, choice.branch or MAIN_BRANCH)


def _check_exclusive(selectors: Iterable[str], chosen: Iterable[str]) -> None:
    names = sorted(_OPTION_NAMES[name] for name in {*selectors, *chosen})
    if selectors and len(names) > 1:
        listed = " and ".join(f"'{name}'" for name in names)
        raise InvalidOptionError(f"Options {listed} exclude each other: set one of them")


def _by_id(metadata: TableMetadata, snapshot_id: int) -> ChosenSnapshot:
    """Return a snapshot with its own schema; the current one if the writer recorded none."""
    schema_id = metadata.snapshot(snapshot_id).schema_id
    if schema_id is None:
        return ChosenSnapshot(snapshot_id, metadata.schema)
    return ChosenSnapshot(snapshot_id, metadata.schemas.get(schema_id, metadata.schema))


def _version(metadata: TableMetadata, version: str | int) -> ChosenSnapshot:
    text = str(version)
    if text.lstrip("-").isdigit() and int(text) in metadata.snapshots:
        return _by_id(metadata, int(text))
    if text in metadata.refs and not metadata.refs[text].is_branch:
        return _tag(metadata, text)
    if text in metadata.refs or text == MAIN_BRANCH:
        return _branch(metadata, text)
    raise NoSuchSnapshotError(
        f"No snapshot, branch or tag {text} in {metadata.location}; {_known_refs(metadata)}"
    )


def _tag(metadata: TableMetadata, name: str) -> ChosenSnapshot:
    ref = metadata.refs.get(name)
    if ref is None:
        raise NoSuchSnapshotError(f"No tag {name} in {metadata.location}; {_known_refs(metadata)}")
    if ref.is_branch:
        raise NoSuchSnapshotError(f"{name} is a branch of {metadata.location}, not a tag")
    return _by_id(metadata, ref.snapshot_id)


def _branch(metadata: TableMetadata, name: str) -> ChosenSnapshot:
    ref = metadata.refs.get(name)
    if ref is None and name != MAIN_BRANCH:
        raise NoSuchSnapshotError(
            f"No branch {name} in {metadata.location}; {_known_refs(metadata)}"
            f"{did_you_mean(str(name), metadata.refs)}"
        )
    if ref is not None and not ref.is_branch:
        raise NoSuchSnapshotError(f"{name} is a tag of {metadata.location}, not a branch")
    head = metadata.branch_head(name)
    return ChosenSnapshot(None if head is None else head.snapshot_id, metadata.schema)


def _known_refs(metadata: TableMetadata) -> str:
    names = ", ".join(sorted({MAIN_BRANCH, *metadata.refs}))
    return f"it has the branches and tags {names}"


def _appends(metadata: TableMetadata, choice: SnapshotChoice) -> ChosenSnapshot:
    start = choice.start_snapshot_id
    if start is None:
        raise InvalidOptionError(
            "Option 'end-snapshot-id' needs 'start-snapshot-id' (exclusive): to read the table at "
            "one snapshot use 'snapshot-id'"
        )
    head = _branch(metadata, choice.branch or MAIN_BRANCH).snapshot_id
    end = head if choice.end_snapshot_id is None else choice.end_snapshot_id
    if end is None:
        raise NoSuchSnapshotError(f"{metadata.location} has no snapshot: nothing was appended")
    metadata.snapshot(end)
    lineage = tuple(ancestors(metadata, end))
    if start != end and start not in {snapshot.parent_snapshot_id for snapshot in lineage}:
        raise NoSuchSnapshotError(
            f"Snapshot {start} (start-snapshot-id) is not an ancestor of snapshot {end} in "
            f"{metadata.location}"
        )
    if choice.branch is not None and head is not None:
        _check_on_branch(metadata, choice.branch, head, end)
    return ChosenSnapshot(end, metadata.schema, start)


def _check_on_branch(metadata: TableMetadata, branch: str, head: int, end: int) -> None:
    if end not in {snapshot.snapshot_id for snapshot in ancestors(metadata, head)}:
        raise NoSuchSnapshotError(
            f"Snapshot {end} (end-snapshot-id) is not on branch {branch} of {metadata.location}"
        )
