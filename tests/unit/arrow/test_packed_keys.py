"""Rows sorted by one number each lie as rows that are compared key by key."""

import random
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.write.sorted_files import Key, packed_places

LOW, HIGH = -(2**63), 2**63 - 1
MOMENT = datetime(2024, 2, 29, tzinfo=UTC)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [-(2**31), -1, 0, 5, 2**31 - 1]),
    "long": (pa.int64(), [-7, 0, 7, 2**40]),
    "date": (pa.date32(), [date(1969, 12, 31), date(1970, 1, 1), date(2024, 1, 1)]),
    "timestamp": (pa.timestamp("us", "UTC"), [MOMENT + timedelta(days=n) for n in (-3, 0, 9)]),
    "string": (pa.string(), ["", "a", "Z", "\u00e9", "\ue000", "\U0001f600"]),
    "binary": (pa.binary(), [b"", b"\x00", b"\x7f", b"\xff"]),
}


def column(kind: str, rows: int, seed: int, *, nulls: bool) -> pa.Array:
    pick = random.Random(seed)
    arrow, values = VALUES[kind]
    return pa.array([pick.choice([*values, None] if nulls else values) for _ in range(rows)], arrow)


def expected(keys: list[Key]) -> list[int]:
    """Python's own stable sort, from the last key to the first."""
    places = list(range(len(keys[0].values)))
    for key in reversed(keys):
        values = key.values.to_pylist()
        ordered = sorted({value for value in values if value is not None}, key=bytes_of_text)
        rank = {value: at for at, value in enumerate(ordered, 1)}
        null = 0 if key.nulls_first else len(rank) + 1
        sign = -1 if key.descending else 1
        edge = -HIGH if key.nulls_first else HIGH
        places.sort(
            key=lambda row: edge if values[row] is None else sign * rank.get(values[row], null)
        )
    return places


def bytes_of_text(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


@pytest.mark.parametrize(("kind", "nulls"), list(product(VALUES, (False, True))))
@pytest.mark.parametrize(("descending", "nulls_first"), list(product((False, True), repeat=2)))
def test_rows_are_in_the_order_of_a_key(
    kind: str, nulls: bool, descending: bool, nulls_first: bool
) -> None:
    keys = [Key(column(kind, 200, 3, nulls=nulls), descending, nulls_first)]
    found = packed_places(keys)
    assert found is not None
    assert found.tolist() == expected(keys)


def test_several_keys_take_turns_and_equal_rows_keep_theirs() -> None:
    keys = [
        Key(column("string", 500, 1, nulls=True), True, False),
        Key(column("date", 500, 2, nulls=True), False, True),
        Key(column("int", 500, 3, nulls=False).cast(pa.int8(), safe=False), True, True),
    ]
    found = packed_places(keys)
    assert found is not None
    assert found.tolist() == expected(keys)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([LOW, HIGH, 0]),
        pa.array([1.5, 2.5]),
        pa.array([str(number) for number in range(50)]),
        pa.array([1, 2], pa.uint64()),
        pa.array([None, None]),
        pa.array([], pa.int64()),
    ],
    ids=["too many bits", "floats", "many texts", "unsigned", "of no type", "no rows"],
)
def test_what_does_not_fit_is_left_to_others(values: pa.Array) -> None:
    assert packed_places([Key(values, False, True)]) is None


def test_nothing_but_nulls_stays_as_it_lies() -> None:
    found = packed_places([Key(pa.nulls(5, pa.int64()), True, False)])
    assert found is not None
    assert found.tolist() == list(range(5))


def test_numbers_as_wide_as_there_is_room_for() -> None:
    values = np.array([LOW // 16, HIGH // 16, 0, -1], np.int64)
    found = packed_places([Key(pa.array(values), False, True)])
    assert found is not None
    assert found.tolist() == [0, 3, 2, 1]
