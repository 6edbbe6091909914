"""Keys of whole numbers are one number each, and no two keys have the same."""

import random

import pyarrow as pa
import pytest

from iceberg_spark.spark.deletes.packed_keys import KeyRange, packed_keys


def columns(**given: tuple[pa.DataType, list[int | None]]) -> dict[str, pa.Array]:
    return {name: pa.array(values, kind) for name, (kind, values) in given.items()}


def test_a_key_is_its_place_among_all_of_its_ranges() -> None:
    found = packed_keys(columns(a=(pa.int64(), [3, 0, 9]), b=(pa.int32(), [25, 20, 29])))
    assert found is not None
    packed, numbers = found
    assert packed.ranges == (KeyRange("a", 0, 10), KeyRange("b", 20, 10))
    assert numbers.tolist() == [35, 0, 99]


def test_keys_have_numbers_of_their_own() -> None:
    drawn = random.Random(1)
    keys = {tuple(drawn.randrange(-50, 50) for _ in range(3)) for _ in range(5_000)}
    parts = list(zip(*keys, strict=True))
    found = packed_keys({str(at): pa.array(part, pa.int64()) for at, part in enumerate(parts)})
    assert found is not None
    assert len(set(found[1].tolist())) == len(keys)


def test_the_ranges_that_are_asked_leave_one_out() -> None:
    found = packed_keys(columns(a=(pa.int32(), [-5, 5]), b=(pa.int32(), [7, 7])))
    assert found is not None
    own = {"a": "x", "b": "unix_date(y)"}
    assert found[0].in_range(own, beside=None) == [
        "x between -5L and 5L",
        "unix_date(y) between 7L and 7L",
    ]
    assert found[0].in_range(own, beside="a") == ["unix_date(y) between 7L and 7L"]


@pytest.mark.parametrize(
    "keys",
    [
        columns(a=(pa.int64(), [0, 2**31]), b=(pa.int64(), [0, 2**31])),
        columns(a=(pa.int64(), [-(2**63), -(2**63) + 1])),
        columns(a=(pa.int64(), [2**63 - 1])),
        columns(a=(pa.int64(), [1, None])),
        columns(a=(pa.int64(), [])),
        {"a": pa.array(["1"])},
    ],
    ids=["wide together", "least of all", "greatest of all", "NULL", "none", "text"],
)
def test_other_keys_are_no_numbers(keys: dict[str, pa.Array]) -> None:
    assert packed_keys(keys) is None
