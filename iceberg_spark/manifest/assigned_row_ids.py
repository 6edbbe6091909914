"""First row ids of manifests (specification: "First Row ID Assignment", "Snapshot Row IDs")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.manifest_file import ManifestContent, ManifestFile


@dataclass(frozen=True, slots=True)
class AssignedRowIds:
    """The manifests of a snapshot with their first row ids, and the next one that is free."""

    manifests: tuple[ManifestFile, ...]
    next_row_id: int


def assigned_row_ids(manifests: Iterable[ManifestFile], next_row_id: int) -> AssignedRowIds:
    """Give each data manifest that has no first row id the next free one.

    New manifests lack one, and so do all of a table that was upgraded. As many ids are used up as
    a manifest has live rows, also where existing files have their own already: which of them have
    none is not in the list (Java: ManifestListWriter). Raises InvalidInputError for a manifest
    without counts.
    """
    assigned: list[ManifestFile] = []
    free = next_row_id
    for manifest in manifests:
        if manifest.content is not ManifestContent.DATA or manifest.first_row_id is not None:
            assigned.append(manifest)
            continue
        added, existing = manifest.added_rows_count, manifest.existing_rows_count
        if added is None or existing is None:
            raise InvalidInputError(
                f"Manifest {manifest.manifest_path} lacks row counts, which are needed to assign "
                "row ids"
            )
        assigned.append(replace(manifest, first_row_id=free))
        free += added + existing
    return AssignedRowIds(tuple(assigned), free)
