"""Statistics of files as columns: what is known, and what only looks known."""

from typing import Any

import numpy as np
import pyarrow as pa

from iceberg_spark.expr.bind import bind
from iceberg_spark.expr.parse import parse_predicate
from iceberg_spark.expr.stats import needed_statistics
from iceberg_spark.manifest.map_values import map_values
from iceberg_spark.scan.pruning import metrics_mask
from tests.builders import field, schema, struct
from tests.unit.scan.entries import data, table

COLUMNS = schema(field(1, "id", "long"), field(2, "st", struct(field(3, "a", "int"))))


def counted(values: int, nulls: int) -> dict[str, object]:
    """An entry of 10 rows with counts of `st.a`."""
    return {
        "value_counts": [{"key": 3, "value": values}],
        "null_value_counts": [{"key": 3, "value": nulls}],
    }


def kept(text: str, *entries: dict[str, object]) -> list[bool]:
    bound = bind(COLUMNS, parse_predicate(text))
    rows = table(*(data(str(n), **entry) for n, entry in enumerate(entries)), columns=COLUMNS)
    return metrics_mask(
        rows, needed_statistics(bound), [bound], np.zeros(rows.num_rows, np.int64)
    ).tolist()


def test_a_null_count_that_leaves_out_rows_proves_nothing() -> None:
    """Java's ORC counts leave out the rows whose struct is null; `st.a` is null in them."""
    no_null, one_null, three_left_out, unknown = counted(10, 0), counted(10, 1), counted(7, 0), {}
    entries = (no_null, one_null, three_left_out, unknown)
    assert kept("st.a IS NULL", *entries) == [False, True, True, True]
    only_nulls = (counted(10, 10), counted(7, 7))
    assert kept("st.a IS NOT NULL", *only_nulls) == [False, True]


def test_values_of_maps_are_found_whether_or_not_all_have_the_same_keys() -> None:
    kind = pa.list_(pa.struct([("key", pa.int32()), ("value", pa.int64())]))

    def maps(*rows: dict[int, int] | None) -> Any:
        pairs = [
            None if one is None else [{"key": k, "value": v} for k, v in one.items()]
            for one in rows
        ]
        return pa.array(pairs, kind)

    same = map_values(maps({1: 10, 2: 20}, {1: 11, 2: 21}), [2, 3])
    assert (same[2].to_pylist(), same[3].to_pylist()) == ([20, 21], [None, None])
    mixed = map_values(maps({1: 10, 2: 20}, {2: 21, 1: 11}, None, {}), [2])
    assert mixed[2].to_pylist() == [20, 21, None, None]
    uneven = map_values(maps({1: 10, 2: 20}, {}), [1, 2])
    assert (uneven[1].to_pylist(), uneven[2].to_pylist()) == ([10, None], [20, None])
