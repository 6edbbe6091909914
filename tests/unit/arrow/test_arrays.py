"""Nested arrays as other Arrow libraries send them."""

import pyarrow as pa
import pytest

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
