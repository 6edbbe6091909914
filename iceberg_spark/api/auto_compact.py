"""A small compaction after a write, where the table asks for it."""

from __future__ import annotations

from iceberg_spark.catalog.catalog import Catalog, LoadedTable
from iceberg_spark.commits.commit import Handover
from iceberg_spark.engines.compact_table import compaction
from iceberg_spark.maintenance.limits import UPKEEP
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.properties import (
    AUTO_COMPACT_ENABLED,
    AUTO_COMPACT_MIN_FILES,
    bool_property,
    int_property,
)


def compact_after(catalog: Catalog, before: LoadedTable, written: LoadedTable) -> None:
    """Compact some small files of a table that was just written to, if its properties say so.

    At most 100 files and 64 MB, in this process or the active session. Whatever fails, the write
    has landed and does not fail: what is left over is taken by the next pass, or by orphan
    removal. An interrupt says that the write has landed.
    """
    try:
        if _is_due(before.metadata, written.metadata):
            few = {
                "min-input-files": int_property(
                    written.metadata.properties, AUTO_COMPACT_MIN_FILES
                ),
                "max-files-to-rewrite": UPKEEP.auto_files,
                "max-file-group-size-bytes": UPKEEP.auto_bytes,
            }
            compaction(catalog, written, None, None, None, few, None, None).execute()
    except Exception:  # noqa: BLE001 (the write has landed: it does not fail)
        return
    except BaseException as error:
        raise Handover(may_have_landed=True, landed=True).unknown(error) from error


def _is_due(before: TableMetadata, written: TableMetadata) -> bool:
    """Return whether files came to the main branch, and it has enough of them, small on average."""
    if not bool_property(written.properties, AUTO_COMPACT_ENABLED):
        return False
    head = written.branch_head()
    if head is None or head == before.branch_head():
        return False
    summary = head.summary or {}
    if "added-data-files" not in summary:
        return False
    files = int(summary.get("total-data-files", "0"))
    return files >= int_property(written.properties, AUTO_COMPACT_MIN_FILES)
