"""What removed and added rows amount to: decided on codes that equal rows share.

Rules: Java's RemoveCarryoverIterator, RemoveNetCarryoverIterator and ComputeUpdateIterator, on
columns and without sorting rows by all their values.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from iceberg_spark.arrow.arrays import plain
from iceberg_spark.arrow.key_columns import key_column
from iceberg_spark.arrow.row_hashes import polars_frame
from iceberg_spark.errors import ValidationException
from iceberg_spark.lazy import LazyModule
from iceberg_spark.spec.types import DoubleType

pl = LazyModule("polars")

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class ChangeType(IntEnum):
    """What happened to a row; the names are those of `_change_type`."""

    DELETE = 0
    INSERT = 1
    UPDATE_BEFORE = 2
    UPDATE_AFTER = 3


def key_arrays(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Return columns of any type such that rows are the same where all of them are equal.

    NULL equals NULL and NaN NaN; -0.0 differs from 0.0 save inside lists and maps. A struct
    becomes its fields and whether it is null.
    """
    keys: list[pa.Array] = []
    for source in columns:
        column = plain(source)
        if pa.types.is_struct(column.type):
            keys += [column.is_valid(), *key_arrays(column.flatten())]
        elif pa.types.is_floating(column.type):
            keys.append(key_column(DoubleType(), column))
        elif pa.types.is_fixed_size_binary(column.type):
            keys.append(column.cast(pa.binary()))
        else:
            keys.append(column)
    return keys


def row_codes(keys: Sequence[pa.Array]) -> Longs:
    """Return a number for each row, the same for equal rows and only for those."""
    rows = len(keys[0])
    if not rows:
        return np.zeros(0, np.int64)
    frame = polars_frame(keys)
    groups = frame.with_row_index("row").group_by(frame.columns).agg("row").get_column("row")
    codes = np.empty(rows, np.int64)
    codes[groups.explode().to_numpy()] = np.repeat(
        np.arange(len(groups)), groups.list.len().to_numpy()
    )
    return codes


def without_carried_over(codes: Longs, inserts: Mask) -> Mask:
    """Return which rows of one snapshot are changes: a removed and an equal added row are none."""
    size = int(codes.max(initial=-1)) + 1
    pairs = np.minimum(
        np.bincount(codes[inserts], minlength=size), np.bincount(codes[~inserts], minlength=size)
    )
    changed = np.empty(len(codes), bool)
    for side in (inserts, ~inserts):
        changed[side] = _rank(codes[side]) >= pairs[codes[side]]
    return changed


def update_images(codes: Longs, inserts: Mask, named: str) -> npt.NDArray[np.int8]:
    """Return the ChangeType of each row of one snapshot; `codes` are of its identifier columns.

    A removed and an added row of one identity are an update. Raises ValidationException when two
    removed rows have the same identity; `named` says which columns that is.
    """
    size = int(codes.max(initial=-1)) + 1
    gone = np.bincount(codes[~inserts], minlength=size)
    if (gone > 1).any():
        raise ValidationException(
            f"Can't tell updates: several rows of one snapshot have the same {named}; choose "
            "identifier_columns that are unique, or compute_updates=False"
        )
    came = np.bincount(codes[inserts], minlength=size)
    is_update = (gone > 0) & (came > 0)
    types = np.where(inserts, ChangeType.INSERT, ChangeType.DELETE).astype(np.int8)
    types[~inserts & is_update[codes]] = ChangeType.UPDATE_BEFORE
    first = np.zeros(len(codes), bool)
    first[inserts] = _rank(codes[inserts]) == 0
    types[first & is_update[codes]] = ChangeType.UPDATE_AFTER
    return types


def net_changes(codes: Longs, ordinals: Longs, inserts: Mask) -> Longs:
    """Return the rows (by number, repeated where needed) that are left over several snapshots.

    Equal rows that are inserted and deleted cancel each other out, in the order of the snapshots.
    What is left is shown as of the first change since they last did.
    """
    if not len(codes):
        return np.zeros(0, np.int64)
    order = np.lexsort((inserts, ordinals, codes))
    sorted_codes = codes[order]
    sign = np.where(inserts[order], 1, -1)
    starts = np.flatnonzero(np.r_[True, sorted_codes[1:] != sorted_codes[:-1]])
    group = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(codes)]))
    total = np.cumsum(sign)
    running = total - (total - sign)[starts][group]
    ends = np.r_[starts[1:], len(codes)] - 1
    # the place after the last one where all cancelled out, in each group
    zero = np.where(running == 0, np.arange(len(codes)) + 1, starts[group])
    shown = np.maximum.reduceat(zero, starts)
    left = np.abs(running[ends])
    some = left > 0
    return np.repeat(order[shown[some]], left[some])


def _rank(codes: Longs) -> Longs:
    """Return how many rows with the same code come before each row."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(codes) else order
    counts = np.diff(np.r_[starts, len(codes)])
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = np.arange(len(codes)) - np.repeat(starts, counts)
    return ranks
