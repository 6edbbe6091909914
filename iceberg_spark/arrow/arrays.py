"""Nested Arrow arrays without copies of their values, floats by identity, distinct numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Step = Callable[[pa.Array], pa.Array]
"""From one array to another of the same length."""
_MOST_VALUES = (1 << 31) - 1
"""The values below a plain list: its offsets are 32 bit."""


def from_numpy(values: npt.NDArray[Any]) -> pa.Array:
    """Return numbers or booleans as an array of their type, sharing the memory of numbers.

    `pa.array` would import pandas first, where it is installed, which takes longer than to load and
    read a small table.
    """
    kind = pa.from_numpy_dtype(values.dtype)
    is_bits = values.dtype == np.bool_
    plain = np.packbits(values, bitorder="little") if is_bits else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(plain)])


def int_scalar(value: int, kind: type[np.integer[Any]] = np.int64) -> pa.Scalar:
    """Return a number as a scalar; `pa.scalar` would import pandas first, as `pa.array`."""
    return from_numpy(np.array([value], kind))[0]


def to_numpy(numbers: pa.ChunkedArray | pa.Array) -> npt.NDArray[Any]:
    """Return a column of numbers without nulls as a NumPy array.

    Arrow's own method would import pandas first; see `from_numpy`.
    """
    array: npt.NDArray[Any] = np.from_dlpack(concat(numbers))
    return array


def validity(array: pa.Array) -> pa.Buffer | None:
    """Return the validity bitmap of an array's own window, None where nothing is null."""
    if array.null_count == 0:
        return None
    if array.offset == 0:
        return array.buffers()[0]
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())


def struct_of(
    rows: int, children: Sequence[pa.Array], kind: pa.StructType, nulls: pa.Array | None = None
) -> pa.StructArray:
    """Return a struct array of exactly the type `kind`, null where `nulls` is null."""
    bitmap = None if nulls is None else validity(nulls)
    null_count = 0 if nulls is None else nulls.null_count
    return pa.Array.from_buffers(kind, rows, [bitmap], null_count, 0, children=list(children))


def without_nulls(array: pa.Array) -> pa.Array:
    """Return an array whose nulls show the values in their slots; nothing is copied.

    For required fields of a null struct: Spark marks them null too, and Parquet refuses such nulls,
    although the null struct hides them.
    """
    if array.null_count == 0:
        return array
    if pa.types.is_struct(array.type):
        return struct_of(len(array), struct_children(array), array.type)
    if pa.types.is_nested(array.type):
        values = map_entries(array) if pa.types.is_map(array.type) else array.values
        buffers, children = [None, array.buffers()[1]], [values]
    else:
        buffers, children = [None, *array.buffers()[1:]], None
    return pa.Array.from_buffers(
        array.type, len(array), buffers, 0, array.offset, children=children
    )


def null_column(rows: int, kind: pa.DataType) -> pa.Array:
    """Return a column of nulls; required fields of a null struct are not null (`without_nulls`)."""
    if not pa.types.is_struct(kind):
        return pa.nulls(rows, kind)
    inner = [null_column(rows, field.type) for field in kind]
    children = [
        child if field.nullable else without_nulls(child)
        for field, child in zip(kind, inner, strict=True)
    ]
    return struct_of(rows, children, kind, pa.nulls(rows, pa.bool_()))


def batch_of(rows: int, columns: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch with a number of rows, even if it has no columns."""
    if columns:
        return pa.RecordBatch.from_arrays(list(columns), schema=schema)
    return pa.RecordBatch.from_struct_array(struct_of(rows, (), pa.struct([])))


def map_struct(array: pa.StructArray, children: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    """Return the struct array with other children; its nulls stay."""
    return struct_of(len(array), children, kind, array)


def map_list(array: pa.Array, step: Step, kind: pa.DataType) -> pa.Array:
    """Return a list or map array with `step` done to the values in its window.

    The values of a map are its entries, a struct array. A file reader hands out slices of one
    long array: only the values of the slice are touched.
    """
    offsets = array.offsets
    first, last = offsets[0].as_py(), offsets[-1].as_py()
    values = map_entries(array) if pa.types.is_map(array.type) else array.values
    values = step(values.slice(first, last - first))
    if first or offsets.offset:
        offsets = pc.subtract(offsets, pa.scalar(first, offsets.type))
    buffers = [validity(array), offsets.buffers()[1]]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, 0, children=[values])


def plain_list(array: pa.Array) -> pa.ListArray:
    """Return a list of another layout (large, fixed size, view) as a plain list.

    Arrow's own cast creates invalid arrays from list views, loses run ends, and may crash. Null
    lists become empty: their slots hold no values. Raises ArrowInvalid if the lists hold more
    values than a plain list can.
    """
    starts, lengths = _list_windows(array)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    total = int(offsets[-1])
    if total > _MOST_VALUES:
        raise pa.ArrowInvalid(f"{total:,} list elements in one batch: write smaller batches")
    used = starts[lengths > 0]
    first = int(used[0]) if len(used) else 0
    if np.array_equal(used - first, offsets[:-1][lengths > 0]):
        values = array.values.slice(first, total)
    else:
        # Value k of list i is stored at starts[i] + k, and moves to offsets[i] + k.
        shifts = np.repeat(starts - offsets[:-1], lengths)
        values = plain_values(array.values).take(pa.array(np.arange(total) + shifts))
    kind = pa.list_(pa.field("element", values.type))
    buffers = [validity(array), pa.py_buffer(offsets.astype(np.int32))]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, 0, children=[values])


def _list_windows(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return where each list starts in `array.values` and how long it is; null lists are empty."""
    kind = array.type
    if pa.types.is_fixed_size_list(kind):
        starts = (np.arange(len(array)) + array.offset) * kind.list_size
        lengths = np.full(len(array), kind.list_size)
    elif pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        starts, lengths = _int64s(array.offsets), _int64s(array.sizes)
    else:
        ends = _int64s(array.offsets)
        starts, lengths = ends[:-1], np.diff(ends)
    if array.null_count:
        lengths = np.where(array.is_valid().to_numpy(zero_copy_only=False), lengths, 0)
    return starts, lengths


def _int64s(numbers: pa.Array) -> np.ndarray:
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.int64)


def map_entries(array: pa.MapArray) -> pa.StructArray:
    """Return all entries below a map array, those outside its window too."""
    keys, items = array.keys, array.items
    entries = pa.struct([array.type.key_field, array.type.item_field])
    return struct_of(len(keys), (keys, items), entries)


def entry_lists(array: pa.MapArray) -> pa.ListArray:
    """Return maps as lists of their entries, structs of `key` and `value`; nothing is copied.

    Arrow's `flatten` takes lists only.
    """
    entries = map_entries(array)
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(
        pa.list_(entries.type), len(array), buffers, offset=array.offset, children=[entries]
    )


def struct_children(array: pa.StructArray) -> list[pa.Array]:
    """Return the children of a struct array, as long as itself."""
    return [array.field(index) for index in range(array.type.num_fields)]


def concat(parts: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return one array for a column of several chunks."""
    if isinstance(parts, pa.ChunkedArray):
        return parts.chunk(0) if parts.num_chunks == 1 else parts.combine_chunks()
    return parts


def plain(array: pa.Array) -> pa.Array:
    """Return the values of an extension, dictionary or run-end encoded array.

    Arrow decodes neither dictionaries nor run ends of views or of nested values. Taking the
    values by index works for every type.
    """
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif pa.types.is_dictionary(array.type):
            array = plain_values(array.dictionary).take(array.indices)
        elif pa.types.is_run_end_encoded(array.type):
            rows = np.arange(array.offset, array.offset + len(array))
            runs = np.searchsorted(_int64s(array.run_ends), rows, side="right")
            array = plain_values(array.values).take(pa.array(runs))
        else:
            return array


def plain_values(array: pa.Array) -> pa.Array:
    """Return an array that Arrow can take from: without encodings and views at any depth."""
    array = plain(array)
    kind = array.type
    if pa.types.is_string_view(kind):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    if not pa.types.is_nested(kind):
        return array
    if pa.types.is_struct(kind):
        children = [plain_values(child) for child in struct_children(array)]
        fields = [field.with_type(child.type) for field, child in zip(kind, children, strict=True)]
        return map_struct(array, children, pa.struct(fields))
    if pa.types.is_map(kind):
        return _plain_map(array)
    if pa.types.is_union(kind):
        return array
    values = plain_list(array)
    inner = plain_values(values.values)
    element = kind.value_field.with_type(inner.type)
    return map_list(values, lambda _: inner, pa.list_(element))


def _plain_map(array: pa.MapArray) -> pa.MapArray:
    first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
    entries = map_entries(array).slice(first, last - first)
    keys, items = map(plain_values, struct_children(entries))
    kind = pa.map_(
        array.type.key_field.with_type(keys.type), array.type.item_field.with_type(items.type)
    )
    plain_entries = struct_of(
        len(keys), (keys, items), pa.struct([kind.key_field, kind.item_field])
    )
    return map_list(array, lambda _: plain_entries, kind)


def with_offsets(array: pa.Array) -> pa.Array:
    """Return an array whose empty children have offsets.

    Java sends empty lists, maps and texts inside others without offsets; Arrow's C++ still reads
    the first one, beyond the buffer, and may crash.
    """
    kind = array.type
    if not len(array):
        return pa.array([], kind)
    if not pa.types.is_nested(kind) or not _lacks_offsets(array):
        return array
    if pa.types.is_struct(kind):
        return struct_of(len(array), [with_offsets(c) for c in struct_children(array)], kind, array)
    return map_list(array, with_offsets, kind)


def _lacks_offsets(array: pa.Array) -> bool:
    kind = array.type
    if pa.types.is_struct(kind):
        return not len(array) or any(_lacks_offsets(child) for child in struct_children(array))
    if not len(array):
        return bool(
            pa.types.is_nested(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind)
        )
    if pa.types.is_map(kind):
        return _lacks_offsets(array.keys) or _lacks_offsets(array.items)
    return bool(pa.types.is_list(kind) and _lacks_offsets(array.values))


_NUMBER_BITS = 0x7FFFFFFFFFFFFFFF  # all but the sign


def identity_bits(floats: Any) -> Any:
    """Return 64-bit numbers that are equal where values are the same; nulls stay.

    They are the bits of the values as doubles, with those of one NaN: seen as doubles again
    they are the values.
    """
    doubles = floats.cast(pa.float64())
    nan = pc.is_nan(doubles)
    if pc.any(nan, min_count=0).as_py():
        doubles = pc.if_else(nan, pa.scalar(math.nan), doubles)
    return doubles.view(pa.int64())


def total_order(floats: Any) -> Any:
    """Return 64-bit numbers in the total order of the values; nulls stay."""
    bits = identity_bits(floats)
    return pc.if_else(pc.less(bits, 0), pc.bit_wise_xor(bits, _NUMBER_BITS), bits)


def comparison_order(floats: Any) -> Any:
    """Return 64-bit numbers that compare as the values do in predicates; nulls stay."""
    return total_order(pc.add(floats.cast(pa.float64()), 0.0))  # -0.0 + 0.0 is 0.0


def extremes(floats: Any) -> tuple[float, float] | None:
    """Return the least and the greatest number by the total order, None if there is none."""
    ends = pc.min_max(floats)  # ignores NaN, and treats -0.0 and 0.0 as equal
    low, high = ends["min"].as_py(), ends["max"].as_py()
    if low is None or math.isnan(low):
        return None
    if low == 0 or high == 0:
        values = floats.drop_null().to_numpy(zero_copy_only=False)
        zeros = np.signbit(values[values == 0])
        low = (-0.0 if zeros.any() else 0.0) if low == 0 else low
        high = (-0.0 if zeros.all() else 0.0) if high == 0 else high
    return low, high


# Distinct numbers by sorting.
#
# Since numpy 2.3 `unique` looks each number up in a hash table first: 13 times the time of a sort
# for 500,000 numbers, 17 times for 5,000,000.

N = TypeVar("N", bound=np.integer[Any])


def distinct(numbers: npt.NDArray[N]) -> npt.NDArray[N]:
    """Return sorted distinct integers; the input is unchanged."""
    ordered = np.sort(numbers)
    if not len(ordered):
        return ordered
    first = np.empty(len(ordered), bool)
    first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    unique: npt.NDArray[N] = ordered[first]
    return unique
