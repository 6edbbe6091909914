"""Verbs on a table that another commit has overtaken: each is planned on the newest version."""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.errors import CommitFailedException, InvalidExpressionError, ValidationException
from tests.unit.api.tables import ids, make, rows

MERGE_ON_READ = {"write.delete.mode": "merge-on-read"}
SCHEMA = "id bigint, k string"


def overtaken(folder: Path, **given: str) -> Table:
    """Ids 1 to 6 in two files and two partitions, of which the table shows the first."""
    table = make(folder / "t", schema=SCHEMA, partition_by=["k"], **given)
    table.append(rows(id=[1, 2, 3], k=["a", "a", "b"]))
    ice.load_table(table.location()).append(rows(id=[4, 5, 6], k=["a", "a", "b"]))
    assert ids(table) == [1, 2, 3]
    return table


def add_a_file(table: Table) -> None:
    folder = Path(table.location()).parent / "more" / "k=a"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": [7]}), folder / "f.parquet")
    table.add_files(str(folder / "f.parquet"))


VERBS: dict[str, tuple[Callable[[Table], object], list[int]]] = {
    "append": (lambda t: t.append(rows(id=[7], k=["a"])), [1, 2, 3, 4, 5, 6, 7]),
    "overwrite": (lambda t: t.overwrite(rows(id=[7], k=["a"])), [7]),
    "overwrite by filter": (
        lambda t: t.overwrite(rows(id=[7], k=["a"]), "id >= 2 and id <= 5"),
        [1, 6, 7],
    ),
    "overwrite of whole files": (
        lambda t: t.overwrite(rows(id=[7], k=["a"]), "k = 'a'", allow_rewrite=False),
        [3, 6, 7],
    ),
    "dynamic overwrite": (
        lambda t: t.dynamic_partition_overwrite(rows(id=[7], k=["a"])),
        [3, 6, 7],
    ),
    "delete": (lambda t: t.delete("id in (1, 4)"), [2, 3, 5, 6]),
    "delete of whole files": (lambda t: t.delete("k = 'a'"), [3, 6]),
    "upsert": (
        lambda t: t.upsert(rows(id=[5, 8], k=["a", "b"]), ["id", "k"]),
        [1, 2, 3, 4, 5, 6, 8],
    ),
    "add files": (add_a_file, [1, 2, 3, 4, 5, 6, 7]),
    "properties": (lambda t: t.update_properties().set({"a": "b"}).commit(), [1, 2, 3, 4, 5, 6]),
    "schema": (lambda t: t.update_schema().add_column("n", "int").commit(), [1, 2, 3, 4, 5, 6]),
    "spec": (lambda t: t.update_spec().remove_field("k").commit(), [1, 2, 3, 4, 5, 6]),
    "sort order": (lambda t: t.update_sort_order().asc("id").commit(), [1, 2, 3, 4, 5, 6]),
    "tag": (lambda t: t.manage_snapshots().create_tag(None, "x").commit(), [1, 2, 3, 4, 5, 6]),
    "nothing to delete": (lambda t: t.delete("id = 77"), [1, 2, 3, 4, 5, 6]),
    "nothing to convert": (
        lambda t: t.maintenance.convert_equality_deletes(),
        [1, 2, 3, 4, 5, 6],
    ),
}


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_sees_and_shows_the_newest_version(name: str, tmp_path: Path) -> None:
    table = overtaken(tmp_path, **{"commit.retry.num-retries": "0"})
    verb, expected = VERBS[name]
    verb(table)
    assert ids(table) == expected == ids(ice.load_table(table.location()))
    if name == "tag":
        assert table.refs()["x"].snapshot_id == table.refs()["main"].snapshot_id


def test_deletes_by_position_reach_rows_that_were_not_shown(tmp_path: Path) -> None:
    table = overtaken(tmp_path, **MERGE_ON_READ)
    assert table.delete("id in (1, 4)").deleted == 2
    assert ids(table) == [2, 3, 5, 6]


def test_names_and_rows_are_those_of_the_newest_schema(tmp_path: Path) -> None:
    table = overtaken(tmp_path)
    with ice.load_table(table.location()).update_schema() as update:
        update.rename_column("id", "number").add_column("n", "int")
    with pytest.raises(InvalidExpressionError, match="id"):
        table.delete("id = 1")
    table.delete("number = 1")
    table.append(pa.table({"number": [9], "k": ["a"], "n": pa.array([1], pa.int32())}))
    assert sorted(table.scan("number > 5").to_arrow()["n"].to_pylist(), key=str) == [1, None]


def test_a_branch_is_changed_at_its_newest_snapshot(tmp_path: Path) -> None:
    table = make(tmp_path / "t", schema=SCHEMA)
    table.append(rows(id=[1]))
    table.manage_snapshots().create_branch(None, "b").commit()
    ice.load_table(table.location()).append(rows(id=[2]), branch="b")
    table.delete("id = 2", branch="b")
    assert table.scan(branch="b").to_arrow()["id"].to_pylist() == [1]


def test_what_a_verb_that_fails_saw_is_not_shown(tmp_path: Path) -> None:
    table = overtaken(tmp_path)
    with pytest.raises(ValidationException, match="as a whole"):
        table.overwrite(rows(id=[7], k=["a"]), "id = 4", allow_rewrite=False)
    assert ids(table) == [1, 2, 3]


def test_transactions_and_scans_stay_with_the_version_that_they_began_with(tmp_path: Path) -> None:
    table = overtaken(tmp_path)
    scan, tx = table.scan(), table.transaction()
    tx.delete("id in (1, 4)")
    table.refresh()
    assert sorted(scan.to_arrow()["id"].to_pylist()) == [1, 2, 3]
    with pytest.raises(ValidationException, match="plan the change again"):
        tx.commit_transaction()


def test_a_table_that_was_made_anew_is_not_changed(tmp_path: Path) -> None:
    table = overtaken(tmp_path)
    table._catalog.drop_table(table.identifier, purge=True)
    again = make(tmp_path / "t", schema=SCHEMA)
    again.append(rows(id=[1]))
    for change in (lambda: table.delete("id = 1"), table.update_schema):
        with pytest.raises(CommitFailedException, match="dropped and created again"):
            change()
    assert ids(again.refresh()) == [1]
