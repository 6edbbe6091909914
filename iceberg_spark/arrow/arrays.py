"""Nested Arrow arrays taken apart and put together without copying their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Step = Callable[[pa.Array], pa.Array]
"""From one array to another of the same length."""


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
    """Return an array whose nulls show whatever lies in their slots; nothing is copied.

    For required fields of a null struct: Spark marks them null too, and Parquet then refuses
    them, though nobody can see them.
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
    """Return a column of nulls; required fields of a null struct are none (`without_nulls`)."""
    if not pa.types.is_struct(kind):
        return pa.nulls(rows, kind)
    inner = [null_column(rows, one.type) for one in kind]
    children = [
        child if one.nullable else without_nulls(child)
        for one, child in zip(kind, inner, strict=True)
    ]
    return struct_of(rows, children, kind, pa.nulls(rows, pa.bool_()))


def batch_of(rows: int, columns: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch that knows its number of rows even where it has no columns."""
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

    Arrow's own cast makes an invalid array of a list view.
    """
    values = array.flatten()
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    kind = pa.list_(pa.field("element", values.type))
    buffers = [validity(array), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, 0, children=[values])


def map_entries(array: pa.MapArray) -> pa.StructArray:
    """Return all entries below a map array, those outside its window too."""
    keys, items = array.keys, array.items
    entries = pa.struct([array.type.key_field, array.type.item_field])
    return struct_of(len(keys), (keys, items), entries)


def struct_children(array: pa.StructArray) -> list[pa.Array]:
    """Return the children of a struct array, as long as itself."""
    return [array.field(index) for index in range(array.type.num_fields)]


def concat(parts: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return one array for a column of several chunks."""
    if isinstance(parts, pa.ChunkedArray):
        return parts.chunk(0) if parts.num_chunks == 1 else parts.combine_chunks()
    return parts


def plain(array: pa.Array) -> pa.Array:
    """Return the values that an extension, dictionary or run-end encoded array stands for."""
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        elif pa.types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        else:
            return array


def with_offsets(array: pa.Array) -> pa.Array:
    """Return an array whose empty children have offsets.

    Java sends empty lists, maps and texts inside others without any; Arrow's C++ reads the first
    offset all the same, beyond the buffer, and may crash.
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
