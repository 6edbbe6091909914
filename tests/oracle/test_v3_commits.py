"""Tables of format version 3 that Java and the product change by turns."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.spec.reserved import LINEAGE_NAMES
from tests.oracle.java_api import delete_equal, identifier, load, location, read

COLUMNS = "id bigint, k bigint"
WHERE = "k = 1"
MODES = ("write.delete.mode", "write.update.mode", "write.merge.mode")


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "k": pa.array([i % 3 for i in ids])})


def ids(table: pa.Table) -> list[int]:
    return sorted(table["id"].to_pylist())


def next_row_id(java: SparkSession, name: str) -> int:
    return int(load(java, name).operations().refresh().nextRowId())


def javas_row_ids(java: SparkSession, name: str) -> set[tuple[int | None, ...]]:
    found = java.sql(f"SELECT id, _row_id, _last_updated_sequence_number FROM {identifier(name)}")
    return {tuple(row) for row in found.collect()}


@pytest.mark.parametrize("upgraded_from", [1, 2, None])
def test_java_and_the_product_take_turns_and_agree_on_row_ids(
    java: SparkSession, upgraded_from: int | None
) -> None:
    name = f"v3_turns_{upgraded_from or 'new'}"
    place = location(java, name)
    first = {"format-version": str(upgraded_from or 3)}
    table: Table = ice.create_table(place, COLUMNS, partition_by="k", properties=first)
    table.append(rows(1, 2, 3, 4))
    if upgraded_from is not None:
        table.update_properties().set({"format-version": "3"}).commit()
        assert {row[1:] for row in javas_row_ids(java, name)} == {(None, None)}
        table.append(rows(5))
    java.sql(f"REFRESH TABLE {identifier(name)}")
    java.sql(f"INSERT INTO {identifier(name)} VALUES (6, 0), (7, 1)")
    assert table.refresh().metadata.next_row_id == next_row_id(java, name)
    before = javas_row_ids(java, name)
    assert len({row[1] for row in before}) == len(before)
    table.delete(WHERE)
    java.sql(f"REFRESH TABLE {identifier(name)}")
    assert javas_row_ids(java, name) == {row for row in before if row[0] not in {1, 4, 7}}
    java.sql(f"DELETE FROM {identifier(name)} WHERE k = 2")
    table.refresh().append(rows(8))
    assert ids(read(java, place)) == ids(table.refresh().scan().to_arrow()) == [3, 6, 8]
    java.sql(f"REFRESH TABLE {identifier(name)}")
    assert table.metadata.next_row_id == next_row_id(java, name)


@dataclass
class Turns:
    """A table that both change, the ids it should hold, and the lineage of each row."""

    java: SparkSession
    name: str
    table: Table
    left: set[int]
    lives: dict[int, tuple[int | None, ...]] = field(default_factory=dict)

    def javas(self, text: str) -> None:
        """Have Java change the newest version; NAME is the table."""
        self.java.sql(f"REFRESH TABLE {identifier(self.name)}")
        self.java.sql(text.replace("NAME", identifier(self.name)))

    def renamed(self, old: int, new: int) -> None:
        """A row has another id from now on, and is the same row."""
        self.lives[new] = self.lives.pop(old)

    def agree(
        self, *, gone: Iterable[int] = (), new: Iterable[int] = (), changed: Iterable[int] = ()
    ) -> None:
        """We read what Java reads; rows that nobody changed have the lineage that they had."""
        self.left = (self.left - set(gone)) | set(new)
        self.table.refresh()
        reader = self.java.read.format("iceberg").load(self.table.location())
        theirs = reader.select("id", *LINEAGE_NAMES).toArrow().to_pylist()
        scan = self.table.scan(selected_fields=("id",), metadata_columns=LINEAGE_NAMES)
        assert sorted(map(str, scan.to_arrow().to_pylist())) == sorted(map(str, theirs))
        found = {row["id"]: tuple(row[each] for each in LINEAGE_NAMES) for row in theirs}
        assert found.keys() == self.left
        same = (self.left - set(new) - set(changed)) & self.lives.keys()
        assert {key: found[key] for key in same} == {key: self.lives[key] for key in same}
        assert [found[key][0] for key in changed] == [self.lives[key][0] for key in changed]
        report = self.table.maintenance.check()
        assert report.is_sound, str(report)
        self.lives = found


def test_an_upgraded_table_with_deletes_is_changed_by_both_in_turns(java: SparkSession) -> None:
    """Deletes of before the upgrade, of both kinds, stay valid; old snapshots are as they were."""
    name = "v3_upgraded_with_deletes"
    place = location(java, name)
    table = ice.create_table(place, COLUMNS, partition_by="k", properties={"format-version": "1"})
    table.append(rows(*range(1, 10)))
    table.update_properties().set({"format-version": "2"}).commit()
    table.update_properties().set(dict.fromkeys(MODES, "merge-on-read")).commit()
    table.refresh().delete("id = 2")
    delete_equal(java, name, "SELECT 3L AS id", ["id"])
    table.refresh().append(rows(10, 11, 12))
    before = [one.snapshot_id for one in table.refresh().snapshots()]
    held = {each: ids(table.scan(snapshot_id=each).to_arrow()) for each in before}
    table.update_properties().set({"format-version": "3"}).commit()
    turns = Turns(java, name, table, {1, *range(4, 13)})
    turns.agree()
    assert set(turns.lives.values()) == {(None, None)}
    turns.lives = {}
    table.delete("id = 4")
    turns.agree(gone=[4])
    turns.javas("DELETE FROM NAME WHERE id IN (5, 10)")
    turns.agree(gone=[5, 10])
    table.update({"id": "id + 100"}, where="id = 7")
    turns.renamed(7, 107)
    turns.agree(gone=[7], new=[107], changed=[107])
    turns.javas("UPDATE NAME SET id = id + 100 WHERE id = 1")
    turns.renamed(1, 101)
    turns.agree(gone=[1], new=[101], changed=[101])
    table.upsert(rows(8), keys=["id", "k"])
    turns.agree(new=[8])
    assert {each: ids(table.scan(snapshot_id=each).to_arrow()) for each in before} == held
    for each in before:
        assert ids(read(java, place, versionAsOf=str(each))) == held[each]
