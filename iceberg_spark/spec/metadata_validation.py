"""Rules that tie the parts of table metadata together (specification, "Table Metadata Fields")."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import TypeVar

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.compatibility import check_order, check_spec
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.snapshot import MAIN_BRANCH

CLOCK_TOLERANCE_MS = 60_000  # clocks of committing machines differ (Java: ONE_MINUTE)
T = TypeVar("T")


def by_id(items: Iterable[T], key: Callable[[T], int], what: str) -> dict[int, T]:
    """Index by id. Raises CorruptFileError for a repeated id."""
    indexed: dict[int, T] = {}
    for item in items:
        number = key(item)
        if number in indexed:
            raise CorruptFileError(f"Two {what} have the id {number}")
        indexed[number] = item
    return indexed


def validate(metadata: TableMetadata) -> None:
    """Check the rules that tie the parts together.

    Raises CorruptFileError naming the rule, InvalidSchemaError for the default spec and order.
    """
    _check_defaults(metadata)
    _check_sequence_numbers(metadata)
    _check_current_snapshot(metadata)
    _check_refs(metadata)
    _check_logs(metadata)


def _check_defaults(metadata: TableMetadata) -> None:
    for key, number, available in (
        ("current-schema-id", metadata.current_schema_id, metadata.schemas),
        ("default-spec-id", metadata.default_spec_id, metadata.partition_specs),
        ("default-sort-order-id", metadata.default_sort_order_id, metadata.sort_orders),
    ):
        if number not in available:
            ids = ", ".join(str(available_id) for available_id in available) or "none"
            raise CorruptFileError(f"'{key}' is {number}, but the existing ids are: {ids}")
    check_spec(metadata.spec, metadata.schema)
    check_order(metadata.sort_order, metadata.schema)


def _check_sequence_numbers(metadata: TableMetadata) -> None:
    if not metadata.rules.has_sequence_numbers and metadata.last_sequence_number != 0:
        raise CorruptFileError(
            f"'last-sequence-number' is {metadata.last_sequence_number}, "
            "but format v1 has no sequence numbers"
        )
    for snapshot in metadata.snapshots.values():
        if snapshot.sequence_number > metadata.last_sequence_number:
            raise CorruptFileError(
                f"Snapshot {snapshot.snapshot_id} has the sequence number "
                f"{snapshot.sequence_number}, above 'last-sequence-number' "
                f"{metadata.last_sequence_number}"
            )


def _check_current_snapshot(metadata: TableMetadata) -> None:
    current = metadata.current_snapshot_id
    if current is not None and current not in metadata.snapshots:
        raise CorruptFileError(f"'current-snapshot-id' {current} is not among the snapshots")


def _check_refs(metadata: TableMetadata) -> None:
    for name, ref in metadata.refs.items():
        if ref.snapshot_id not in metadata.snapshots:
            raise CorruptFileError(
                f"Reference '{name}' points to snapshot {ref.snapshot_id}, which is not there"
            )
    main = metadata.refs.get(MAIN_BRANCH)
    if main is None:
        return
    if not main.is_branch:
        raise CorruptFileError("Reference 'main' is a tag; it must be a branch")
    if main.snapshot_id != metadata.current_snapshot_id:
        raise CorruptFileError(
            f"Branch 'main' points to snapshot {main.snapshot_id}, "
            f"but 'current-snapshot-id' is {metadata.current_snapshot_id}"
        )


def _check_logs(metadata: TableMetadata) -> None:
    for key, times in (
        ("snapshot-log", [entry.timestamp_ms for entry in metadata.snapshot_log]),
        ("metadata-log", [entry.timestamp_ms for entry in metadata.metadata_log]),
    ):
        for before, after in pairwise((*times, metadata.last_updated_ms) if times else ()):
            if after - before < -CLOCK_TOLERANCE_MS:
                raise CorruptFileError(
                    f"'{key}' and 'last-updated-ms' are not in order of time: "
                    f"{before} comes before {after}"
                )
