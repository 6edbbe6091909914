"""What Spark's row-level changes do to row ids: rows keep them, and say when they changed last."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.spec.reserved import LINEAGE_NAMES

MODES = ("copy-on-write", "merge-on-read")
Known = dict[int, tuple[int | None, int | None]]


def numbered(*ids: int, v: int = 0) -> pa.Table:
    values = pa.array([v + each for each in ids], pa.int64())
    return pa.table({"id": pa.array(ids, pa.int64()), "k": [f"k{i % 2}" for i in ids], "v": values})


def made(place: Path, mode: str) -> Table:
    modes = {f"write.{verb}.mode": mode for verb in ("delete", "update", "merge")}
    table = ice.create_table(
        str(place),
        "id bigint, k string, v bigint",
        partition_by="k",
        properties={"format-version": "3", **modes},
    )
    for ids in (range(1, 9), range(9, 13)):
        table.append(numbered(*ids))
    return table


def lineage(table: Table) -> Known:
    found = table.scan(metadata_columns=LINEAGE_NAMES).to_arrow()
    columns = (found[name].to_pylist() for name in ("id", *LINEAGE_NAMES))
    return {number: (row_id, last) for number, row_id, last in zip(*columns, strict=True)}


def check(
    table: Table, before: Known, *, updated: set[int], gone: set[int], new: set[int]
) -> Known:
    """Only updated rows have the commit's number, all that stay their ids, new ones others."""
    found = lineage(table)
    number = table.refresh().metadata.last_sequence_number
    kept = {key: known for key, known in before.items() if key not in gone}
    expected = {
        key: (row_id, number if key in updated else last) for key, (row_id, last) in kept.items()
    }
    assert {key: known for key, known in found.items() if key not in new} == expected
    assert found.keys() == expected.keys() | new
    assert {last for key, (_, last) in found.items() if key in new} <= {number}
    used = {row_id for row_id, _ in before.values()}
    assert used.isdisjoint(found[key][0] for key in new)
    assert len({row_id for row_id, _ in found.values()}) == len(found)
    return found


@pytest.mark.parametrize("mode", MODES)
def test_rows_keep_their_ids_over_updates_merges_and_deletes(
    any_spark: Any, tmp_path: Path, mode: str
) -> None:
    table = made(tmp_path / "t", mode)
    known = lineage(table)
    table.update({"v": "v + 0"}, where="id in (1, 2, 9)")  # the same value is a change too
    known = check(table, known, updated={1, 2, 9}, gone=set(), new=set())
    table.update({"k": "'k0'"}, where="pmod(id, 5) = 3")
    known = check(table, known, updated={3, 8}, gone=set(), new=set())
    source = numbered(2, 3, 4, 20, v=100)
    (
        table.merge(source, "t.id = s.id")
        .when_matched_delete(condition="s.id = 4")
        .when_matched_update({"v": "s.v"}, condition="s.id = 2")
        .when_not_matched_insert_all()
        .when_not_matched_by_source_update({"v": "-1"}, condition="t.id = 12")
        .execute()
    )
    known = check(table, known, updated={2, 12}, gone={4}, new={20})
    upsert = table.merge(numbered(5, 20, 21, v=7), "t.id = s.id")
    upsert.when_matched_update_all().when_not_matched_insert_all().execute()
    known = check(table, known, updated={5, 20}, gone=set(), new={21})
    table.delete("pmod(id, 7) = 0")
    known = check(table, known, updated=set(), gone={7, 21}, new=set())
    values = {row["id"]: row["v"] for row in table.scan().to_arrow().to_pylist()}
    assert values == {
        **{i: i for i in range(1, 12) if i not in (4, 7)},
        2: 102,
        5: 12,
        12: -1,
        20: 27,
    }


def test_a_source_may_not_have_columns_of_lineage(spark: Any, tmp_path: Path) -> None:
    table = made(tmp_path / "t", "copy-on-write")
    source = table.scan(metadata_columns=("_row_id",)).to_df(spark)
    with pytest.raises(ice.errors.InvalidSchemaError, match=r"'_row_id'.*rename"):
        table.merge(source, "t.id = s.id").when_matched_update_all().execute()
