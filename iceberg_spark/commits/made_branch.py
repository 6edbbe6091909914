"""A branch that is made before what goes on it: removed again where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.errors import CommitStateUnknownException, IcebergError
from iceberg_spark.spec.requirements import AssertRefSnapshotId, AssertTableUuid
from iceberg_spark.spec.updates import RemoveSnapshotRef


@contextmanager
def branch_removed_if_refused(
    catalog: Catalog, identifier: str, branch: str, head: int
) -> Iterator[None]:
    """Remove a branch that was made for the `with` block if that fails, and nothing has landed.

    `head` is the snapshot that it was made at: one that has moved since stays, as does one whose
    removal fails.
    """
    try:
        yield
    except CommitStateUnknownException:
        raise
    except Exception:
        with suppress(IcebergError):
            _remove(catalog, identifier, branch, head)
        raise


def _remove(catalog: Catalog, identifier: str, branch: str, head: int) -> None:
    """Ask once: tried again, the removal could meet another's commit on the branch."""
    base = catalog.load(identifier)
    ref = base.metadata.refs.get(branch)
    if ref is not None and ref.snapshot_id == head:
        same = AssertTableUuid(base.metadata.table_uuid), AssertRefSnapshotId(branch, head)
        catalog.commit(identifier, same, [RemoveSnapshotRef(branch)], base)
