"""Sets as bytes of roaring bitmaps, beside the C library's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap64

from iceberg_spark.arrow.position_set import NO_POSITIONS, PositionSet
from iceberg_spark.errors import CorruptFileError
from iceberg_spark.formats.roaring.decode import from_roaring
from iceberg_spark.formats.roaring.encode import to_roaring

RANDOM = np.random.default_rng(7)
SETS = {
    "nothing": [],
    "the first": [0],
    "the last": [2**63 - 1],
    "runs": [*range(10, 70_000), *range(200_000, 200_064)],
    "runs of four containers": [*range(10, 300_000)],
    "numbers": RANDOM.integers(0, 65_536, 4000).tolist(),
    "words": RANDOM.integers(0, 65_536, 40_000).tolist(),
    "a whole container": list(range(65_536, 131_072)),
    "every form": [5, *range(65_536, 70_000), *RANDOM.integers(131_072, 196_608, 30_000).tolist()],
    "several upper halves": [1, 2**32 - 1, 2**32, 2**32 + 1, 2**40, 2**62],
    "sparse": RANDOM.integers(0, 2**24, 3000).tolist(),
    "sparse, some words of several": [*range(0, 2**24, 9000), *range(5, 2**22, 9000), 9001, 9002],
    "sparse, many words of several": [*range(0, 2**22, 500), *range(3, 2**22, 500)],
    "the ends of containers": [65_535, 65_536, 131_071, 131_072, 131_073],
}
each_set = pytest.mark.parametrize("values", SETS.values(), ids=SETS)


def made(values: list[int]) -> PositionSet:
    return PositionSet.from_positions(np.array(values, np.int64))


@each_set
def test_bytes_are_read_by_the_c_library_and_back(values: list[int]) -> None:
    data = to_roaring(made(values))
    assert sorted(BitMap64.deserialize(data)) == sorted(set(values))
    assert from_roaring(data).positions().tolist() == sorted(set(values))


@each_set
@pytest.mark.parametrize("with_runs", [True, False])
def test_bytes_of_the_c_library_are_read(values: list[int], with_runs: bool) -> None:
    theirs = BitMap64(values)
    if with_runs:
        theirs.run_optimize()
    assert from_roaring(theirs.serialize()).positions().tolist() == sorted(set(values))


@each_set
def test_bytes_are_those_of_the_c_library_with_runs(values: list[int]) -> None:
    theirs = BitMap64(values)
    theirs.run_optimize()
    assert to_roaring(made(values)) == theirs.serialize()


@given(st.lists(st.tuples(st.integers(0, 2**35), st.integers(1, 5000)), max_size=6))
def test_random_ranges_come_back(ranges: list[tuple[int, int]]) -> None:
    parts = [np.arange(start, start + length) for start, length in ranges]
    found = PositionSet.union(PositionSet.from_positions(each) for each in parts)
    again = from_roaring(to_roaring(found))
    assert np.array_equal(again.places, found.places)
    assert np.array_equal(again.words, found.words)


@given(st.sampled_from(list(SETS)), st.data())
def test_damaged_bytes_are_refused_or_are_another_set(name: str, data: st.DataObject) -> None:
    plain = bytearray(to_roaring(made(SETS[name])))
    for _ in range(data.draw(st.integers(1, 3))):
        plain[data.draw(st.integers(0, min(len(plain), 200) - 1))] = data.draw(st.integers(0, 255))
    damaged = bytes(plain[: data.draw(st.integers(0, len(plain)))])
    try:
        found = from_roaring(damaged)
    except CorruptFileError:
        return
    assert np.all(found.places[1:] > found.places[:-1])
    assert found.is_empty or found.places[0] >= 0


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "cut off"),
        (to_roaring(made([1, 2**33]))[:-1], "cut off"),
        (to_roaring(NO_POSITIONS) + b"x", "bytes follow"),
        (bytes([1, *[0] * 11, 7, 0, 0, 0]), "begins with 7"),
        ((1).to_bytes(8, "little") + b"\xff\xff\xff\xff", "bitmap 4294967295"),
    ],
)
def test_the_error_says_what_is_wrong(data: bytes, reason: str) -> None:
    with pytest.raises(CorruptFileError, match=reason):
        from_roaring(data)


@each_set
@pytest.mark.parametrize("end", [0, 1, 100, 65_536, 65_537, 200_010, 2**32 + 1, 2**63 - 1])
def test_positions_past_an_end_are_left_out(values: list[int], end: int) -> None:
    found = from_roaring(to_roaring(made(values)), below=end, count=len(set(values)))
    assert found.positions().tolist() == sorted({each for each in values if each < end})


def test_positions_past_an_end_take_no_memory() -> None:
    theirs = BitMap64()
    theirs.add_range(0, 2**35)  # words of 4 GiB
    theirs.run_optimize()
    found = from_roaring(theirs.serialize(), below=1000, count=2**35)
    assert found.count == 1000


def test_another_number_of_positions_is_refused() -> None:
    with pytest.raises(CorruptFileError, match="3 positions, not 4"):
        from_roaring(to_roaring(made([1, 2, 2**33])), count=4)


def test_numbers_that_do_not_ascend_are_refused() -> None:
    data = bytearray(to_roaring(made([1, 9, 200])))
    data[-2:], data[-4:-2] = data[-4:-2], data[-2:]
    with pytest.raises(CorruptFileError, match="do not ascend"):
        from_roaring(bytes(data))


def test_a_container_of_words_has_as_many_positions_as_it_says() -> None:
    data = bytearray(to_roaring(made(SETS["words"])))
    data[-1] ^= 1
    with pytest.raises(CorruptFileError, match="a container of"):
        from_roaring(bytes(data))


def test_runs_that_overlap_are_refused() -> None:
    data = bytearray(to_roaring(made([*range(10, 20), *range(30, 40)])))
    data[-4:-2] = (15).to_bytes(2, "little")
    with pytest.raises(CorruptFileError, match="overlap"):
        from_roaring(bytes(data))
