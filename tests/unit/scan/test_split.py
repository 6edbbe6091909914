"""Cutting files into splits and balancing them (Java: TableScanUtil, BinPacking)."""

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.scan.split import (
    SplitOptions,
    Splits,
    adaptive_split_size,
    cut_files,
    merge_adjacent,
    pack,
    split_options,
    weights,
)

MB = 1024 * 1024


def longs(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def cut(
    size: int, offsets: list[int] | None, split_size: int, splittable: bool = True
) -> list[tuple[int, int]]:
    """The (start, length) of one file's splits."""
    lists = pa.array([offsets], pa.list_(pa.int64()))
    splits = cut_files(longs(size), np.array([splittable]), lists, split_size)
    assert splits.file_index.tolist() == [0] * len(splits)
    return list(zip(splits.start.tolist(), splits.length.tolist(), strict=True))


def test_a_file_that_fits_stays_whole() -> None:
    assert cut(100, [4, 50], 100) == [(0, 100)]


def test_a_larger_file_is_cut_at_its_row_groups() -> None:
    assert cut(100, [4, 40, 70], 50) == [(0, 40), (40, 30), (70, 30)]


def test_a_file_without_offsets_is_cut_by_size() -> None:
    assert cut(100, None, 40) == [(0, 40), (40, 40), (80, 20)]


@pytest.mark.parametrize("offsets", [[], [4, 4], [40, 4], [4, 100], [4, 200], [-1, 5]])
def test_offsets_that_make_no_sense_are_not_used(offsets: list[int]) -> None:
    assert cut(100, offsets, 60) == [(0, 60), (60, 40)]


def test_a_format_that_can_not_be_split_stays_whole() -> None:
    assert cut(100, [4, 40], 10, splittable=False) == [(0, 100)]


def test_every_byte_is_in_one_split_and_files_keep_their_order() -> None:
    sizes = longs(30, 100, 10, 250, 0)
    lists = pa.array([[4], [4, 60], None, None, None], pa.list_(pa.int64()))
    splits = cut_files(sizes, np.ones(5, np.bool_), lists, 50)
    assert splits.file_index.tolist() == [0, 1, 1, 2, 3, 3, 3, 3, 3, 4]
    assert splits.start.tolist() == [0, 0, 60, 0, 0, 50, 100, 150, 200, 0]
    assert np.bincount(splits.file_index, splits.length).tolist() == sizes.tolist()


def test_a_split_weighs_its_bytes_and_its_deletes() -> None:
    assert weights(longs(100), longs(20), longs(1), 10).tolist() == [120]


def test_a_split_weighs_at_least_the_opening_of_its_files() -> None:
    assert weights(longs(1, 1), longs(0, 5), longs(0, 2), 10).tolist() == [10, 30]


def test_items_go_to_the_first_group_with_room() -> None:
    assert pack(longs(6, 6, 4, 4), 10, 10) == [[0, 2], [1, 3]]


def test_an_item_heavier_than_the_target_is_alone() -> None:
    assert pack(longs(20, 5, 5), 10, 10) == [[0], [1, 2]]


def test_beyond_the_lookback_the_heaviest_group_is_closed_first() -> None:
    # 5 and 9 are open; 8 opens a third: the 9 goes, so 5 can still take the last 2
    assert pack(longs(5, 9, 8, 2), 10, 2) == [[1], [0, 3], [2]]


def test_with_a_lookback_of_one_groups_are_runs() -> None:
    assert pack(longs(6, 6, 4, 4), 10, 1) == [[0], [1, 2], [3]]


def test_nothing_makes_no_group() -> None:
    assert pack(longs(), 10, 10) == []


def java_pack(items: list[int], target: int, lookback: int) -> list[list[int]]:
    """Java's loop, item by item, without any shortcut."""
    done, bins = [], []
    for item, weight in enumerate(items):
        chosen = next((one for one in bins if one[0] + weight <= target), None)
        if chosen is None:
            chosen = [0, []]
            bins.append(chosen)
        chosen[0] += weight
        chosen[1].append(item)
        if len(bins) > lookback:
            largest = max(bins, key=lambda one: one[0])
            bins.remove(largest)
            done.append(largest[1])
    return done + [one[1] for one in bins]


@pytest.mark.parametrize("seed", range(20))
def test_packing_is_javas(seed: int) -> None:
    source = np.random.default_rng(seed)
    items = source.integers(1, 130, 300)
    lookback = int(source.integers(1, 12))
    assert pack(items.astype(np.int64), 128, lookback) == java_pack(items.tolist(), 128, lookback)


def test_neighbouring_splits_of_a_file_in_a_group_become_one_task() -> None:
    splits = Splits(longs(0, 0, 0, 1), longs(0, 10, 30, 0), longs(10, 20, 5, 7))
    merged, bounds = merge_adjacent(splits, [[0, 1, 3], [2]])
    columns = (merged.file_index, merged.start, merged.length)
    assert [column.tolist() for column in columns] == [[0, 1, 0], [0, 0, 30], [30, 7, 5]]
    assert bounds.tolist() == [0, 2, 3]


def test_no_group_has_no_task() -> None:
    merged, bounds = merge_adjacent(Splits(longs(), longs(), longs()), [])
    assert (len(merged), bounds.tolist()) == (0, [0])


def test_the_split_size_shrinks_when_slots_would_be_idle() -> None:
    assert adaptive_split_size(512 * MB, 8, 128 * MB) == 64 * MB


def test_the_split_size_does_not_shrink_below_16_mib() -> None:
    assert adaptive_split_size(64 * MB, 100, 128 * MB) == 16 * MB
    assert adaptive_split_size(MB, 100, 2 * MB) == 2 * MB


def test_the_split_size_stays_when_there_are_enough_splits() -> None:
    assert adaptive_split_size(1024 * MB, 8, 128 * MB) == 128 * MB


def test_options_default_to_the_table_properties() -> None:
    properties = {
        "read.split.target-size": "1000",
        "read.split.planning-lookback": "3",
        "read.split.open-file-cost": "7",
    }
    assert split_options(properties) == SplitOptions(1000, 3, 7)
    assert split_options({}) == SplitOptions(128 * MB, 10, 4 * MB)
    assert split_options(properties, split_size=5, lookback=2, open_file_cost=0) == SplitOptions(
        5, 2, 0
    )


def test_a_split_size_that_was_asked_for_is_not_adapted() -> None:
    assert split_options({}, split_size=5, parallelism=8).parallelism is None
    assert split_options({}, parallelism=8).parallelism == 8
    off = {"read.split.adaptive-size.enabled": "false"}
    assert split_options(off, parallelism=8).parallelism is None


@pytest.mark.parametrize(
    ("values", "name"),
    [((0, 1, 0), "split-size"), ((1, 0, 0), "lookback"), ((1, 1, -1), "file-open-cost")],
)
def test_bad_options_are_refused_by_name(values: tuple[int, int, int], name: str) -> None:
    with pytest.raises(InvalidOptionError, match=name):
        SplitOptions(*values)
