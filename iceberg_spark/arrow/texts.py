"""Texts of Arrow columns that are not UTF-8: Arrow's readers hand them on as files have them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from iceberg_spark.arrow.arrays import entry_lists, plain
from iceberg_spark.arrow.schema import child_fields

_LAST_ASCII = 0x7F


def has_texts(kind: pa.DataType) -> bool:
    """Return whether a type is text or has text somewhere inside."""
    if pt.is_dictionary(kind) or pt.is_run_end_encoded(kind):
        return has_texts(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return has_texts(kind.storage_type)
    if _is_text(kind):
        return True
    return any(has_texts(child.type) for child in child_fields(kind))


def wrong_text(column: pa.Array, name: str) -> str | None:
    """Return the path of a field with text that is not UTF-8, None if all is valid.

    Only visible values count, not those outside a slice or below a null.
    """
    for path, texts in _texts(column, name):
        if not _is_utf8(texts):
            return path
    return None


def _is_text(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def _texts(array: pa.Array, path: str) -> Iterator[tuple[str, pa.Array]]:
    """Yield the arrays of text in a column, with their paths."""
    kind = array.type
    # Arrow cannot flatten lists of UUIDs that are all null (or no lists at all).
    if array.null_count == len(array) or not has_texts(kind):
        return
    if pt.is_dictionary(kind):  # values that no row uses are in no row
        yield from _texts(array.dictionary.take(array.indices.unique().drop_null()), path)
    elif _is_text(kind):
        yield path, array
    elif pt.is_struct(kind):
        for field, child in zip(kind, array.flatten(), strict=True):
            yield from _texts(child, f"{path}.{field.name}")
    elif pt.is_map(kind):
        for name, child in zip(
            ("key", "value"), entry_lists(array).flatten().flatten(), strict=True
        ):
            yield from _texts(child, f"{path}.{name}")
    elif pt.is_nested(kind):
        yield from _texts(array.flatten(), f"{path}.element")
    else:  # an extension type, or run ends
        yield from _texts(plain(array), path)


def _is_utf8(texts: pa.Array) -> bool:
    """ASCII is recognised by one pass over all bytes; Arrow's own check takes six times as long."""
    if pt.is_string_view(texts.type):
        texts = texts.cast(pa.large_binary())
    elif _is_ascii(texts):
        return True
    wide = pt.is_large_string(texts.type) or pt.is_large_binary(texts.type)
    data, target = (pa.large_binary(), pa.large_string()) if wide else (pa.binary(), pa.string())
    try:
        texts.view(data).cast(target)
    except pa.ArrowInvalid:
        return False
    return True


def _is_ascii(texts: pa.Array) -> bool:
    wide = pt.is_large_string(texts.type)
    _, places, data = texts.buffers()
    if data is None or not data.size:
        return True
    offsets = np.frombuffer(places, np.int64 if wide else np.int32)
    first, last = offsets[texts.offset], offsets[texts.offset + len(texts)]
    codes = np.frombuffer(data, np.uint8)[first:last]
    return not len(codes) or int(codes.max()) <= _LAST_ASCII
