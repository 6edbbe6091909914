"""Builders of changes as context managers."""

from pathlib import Path

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return ice.create_table(f"{tmp_path}/t", "id bigint")


def versions(table: Table) -> int:
    return len(list(Path(table.location().removeprefix("file://")).glob("metadata/v*.json")))


def test_what_was_committed_in_a_block_is_not_committed_again(table: Table) -> None:
    with table.update_properties() as update:
        update.set(owner="a").commit()
        assert repr(update).startswith("UpdateProperties, committed:")
    with table.update_schema() as schema:
        schema.add_column("name", "string").commit()
    assert versions(table) == 3


def test_what_follows_a_commit_in_a_block_is_committed_at_its_end(table: Table) -> None:
    table.append(pa.table({"id": [1]}))
    with table.manage_snapshots() as refs:
        refs.create_branch(None, "one").commit()
        refs.create_branch(None, "two")
    with table.update_properties() as update:
        update.set(owner="a").commit()
        update.set(team="b")
    assert set(table.refs()) == {"main", "one", "two"}
    assert (table.properties["owner"], table.properties["team"]) == ("a", "b")


def test_a_block_that_fails_commits_nothing(table: Table) -> None:
    with pytest.raises(ZeroDivisionError), table.update_properties() as update:
        update.set(owner=str(1 // 0))
    assert versions(table) == 1
