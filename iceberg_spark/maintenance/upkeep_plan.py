"""The maintenance that a table needs, with reasons and costs, from metadata and a listing.

The plan of a healthy table is empty: each part uses the planner of its action.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.expire_snapshots import Expiry, expired_snapshots
from iceberg_spark.errors import InvalidInputError, UnsupportedError, ValidationException
from iceberg_spark.maintenance.layout import layout
from iceberg_spark.maintenance.limits import UPKEEP
from iceberg_spark.maintenance.orphan_files import OrphanSearch, old_enough, remove_orphan_files
from iceberg_spark.maintenance.plan_compaction import CompactionRequest, plan_compaction
from iceberg_spark.maintenance.position_delete_groups import PositionRewrite, plan_position_groups
from iceberg_spark.maintenance.rewrite_options import rewrite_options
from iceberg_spark.maintenance.rewritten_deletes import dangling, planned_deletes
from iceberg_spark.manifest.manifest_list import read_manifest_list
from iceberg_spark.spec.data_file import DataFileContent
from iceberg_spark.spec.manifest_file import ManifestContent
from iceberg_spark.spec.properties import (
    DEFAULT_FILE_FORMAT,
    GC_ENABLED,
    MANIFEST_TARGET_SIZE_BYTES,
    PARQUET_BLOOM_FILTER_COLUMN_PREFIX,
    bool_property,
    positive_property,
    text_property,
)
from iceberg_spark.spec.snapshot import Operation, Snapshot
from iceberg_spark.spec.types import (
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    StringType,
    TimestampType,
    TimestamptzType,
)

_MB = 1024 * 1024
_EXACT = (
    IntegerType | LongType | StringType | DateType | TimestampType | TimestamptzType | DecimalType
)
"""Types whose values can be looked up in Bloom filters by the keys of a MERGE."""


@dataclass(frozen=True, slots=True)
class MaintenanceItem:
    """One item: the method of `t.maintenance`, the reason, the cost and the gain.

    The action `update_properties` is a proposal: `options` are properties to set.
    `bytes` are read and written; `requests` are sent to an object store. Both are approximate.
    `gain` is a sentence with the numbers that the plan knows, for people.
    """

    action: str
    reason: str
    bytes: int
    requests: int
    options: Mapping[str, object] = field(default_factory=dict)
    gain: str = ""

    def __str__(self) -> str:
        return (
            f"{self.action}: {self.reason} ({self.bytes / _MB:,.1f} MB, {self.requests:,} requests)"
        )


Look = Callable[[Catalog, LoadedTable], MaintenanceItem | None]
"""Maps a table's newest version to an item, if there is one."""


def plan_upkeep(catalog: Catalog, table: LoadedTable) -> tuple[MaintenanceItem, ...]:
    """Return the maintenance that a table needs, in the best order.

    Reads the manifests of the main branch, and lists the table's folder if it has at most 50,000
    files. Raises StorageError, CorruptFileError.
    """
    looks = (*LOOKS, keys_without_filters)
    return tuple(item for look in looks if (item := look(catalog, table)) is not None)


def old_snapshots(_: Catalog, table: LoadedTable) -> MaintenanceItem | None:
    """Find snapshots that the table's retention expires."""
    metadata = table.metadata
    if not bool_property(metadata.properties, GC_ENABLED):
        return None
    gone = expired_snapshots(metadata, Expiry(int(time.time() * 1000))).snapshot_ids
    if len(gone) < UPKEEP.snapshots:
        return None
    sizes = (
        metadata.snapshots[snapshot_id].summary.get("removed-files-size", "0")
        for snapshot_id in gone
    )
    freed = sum(int(size) for size in sizes if size.isdigit())
    reason = f"{len(gone):,} snapshots are older than their retention"
    gain = f"Snapshots in the metadata: {len(gone):,} fewer"
    if freed:
        reason += f"; some {freed / _MB:,.1f} MB of files go with them"
        gain += f"; storage: about {freed / _MB:,.1f} MB less"
    return MaintenanceItem(
        "expire_snapshots", reason, 0, 3 * len(metadata.snapshots), gain=f"{gain}."
    )


def badly_made_files(_: Catalog, table: LoadedTable) -> MaintenanceItem | None:
    """Find data files that compaction would rewrite."""
    metadata = table.metadata
    chosen_layout = layout(metadata, None, None)
    request = CompactionRequest(
        chosen_layout, rewrite_options({}, chosen_layout.strategy, metadata)
    )
    try:
        planned = plan_compaction(metadata, table.io, request)
    except UnsupportedError:
        return None
    groups = () if planned is None else planned.groups
    if not groups:
        return None
    files = sum(len(planned_group.group.rows) for planned_group in groups)
    size = sum(planned_group.group.input_bytes for planned_group in groups)
    new_files = sum(planned_group.group.expected_files for planned_group in groups)
    reason = (
        f"{files:,} data files of {size / files / _MB:,.2f} MB on average, small, large or much "
        f"deleted, become about {new_files:,}"
    )
    gain = f"Data files to open: about {new_files:,} instead of {files:,}."
    return MaintenanceItem("rewrite_data_files", reason, 2 * size, 2 * files + new_files, gain=gain)


def equality_deletes(_: Catalog, table: LoadedTable) -> MaintenanceItem | None:
    """Find equality deletes: every scan reads their keys again."""
    planned = planned_deletes(table.metadata, table.io, None)
    equality = DataFileContent.EQUALITY_DELETES
    files = sum(entry.data_file.content is equality for entry in planned.entries)
    if files < UPKEEP.equality_deletes:
        return None
    touched = [
        task
        for task in planned.tasks
        if any(file.content is equality for file in task.delete_files)
    ]
    reason = f"{files:,} equality delete files apply to {len(touched):,} data files"
    size = sum(task.file_size_in_bytes for task in touched)
    gain = f"Data files whose rows are compared with keys: {len(touched):,} fewer."
    return MaintenanceItem(
        "convert_equality_deletes", reason, size, 2 * len(touched) + files, gain=gain
    )


def small_deletes(_: Catalog, table: LoadedTable) -> MaintenanceItem | None:
    """Find position delete files that a rewrite would merge."""
    plans = plan_position_groups(table.metadata, table.io, PositionRewrite({}))
    files = [entry.data_file for plan in plans for entry in plan.removed]
    if not files:
        return None
    size = sum(file.file_size_in_bytes for file in files)
    tasks = sum(len(plan.tasks) for plan in plans)
    if tasks >= len(files):  # one for each data file, as the table wants them
        return None
    reason = f"{len(files):,} position delete files of {size / len(files):,.0f} bytes on average"
    gain = f"Delete files to open: about {tasks:,} instead of {len(files):,}."
    return MaintenanceItem(
        "rewrite_position_delete_files", reason, 2 * size, len(files) + tasks, gain=gain
    )


def dangling_deletes(_: Catalog, table: LoadedTable) -> MaintenanceItem | None:
    """Find delete files that apply to no data file."""
    planned = planned_deletes(table.metadata, table.io, None)
    gone = dangling(planned.tasks, planned.entries)
    if not gone:
        return None
    reason = f"{len(gone):,} delete files apply to no data file"
    size = sum(entry.data_file.file_size_in_bytes for entry in gone)
    gain = f"Delete files in the metadata: {len(gone):,} fewer, of {size:,} bytes."
    return MaintenanceItem("remove_dangling_deletes", reason, 0, 4, gain=gain)


def small_manifests(_: Catalog, table: LoadedTable) -> MaintenanceItem | None:
    """Find many more manifests than the table's size needs."""
    metadata = table.metadata
    head = metadata.branch_head()
    manifests = [] if head is None else list(read_manifest_list(table.io, head, metadata))
    target = positive_property(metadata.properties, MANIFEST_TARGET_SIZE_BYTES)
    count, needed, size = 0, 0, 0
    for content in ManifestContent:
        mine = [
            manifest.manifest_length
            for manifest in manifests
            if manifest.content is content
            and manifest.partition_spec_id == metadata.default_spec_id
        ]
        if mine:
            count, size = count + len(mine), size + sum(mine)
            needed += -(-sum(mine) // target)
    if count < max(UPKEEP.manifests, 2 * needed):
        return None
    reason = f"{count:,} manifests where {needed:,} would suffice: every scan reads them"
    gain = f"Manifests to open: about {needed:,} instead of {count:,}."
    return MaintenanceItem("rewrite_manifests", reason, 2 * size, count + needed, gain=gain)


def orphans(catalog: Catalog, table: LoadedTable) -> MaintenanceItem | None:
    """Find files that nothing refers to, in a folder that is quick to list."""
    head = table.metadata.branch_head()
    file_count = "0" if head is None else (head.summary or {}).get("total-data-files", "0")
    if not file_count.isdigit() or int(file_count) > UPKEEP.listed_files:
        return None
    search = OrphanSearch(old_enough(None, allow_recent=False))
    try:
        result = remove_orphan_files(catalog, table.identifier, search, dry_run=True)
    except (ValidationException, InvalidInputError, UnsupportedError):
        return None  # unclear what is an orphan: no item
    count = result.orphan_files_count
    if not count:
        return None
    reason = f"{count:,} files below the table are orphans and older than three days"
    requests = count + 2 + int(file_count) // 1000
    gain = f"Files in storage: {count:,} fewer."
    return MaintenanceItem("remove_orphan_files", reason, 0, requests, gain=gain)


def keys_without_filters(_: Catalog, table: LoadedTable) -> MaintenanceItem | None:
    """Propose Bloom filters for identifier fields of a table that row-level changes rewrite.

    A MERGE does not record its keys; the identifier fields are the keys that the schema declares.
    Columns by which the files are sorted or partitioned need no filters: bounds suffice.
    """
    metadata = table.metadata
    head = metadata.branch_head()
    changes = sum(
        (snapshot.summary or {}).get("operation") == Operation.OVERWRITE
        for snapshot in metadata.snapshots.values()
    )
    files = _total(head, "total-data-files")
    if changes < UPKEEP.row_changes or files < UPKEEP.keyed_files:
        return None
    order = metadata.sort_orders[metadata.default_sort_order_id].fields[:1]
    arranged = {field.source_id for field in order}
    arranged |= {field.source_id for field in metadata.spec.fields}
    columns = [
        metadata.schema.find_column_name(field_id)
        for field_id in metadata.schema.identifier_field_ids
        if isinstance(metadata.schema.find_type(field_id), _EXACT) and field_id not in arranged
    ]
    missing = {f"{PARQUET_BLOOM_FILTER_COLUMN_PREFIX}{name}": "true" for name in columns}
    missing = {key: text for key, text in missing.items() if key not in metadata.properties}
    if not missing or text_property(metadata.properties, DEFAULT_FILE_FORMAT) != "parquet":
        return None
    reason = (
        f"{changes:,} snapshots changed rows of {files:,} files by key; set "
        f"{', '.join(missing)} and rewrite the data files"
    )
    size = 2 * _total(head, "total-files-size")
    gain = f"Data files that a MERGE of few keys opens: those with its keys, not all {files:,}."
    return MaintenanceItem("update_properties", reason, size, 2 * files, missing, gain)


def _total(snapshot: Snapshot | None, key: str) -> int:
    text = "0" if snapshot is None else (snapshot.summary or {}).get(key, "0")
    return int(text) if text.isdigit() else 0


LOOKS: tuple[Look, ...] = (
    old_snapshots,
    badly_made_files,
    equality_deletes,
    small_deletes,
    dangling_deletes,
    small_manifests,
    orphans,
)
"""The checks of what `run` does, in this order: an earlier item can make later ones needless."""


def one_by_one(catalog: Catalog, newest: Callable[[], LoadedTable]) -> Iterator[MaintenanceItem]:
    """Yield the items one by one, each from the table as the item before has left it."""
    for look in LOOKS:
        item = look(catalog, newest())
        if item is not None:
            yield item
