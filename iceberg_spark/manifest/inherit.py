"""Values that entries inherit from their manifest (spec: "Sequence Number Inheritance").

Source of the cases: specification, "Manifest Entry Fields" and "First Row ID Inheritance";
Java's InheritableMetadataFactory and ManifestReader.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.errors import CorruptFileError
from iceberg_spark.spec.data_file import ManifestEntryStatus
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile

Array: TypeAlias = Any  # pyarrow ships no types


def inherited_snapshot_id(snapshot_id: Array, manifest: ManifestFile) -> Array:
    """Return snapshot ids, the manifest's where an entry has none."""
    if manifest.added_snapshot_id is None:
        return snapshot_id
    return pc.fill_null(snapshot_id, pa.scalar(manifest.added_snapshot_id, pa.int64()))


def inherited_sequence_number(number: Array, status: Array, manifest: ManifestFile) -> Array:
    """Return data or file sequence numbers, the manifest's for added entries that have none.

    A sequence number of 0 marks a manifest of format version 1, where every entry has 0.
    """
    if manifest.sequence_number is None or not number.null_count:
        return number
    inherit = pa.scalar(manifest.sequence_number, pa.int64())
    if manifest.sequence_number == 0:
        return pc.fill_null(number, inherit)
    added = pc.equal(status, int(ManifestEntryStatus.ADDED))
    return pc.if_else(pc.and_(pc.is_null(number), added), inherit, number)


def check_data_sequence_number(number: Array, status: Array, manifest: ManifestFile) -> None:
    """Raise CorruptFileError for a live file without a data sequence number after inheritance.

    It would be unknown which deletes apply to it.
    """
    if manifest.sequence_number is None or not number.null_count:
        return
    live = pc.not_equal(status, int(ManifestEntryStatus.DELETED))
    if pc.any(pc.and_(pc.is_null(number), live)).as_py():
        raise CorruptFileError(
            f"Manifest {manifest.manifest_path} has existing entries without a data sequence "
            "number; only added ones may inherit it"
        )


def inherited_first_row_id(
    first_row_id: Array, record_count: Array, status: Array, manifest: ManifestFile
) -> Array:
    """Return first row ids: files without one get the next free ones, starting with the manifest's.

    A manifest of an uncommitted snapshot, which is not in any list yet, keeps its own values.
    """
    if manifest.content is not ManifestContent.DATA:
        return first_row_id
    if manifest.first_row_id is None and manifest.sequence_number is None:
        return first_row_id
    if manifest.first_row_id is None:
        return pa.nulls(len(first_row_id), pa.int64())
    live = pc.not_equal(status, int(ManifestEntryStatus.DELETED))
    assigned = pc.and_(pc.is_null(first_row_id), live)
    rows = pc.if_else(assigned, record_count, pa.scalar(0, pa.int64()))
    ends = np.cumsum(rows.to_numpy(zero_copy_only=False))
    starts = pa.array(ends - rows.to_numpy(zero_copy_only=False) + manifest.first_row_id)
    return pc.if_else(assigned, starts, first_row_id)
