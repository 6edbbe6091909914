"""Ranges of an order: rows that are cut to them lie in order, and every file has its share."""

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.maintenance.layout import layout
from iceberg_spark.maintenance.rewrite_options import RewriteOptions, Strategy, rewrite_options
from iceberg_spark.maintenance.row_order import RowOrder, order_ranges, z_keys, z_places, z_values
from tests.builders import metadata, schema

COLUMNS = schema(("id", "long"), ("s", "string"), ("d", "double"), ("k", "int"), ("y", "binary"))
METADATA = metadata(COLUMNS)
TEXTS = ("", "a", "b", "\u00e9", "\ue000", "\U0001f600", "zz", None)
DOUBLES = (0.0, -0.0, math.nan, -math.inf, math.inf, -1.5, 1.5, None)


def rows(count: int, seed: int = 1) -> pa.Table:
    """Rows of a few odd values each, half of whose `k` are 7."""
    pick = random.Random(seed)
    values = {
        "id": list(range(count)),
        "s": [pick.choice(TEXTS) for _ in range(count)],
        "d": [pick.choice(DOUBLES) for _ in range(count)],
        "k": [pick.choice([7, pick.randrange(1000)]) for _ in range(count)],
        "y": [pick.choice([None, b"", pick.randbytes(pick.randrange(12))]) for _ in range(count)],
    }
    return pa.table(values, schema=None).cast(to_arrow(COLUMNS))


def order_of(text: str) -> RowOrder:
    found = layout(METADATA, "sort", text)
    return RowOrder(found, rewrite_options({}, found.strategy, METADATA))


ORDERS = (
    "id", "s, id", "s desc nulls last, d", "d asc nulls last, s desc", "k", "k desc, id",
    "bucket(4, id), truncate(1, s)", "zorder(k, d)", "zorder(s, id, y)", "zorder(k)",
)  # fmt: skip


@pytest.mark.parametrize("text", ORDERS)
def test_rows_cut_to_ranges_lie_in_their_order(text: str) -> None:
    order = order_of(text)
    sample = order.keys(rows(300, 2), COLUMNS)
    ranges = order_ranges(order, sample, 3, 12)
    assert (np.diff(ranges.files) >= 0).all()
    cut: dict[int, list[pa.Table]] = {}
    for seed in (3, 4):
        some = rows(500, seed)
        places, starts = ranges.cut(order.keys(some, COLUMNS))
        assert sorted(places.tolist()) == list(range(500))
        assert len(starts) + 1 == len(ranges.files)
        ends = np.append(starts, 500)
        for number, (begin, end) in enumerate(zip(np.append(0, starts), ends, strict=True)):
            cut.setdefault(number, []).append(some.take(pa.array(places[begin:end])))
    joined = [order.sorted(pa.concat_tables(cut[number]), COLUMNS) for number in sorted(cut)]
    keys = order.keys(pa.concat_tables(joined), COLUMNS)
    assert order.places(keys).tolist() == list(range(1000))


@pytest.mark.parametrize("text", ORDERS)
def test_rows_of_an_equal_range_are_alike(text: str) -> None:
    order = order_of(text)
    keys = order.keys(rows(500), COLUMNS)
    ranges = order_ranges(order, keys, 3, 12)
    places, starts = ranges.cut(keys)
    found = 0
    for number in np.flatnonzero(ranges.equal).tolist():
        end = starts[number] if number < len(starts) else 500
        some = keys.take(pa.array(places[starts[number - 1] : end]))
        assert len(some.group_by(some.column_names).aggregate([])) <= 1
        found += some.num_rows
    assert found


def test_files_get_alike_many_rows_and_a_value_that_comes_often_stays_together() -> None:
    order = order_of("k, id")
    ranges = order_ranges(order, order.keys(rows(20_000), COLUMNS), 4, 64)
    _, starts = ranges.cut(order.keys(rows(20_000, 2), COLUMNS))
    counts = np.diff(np.append(np.append(0, starts), 20_000))
    shares = np.bincount(ranges.files, weights=counts, minlength=4) / 20_000
    assert (abs(shares - 0.25) < 0.03).all()
    often = order_ranges(order_of("k"), order_of("k").keys(rows(2_000), COLUMNS), 4, 64)
    _, starts = often.cut(order_of("k").keys(rows(2_000, 2), COLUMNS))
    counts = np.diff(np.append(np.append(0, starts), 2_000))
    assert counts[often.equal].max() > 900
    assert counts[~often.equal].max() < 100


def test_without_a_sample_there_is_one_range() -> None:
    order = order_of("s, d")
    ranges = order_ranges(order, order.keys(rows(0), COLUMNS), 4, 64)
    places, starts = ranges.cut(order.keys(rows(10), COLUMNS))
    assert (ranges.files.tolist(), starts.tolist()) == ([0], [])
    assert sorted(places.tolist()) == list(range(10))


def interleaved(columns: Sequence[str]) -> str:
    """The alternating bits of values, the first column first; values without bits are skipped.

    Source: Java's ZOrderByteUtils.interleaveBits.
    """
    turns = range(max(map(len, columns)))
    return "".join(column[bit] for bit in turns for column in columns if bit < len(column))


@pytest.mark.parametrize("given", [{}, {"var-length-contribution": 3, "max-output-size": 17}])
def test_a_curves_value_has_alternating_bits_of_its_columns(given: dict[str, Any]) -> None:
    options: RewriteOptions = rewrite_options(given, Strategy.Z_ORDER, METADATA)
    some = rows(50)
    ids = [COLUMNS.find_field(name).field_id for name in ("s", "id", "y")]
    alone = [bits_of(z_values(some, COLUMNS, [one], options)) for one in ids]
    found = bits_of(z_values(some, COLUMNS, ids, options))
    expected = [interleaved(row)[: len(found[0])] for row in zip(*alone, strict=True)]
    assert found == expected


def bits_of(values: Any) -> list[str]:
    width = values.dtype.itemsize
    numbers = values.view(np.uint8).reshape(len(values), width)
    return ["".join(f"{byte:08b}" for byte in row) for row in numbers]


def test_keys_of_a_curve_are_ordered_as_its_values() -> None:
    options = rewrite_options({"max-output-size": 21}, Strategy.Z_ORDER, METADATA)
    some, ids = rows(500), [COLUMNS.find_field(name).field_id for name in ("s", "id", "d")]
    places = z_places(z_keys(some, COLUMNS, ids, options)).to_pylist()
    assert places == np.argsort(z_values(some, COLUMNS, ids, options), kind="stable").tolist()
