"""Rows that several tasks put in order, the tasks one after the other in this process."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import StorageError
from iceberg_spark.maintenance import ordered_rows
from iceberg_spark.maintenance.compaction import CompactionWork, PlannedGroup
from iceberg_spark.maintenance.layout import layout
from iceberg_spark.maintenance.ordered_rows import RangeRows, cut_rows, sampled_keys, write_ranges
from iceberg_spark.maintenance.plan_compaction import CompactionRequest, plan_compaction
from iceberg_spark.maintenance.rewrite_options import rewrite_options
from iceberg_spark.maintenance.row_order import OrderRanges, order_ranges
from iceberg_spark.spec.data_file import DataFile
from iceberg_spark.write.context import TaskId
from tests.limits import set_limits
from tests.unit.api.tables import data_files, make, rows


def made() -> Table:
    """Four files of 100 rows; every other `k` is \"often\"; ten rows are deleted."""
    table = make(**{"write.delete.mode": "merge-on-read"})
    for number in range(4):
        ids = [n * 67 % 400 for n in range(number * 100, number * 100 + 100)]
        table.append(rows(id=ids, k=["often" if n % 2 else f"k{n}" for n in ids]))
    table.delete("id between 40 and 49")
    return table


def planned(table: Table, order: str) -> tuple[CompactionWork, PlannedGroup]:
    wanted = layout(table.metadata, "sort", order)
    options = rewrite_options({"rewrite-all": True}, wanted.strategy, table.metadata)
    found = plan_compaction(table.metadata, table.io, CompactionRequest(wanted, options))
    assert found is not None
    return found.work, found.groups[0]


def ranges_of(
    table: Table, work: CompactionWork, group: PlannedGroup, files: int = 1
) -> OrderRanges:
    tasks = tuple(task for piece in group.pieces for task in piece)
    return order_ranges(work.order, sampled_keys(work, table.io, tasks, 1.0, 0), files, 8)


def arriving(
    table: Table, work: CompactionWork, group: PlannedGroup, ranges: OrderRanges
) -> list[RangeRows]:
    """The rows of each file cut by itself, then by range."""
    tasks = [task for piece in group.pieces for task in piece]
    cut = [each for task in tasks for each in cut_rows(work, table.io, [task], ranges)]
    return sorted(cut, key=lambda each: each.number)


def stored(table: Table, files: tuple[DataFile, ...]) -> list[list[dict[str, Any]]]:
    sources = [pa.BufferReader(table.io.read_bytes(file.file_path)) for file in files]
    return [pq.read_table(source).to_pylist() for source in sources]


def assert_in_order(work: CompactionWork, found: list[dict[str, Any]]) -> None:
    schema = work.write.schema
    keys = work.order.keys(pa.Table.from_pylist(found, to_arrow(schema)), schema)
    assert work.order.places(keys).tolist() == list(range(len(found)))


@pytest.mark.parametrize("order", ["k desc, id", "id", "zorder(k, id)"])
def test_a_file_has_its_ranges_in_order_and_no_deleted_row(order: str) -> None:
    table = made()
    work, group = planned(table, order)
    ranges = ranges_of(table, work, group)
    some = arriving(table, work, group, ranges)
    files = write_ranges(work, table.io, some, ranges, TaskId())
    assert [file.sort_order_id for file in files] == [0]
    (found,) = stored(table, files)
    assert sorted(row["id"] for row in found) == [*range(40), *range(50, 400)]
    assert_in_order(work, found)


def test_a_range_that_is_too_large_to_be_held_makes_files_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = made()
    work, group = planned(table, "id desc")
    ranges = ranges_of(table, work, group)
    some = arriving(table, work, group, ranges)
    set_limits(monkeypatch, ordered_rows, "ORDERING", run_bytes=500)
    files = write_ranges(work, table.io, some, ranges, TaskId())
    assert len(files) > 2
    assert len({file.file_path for file in files}) == len(files)
    found = stored(table, files)
    assert sum(map(len, found)) == 390
    for each in found:
        assert_in_order(work, each)


def test_rows_that_are_alike_need_not_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    table = made()
    work, group = planned(table, "truncate(1, k)")
    ranges = ranges_of(table, work, group)
    some = arriving(table, work, group, ranges)
    set_limits(monkeypatch, ordered_rows, "ORDERING", run_bytes=1)
    (file,) = write_ranges(work, table.io, some, ranges, TaskId())
    assert file.record_count == 390


def test_rows_travel_in_small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = made()
    work, group = planned(table, "k")
    ranges = ranges_of(table, work, group)
    usual = arriving(table, work, group, ranges)
    set_limits(monkeypatch, ordered_rows, "ORDERING", travelling_bytes=200)
    small = arriving(table, work, group, ranges)
    assert len(small) > 2 * len(usual)
    files = write_ranges(work, table.io, small, ranges, TaskId())
    assert sum(file.record_count for file in files) == 390


def test_what_was_written_goes_where_a_later_range_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    table = made()
    work, group = planned(table, "id")
    ranges = ranges_of(table, work, group)
    some = arriving(table, work, group, ranges)
    before = data_files(table)
    set_limits(monkeypatch, ordered_rows, "ORDERING", run_bytes=500)

    def failing() -> Iterator[RangeRows]:
        yield from some[:-1]
        raise StorageError("the shuffle is lost")

    with pytest.raises(StorageError, match="the shuffle is lost"):
        write_ranges(work, table.io, failing(), ranges, TaskId())
    assert data_files(table) == before
