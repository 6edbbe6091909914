"""Batches of applications on small tables."""

from iceberg_spark import Table
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.commits.batch_token import committed_version
from iceberg_spark.spec.requirements import requirements_for
from iceberg_spark.spec.txn import Token
from iceberg_spark.spec.updates import RemoveSnapshots
from tests.unit.api.tables import rows

ROW = rows(id=[1], k=["a"])
CATALOG = FileSystemCatalog("others")


def append(table: Table, app: str, version: int, branch: str = "main") -> None:
    table.append(ROW, txn_app_id=app, txn_version=version, branch=branch)


def is_committed(table: Table, app: str, version: int, branch: str = "main") -> bool:
    table.refresh()
    return committed_version(table.metadata, table.io, Token(app, version, branch)) is not None


def expired_by_others(table: Table, *snapshot_ids: int) -> None:
    """Expire snapshots as engines do that know nothing of batches."""
    base = CATALOG.load(table.location())
    updates = (RemoveSnapshots(snapshot_ids),)
    CATALOG.commit(table.location(), requirements_for(base.metadata, updates), updates, base)
    table.refresh()


def head(table: Table) -> int:
    found = table.refresh().current_snapshot()
    assert found is not None
    return found.snapshot_id
