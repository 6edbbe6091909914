"""A small compaction after a write, if the table's properties enable it."""

from __future__ import annotations

import logging

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.commit import CommitState
from iceberg_spark.maintenance.compact import Compaction
from iceberg_spark.maintenance.compaction import run_here
from iceberg_spark.maintenance.layout import layout
from iceberg_spark.maintenance.limits import UPKEEP
from iceberg_spark.maintenance.plan_compaction import CompactionRequest
from iceberg_spark.maintenance.rewrite_options import rewrite_options
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import (
    AUTO_COMPACT_ENABLED,
    AUTO_COMPACT_MIN_FILES,
    bool_property,
    int_property,
)

_log = logging.getLogger(__name__)


def compact_after(catalog: Catalog, before: LoadedTable | None, written: LoadedTable) -> None:
    """Compact small files of a table that was just written to, if its properties enable it.

    Rewrites at most 100 files and 64 MB in this process. `before` is the table before the write,
    None for a new one. Errors are logged: the write is committed and does not fail. The next pass
    takes the remaining files, orphan removal takes unused ones. An interrupt reports that the write
    is committed.
    """
    try:
        if _is_due(None if before is None else before.metadata, written.metadata):
            small_pass(catalog, written).execute()
    except Exception:  # noqa: BLE001 (Spark's errors and bugs too: the write has landed)
        _log.warning("The compaction after a write to %s failed", written.identifier, exc_info=True)
    except BaseException as error:
        raise CommitState(may_have_landed=True, landed=True).unknown(error) from error


def small_pass(catalog: Catalog, loaded: LoadedTable) -> Compaction:
    """Return the bin-pack of a few files."""
    metadata = loaded.metadata
    few = {
        "min-input-files": int_property(metadata.properties, AUTO_COMPACT_MIN_FILES),
        "max-files-to-rewrite": UPKEEP.auto_files,
        "max-file-group-size-bytes": UPKEEP.auto_bytes,
    }
    chosen_layout = layout(metadata, None, None)
    request = CompactionRequest(
        chosen_layout, rewrite_options(few, chosen_layout.strategy, metadata)
    )
    return Compaction(catalog, loaded, request, run_here, most_bytes=UPKEEP.auto_bytes)


def _is_due(before: TableMetadata | None, written: TableMetadata) -> bool:
    """Return whether the write added files to main, and main has enough of them."""
    if not bool_property(written.properties, AUTO_COMPACT_ENABLED):
        return False
    head = written.branch_head()
    if head is None or (before is not None and head == before.branch_head()):
        return False
    former_snapshots = () if before is None else before.snapshots
    came = (
        snapshot.summary or {}
        for key, snapshot in written.snapshots.items()
        if key not in former_snapshots
    )
    if not any("added-data-files" in summary for summary in came):
        return False
    files = int((head.summary or {}).get("total-data-files", "0"))
    return files >= int_property(written.properties, AUTO_COMPACT_MIN_FILES)
