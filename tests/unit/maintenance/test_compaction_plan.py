"""Which files a compaction rewrites together: Java's arithmetic and the cases of its own tests."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iceberg_spark.maintenance.compaction_plan import (
    Candidates,
    expected_output_files,
    max_file_bytes,
    plan_groups,
    split_bytes,
)
from iceberg_spark.maintenance.rewrite_options import FileSizes, GroupOptions, JobOrder

MB = 1024**2
SIZES = FileSizes(500, 250, 750)


def candidates(
    sizes: Sequence[int],
    partition: Sequence[int] | None = None,
    records: Sequence[int] | None = None,
    delete_files: Sequence[int] | None = None,
    deleted: Sequence[int] | None = None,
) -> Candidates:
    def longs(values: Sequence[int] | None, usual: int) -> Any:
        return np.array([usual] * len(sizes) if values is None else values, np.int64)

    return Candidates(
        longs(partition, 0),
        np.array(sizes, np.int64),
        longs(records, 100),
        longs(delete_files, 0),
        longs(deleted, 0),
    )


def groups(files: Candidates, **options: Any) -> list[list[int]]:
    wanted = GroupOptions(**{"sizes": SIZES, **options})
    return [group.rows.tolist() for group in plan_groups(files, wanted).groups]


def test_files_of_a_good_size_are_left_alone() -> None:
    assert groups(candidates([100, 450, 1000])) == [[0, 2]]


def test_a_group_needs_files_or_bytes_enough() -> None:
    small = FileSizes(1000, 150, 5000)
    assert groups(candidates([100] * 4), sizes=small, min_input_files=3) == [[0, 1, 2, 3]]
    assert groups(candidates([100] * 4), sizes=small, min_input_files=5) == []
    assert groups(candidates([249, 249, 3]), min_input_files=5) == [[0, 1, 2]]
    assert groups(candidates([249, 249, 2]), min_input_files=5) == []
    assert groups(candidates([100]), min_input_files=1) == []
    assert groups(candidates([751])) == [[0]]


def test_files_with_many_delete_files_are_rewritten() -> None:
    files = candidates([500, 500, 500], delete_files=[1, 2, 3])
    assert groups(files, delete_file_threshold=2) == [[1, 2]]
    assert groups(files) == []


def test_files_with_many_deleted_rows_are_rewritten() -> None:
    files = candidates([500] * 4, None, [100, 100, 100, 0], [1, 1, 0, 1], [29, 30, 90, 5])
    assert groups(files) == [[1]]
    assert groups(files, delete_ratio_threshold=0.29) == [[0, 1]]
    assert groups(candidates([500], None, [10], [2], [25]), delete_ratio_threshold=1) == [[0]]


def test_all_files_are_rewritten_on_request() -> None:
    assert groups(candidates([500, 100]), rewrite_all=True) == [[0, 1]]
    assert groups(candidates([]), rewrite_all=True) == []


def test_a_group_is_of_one_partition() -> None:
    files = candidates([10] * 6, [7, 3, 7, 3, 7, 1])
    assert groups(files, min_input_files=2) == [[0, 2, 4], [1, 3]]
    assert groups(files, rewrite_all=True) == [[0, 2, 4], [1, 3], [5]]


def test_groups_are_bounded_in_bytes_and_files() -> None:
    sizes = [10, 10, 10, 30, 5]
    assert groups(candidates(sizes), rewrite_all=True, max_group_bytes=20) == [
        [0, 1],
        [2],
        [3],
        [4],
    ]
    assert groups(candidates(sizes), rewrite_all=True, max_group_files=2) == [
        [0, 1],
        [2, 3],
        [4],
    ]


def test_no_more_files_than_requested_are_rewritten() -> None:
    files = candidates([10] * 5, [0, 0, 0, 1, 1])
    assert groups(files, rewrite_all=True, max_files=2) == [[0, 1]]
    assert groups(files, rewrite_all=True, max_files=4) == [[0, 1, 2], [3]]
    asked = GroupOptions(SIZES, rewrite_all=True, max_files=2)
    assert plan_groups(files, asked).total == 2


@pytest.mark.parametrize(
    ("order", "first"),
    [
        (JobOrder.NONE, [0, 1, 2]),
        (JobOrder.BYTES_ASC, [2, 0, 1]),
        (JobOrder.BYTES_DESC, [1, 0, 2]),
        (JobOrder.FILES_ASC, [1, 2, 0]),
        (JobOrder.FILES_DESC, [0, 2, 1]),
    ],
)
def test_groups_come_in_the_order_of_the_job(order: JobOrder, first: list[int]) -> None:
    # partition 0: three files of 20 bytes; 1: one of 100; 2: two of 5
    files = candidates([20, 20, 20, 100, 5, 5], [0, 0, 0, 1, 2, 2])
    found = groups(files, rewrite_all=True, job_order=order)
    assert [{0: 0, 3: 1, 4: 2}[rows[0]] for rows in found] == first


def test_a_small_remainder_goes_into_the_other_files() -> None:
    wanted = FileSizes(512 * MB, 256 * MB, 768 * MB)
    assert expected_output_files(580 * MB, wanted) == 2  # 13 % more is too much for one
    assert expected_output_files(5121 * MB, wanted) == 10
    assert expected_output_files(5 * 512 * MB + 257 * MB, wanted) == 6
    assert split_bytes(580 * MB, wanted) == 512 * MB
    assert split_bytes(550 * MB, wanted) == 550 * MB + 5 * 1024
    assert max_file_bytes(wanted) == 640 * MB


@given(
    size=st.integers(0, 10_000),
    target=st.integers(2, 500),
    least=st.integers(0, 499),
    over=st.integers(1, 1000),
    factor=st.sampled_from([0.1, 0.5, 1.0, 1.7, 3.0]),
)
def test_sizes_are_javas(size: int, target: int, least: int, over: int, factor: float) -> None:
    wanted = FileSizes(target, min(least, target - 1), target + over, factor)
    files = _java_files(int(size * factor), wanted)
    assert expected_output_files(size, wanted) == files
    estimated = size // files + 5 * 1024
    full = int(target + over * 0.5)
    expected = target if estimated < target else min(estimated, full)
    assert split_bytes(size, wanted) == expected


def _java_files(size: int, wanted: FileSizes) -> int:
    """`expectedOutputFiles`, line by line."""
    if size < wanted.target:
        return 1
    with_remainder = math.ceil(size / wanted.target)
    without_remainder = size // wanted.target
    average = size // without_remainder
    if size % wanted.target > wanted.least:
        return with_remainder
    write_max = int(wanted.target + (wanted.most - wanted.target) * 0.5)
    if average < min(1.1 * wanted.target, write_max):
        return without_remainder
    return with_remainder


FILES = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 1500),
        st.integers(0, 20),
        st.integers(0, 3),
        st.integers(0, 25),
    ),
    max_size=30,
)


@given(
    files=FILES,
    rewrite_all=st.booleans(),
    min_input=st.integers(1, 6),
    max_bytes=st.integers(1, 4000),
    max_files=st.integers(1, 8),
    threshold=st.sampled_from([0, 2, 1 << 31]),
    ratio=st.sampled_from([0.1, 0.3, 1.0]),
)
def test_groups_are_javas(
    files: list[tuple[int, ...]],
    rewrite_all: bool,
    min_input: int,
    max_bytes: int,
    max_files: int,
    threshold: int,
    ratio: float,
) -> None:
    columns = [list(column) for column in zip(*files, strict=True)] or [[], [], [], [], []]
    asked = GroupOptions(SIZES, min_input, rewrite_all, max_bytes, max_files, threshold, ratio)
    made = candidates(columns[1], columns[0], *columns[2:])
    found = [group.rows.tolist() for group in plan_groups(made, asked).groups]
    assert found == list(_java_groups(files, asked))


def _java_groups(files: list[tuple[int, ...]], asked: GroupOptions) -> Iterator[list[int]]:
    """`BinPackRewriteFilePlanner.planFileGroups` with a bin at a time, in Java's words."""
    by_partition: dict[int, list[int]] = {}
    for row, file in enumerate(files):
        if asked.rewrite_all or _java_chosen(file, asked, asked.sizes):
            by_partition.setdefault(file[0], []).append(row)
    for rows in sorted(by_partition.values(), key=lambda rows: rows[0]):
        for group in _java_bins(rows, files, asked):
            size = sum(files[row][1] for row in group)
            if (
                asked.rewrite_all
                or (len(group) > 1 and len(group) >= asked.min_input_files)
                or (len(group) > 1 and size > asked.sizes.target)
                or size > asked.sizes.most
                or any(_java_deleted(files[row], asked) for row in group)
            ):
                yield group


def _java_bins(
    rows: list[int], files: list[tuple[int, ...]], asked: GroupOptions
) -> Iterator[list[int]]:
    current: list[int] = []
    for row in rows:
        size = sum(files[each][1] for each in current) + files[row][1]
        if current and (size > asked.max_group_bytes or len(current) >= asked.max_group_files):
            yield current
            current = []
        current.append(row)
    if current:
        yield current


def _java_chosen(file: tuple[int, ...], asked: GroupOptions, sizes: FileSizes) -> bool:
    return file[1] < sizes.least or file[1] > sizes.most or _java_deleted(file, asked)


def _java_deleted(file: tuple[int, ...], asked: GroupOptions) -> bool:
    _, _, records, delete_files, deleted = file
    if delete_files >= asked.delete_file_threshold:
        return True
    if not delete_files or not records:  # 0 / 0 is NaN, which is not above anything
        return False
    return min(deleted, records) / records >= asked.delete_ratio_threshold
