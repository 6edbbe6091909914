"""A branch that is created before its first change, and removed if that fails."""

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
    """Remove the branch created for the `with` block if the block fails and nothing is committed.

    `head` is the snapshot that the branch was created at. A branch that has moved since stays. So
    does a branch whose removal fails.
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
    """Try once: a retry could remove another writer's commit on the branch."""
    base = catalog.load(identifier)
    ref = base.metadata.refs.get(branch)
    if ref is not None and ref.snapshot_id == head:
        same = AssertTableUuid(base.metadata.table_uuid), AssertRefSnapshotId(branch, head)
        catalog.commit(identifier, same, [RemoveSnapshotRef(branch)], base)
