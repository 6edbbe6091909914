"""A branch that was made for rows that did not come."""

from pathlib import Path

import pytest

from iceberg_spark import Table
from iceberg_spark.commits.manage_snapshots import branch_removed_if_refused
from iceberg_spark.errors import CommitStateUnknownException, InvalidInputError
from tests.unit.api.tables import make, rows

REFUSED = InvalidInputError("no")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    made = make(tmp_path)
    made.append(rows(id=[1], k=["a"]))
    made.manage_snapshots().create_branch(None, "audit").commit()
    return made


def failed(table: Table, error: Exception, *, lands: bool = False) -> set[str]:
    """The references that are left after a block that made the branch has failed."""
    head = table.refs()["audit"].snapshot_id
    catalog, name = table._catalog, table.identifier

    def work() -> None:
        with branch_removed_if_refused(catalog, name, "audit", head):
            if lands:
                table.append(rows(id=[2], k=["b"]), branch="audit")
            raise error

    with pytest.raises(type(error)):
        work()
    return set(table.refresh().refs())


def test_it_goes_with_what_was_refused(table: Table) -> None:
    assert failed(table, REFUSED) == {"main"}


def test_it_stays_where_something_landed_on_it(table: Table) -> None:
    assert failed(table, REFUSED, lands=True) == {"main", "audit"}


def test_it_stays_where_something_may_have_landed(table: Table) -> None:
    assert failed(table, CommitStateUnknownException("perhaps")) == {"main", "audit"}


def test_it_stays_where_nothing_fails(table: Table) -> None:
    head = table.refs()["audit"].snapshot_id
    with branch_removed_if_refused(table._catalog, table.identifier, "audit", head):
        pass
    assert set(table.refresh().refs()) == {"main", "audit"}
