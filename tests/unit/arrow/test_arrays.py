"""Nested arrays as other Arrow libraries send them."""

import numpy as np
import pyarrow as pa
import pytest

from iceberg_spark.arrow import arrays
from iceberg_spark.arrow.arrays import with_offsets

TEXTS = pa.Array.from_buffers(pa.string(), 0, [None, pa.py_buffer(b""), pa.py_buffer(b"")])
LISTS = pa.Array.from_buffers(
    pa.list_(pa.int32()), 0, [None, pa.py_buffer(b"")], children=[pa.array([], pa.int32())]
)


@pytest.mark.parametrize("empty", [TEXTS, LISTS], ids=["texts", "lists"])
def test_empty_children_get_the_offsets_that_java_leaves_out(empty: pa.Array) -> None:
    offsets = pa.py_buffer(bytes(12))
    outer = pa.Array.from_buffers(pa.list_(empty.type), 2, [None, offsets], 0, 0, children=[empty])
    nested = pa.Array.from_buffers(
        pa.struct([("li", outer.type)]), 2, [None], 0, 0, children=[outer]
    )
    for given in (outer, nested):
        made = with_offsets(given)
        made.validate(full=True)
        assert made.type == given.type
        assert made.nbytes > 0
        lists = made if pa.types.is_list(made.type) else made.field(0)
        assert lists.values.buffers()[1].size >= 4


def test_whole_arrays_stay_as_they_are() -> None:
    given = pa.array([[["a"]], None])
    assert with_offsets(given) is given


@pytest.mark.parametrize("kind", ["bool", "int32", "int64", "float64"])
@pytest.mark.parametrize("rows", [0, 1, 9])
def test_numpy_arrays_become_arrow_arrays_as_by_arrow_itself(kind: str, rows: int) -> None:
    values = np.arange(rows).astype(kind)
    assert arrays.from_numpy(values).equals(pa.array(values))
    assert arrays.from_numpy(values[::2]).equals(pa.array(values[::2]))


def test_columns_of_numbers_become_numpy_arrays() -> None:
    chunks = pa.chunked_array([[1, 2], [3]], pa.int32())
    assert arrays.to_numpy(chunks).tolist() == [1, 2, 3]
    assert arrays.to_numpy(chunks).dtype == np.int32
    assert arrays.to_numpy(pa.array([1, 2, 3])[1:]).tolist() == [2, 3]
    assert arrays.to_numpy(pa.chunked_array([], pa.int64())).tolist() == []
    assert arrays.int_scalar(7, np.int32).equals(pa.scalar(7, pa.int32()))
