"""The values of single columns in the maps of manifest entries, without a loop over files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def map_values(maps: Any, keys: Iterable[int]) -> dict[int, Any]:
    """Return, for each key, the values of a list<struct<key, value>> column; null where absent."""
    if isinstance(maps, pa.ChunkedArray):
        maps = maps.combine_chunks()
    pairs = pc.list_flatten(maps)
    found_keys = pc.struct_field(pairs, "key").to_numpy(zero_copy_only=False)
    values = pc.struct_field(pairs, "value")
    width = _common_width(found_keys, len(maps), maps.null_count)
    if width:
        indices = {int(key): index for index, key in enumerate(found_keys[:width])}
        return {
            key: _every(values, indices[key], width)
            if key in indices
            else pa.nulls(len(maps), values.type)
            for key in keys
        }
    parents = pc.list_parent_indices(maps).to_numpy()
    return {key: _scatter(values, parents, found_keys == key, len(maps)) for key in keys}


def _common_width(keys: Any, rows: int, null_rows: int) -> int:
    """Return how many keys each map has if all have the same ones in the same order, else 0.

    Most writers give all files of a manifest the same columns.
    """
    width, rest = divmod(len(keys), rows) if rows else (0, 0)
    if not width or rest or null_rows or len(set(keys[:width].tolist())) < width:
        return 0
    return width if bool(np.all(keys.reshape(rows, width) == keys[:width])) else 0


def _every(values: Any, first: int, step: int) -> Any:
    """Return each `step`-th value from `first` on."""
    return values.take(pa.array(np.arange(first, len(values), step)))


def _scatter(values: Any, parents: Any, hit: Any, rows: int) -> Any:
    places = np.flatnonzero(hit)
    owners = parents[places]
    if len(places) == rows and bool(np.all(owners[1:] > owners[:-1])):
        return values.take(pa.array(places))
    source = np.zeros(rows, np.int64)
    absent = np.ones(rows, np.bool_)
    source[owners] = places
    absent[owners] = False
    return values.take(pa.array(source, mask=absent))
