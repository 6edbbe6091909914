"""Delete files sorted for one kind of lookup: by group, then by data sequence number.

The deletes of a data file are a range of a scope, found by binary search for all data files at
once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from iceberg_spark.arrow.distinct import distinct
from iceberg_spark.scan.delete_pairs import Mask, Pairs, Rows
from iceberg_spark.scan.limits import PLANNING


@dataclass(frozen=True, slots=True)
class Scope:
    """Delete files by group number (one data file, one partition, everything)."""

    keys: Rows  # group * (number of distinct sequences + 1) + rank of the sequence, ascending
    rows: Rows  # the delete files in that order
    sequences: Rows  # distinct, ascending
    strict: bool  # True: they apply to older data files only, not to those of the same commit

    def candidates(self, groups: Rows, sequences: Rows) -> Iterator[Pairs]:
        """Yield which deletes apply by group and sequence, in blocks of bounded size.

        `groups` and `sequences` have one value per data file; a negative group has no deletes.
        """
        if len(self.rows) == 0:
            return
        # Deletes of group 0 at sequences 3 and 5, of group 1 at 5: `sequences` is [3, 5], a group
        # spans 3 keys, `keys` are [0, 1, 4]. A data file of group 0 and sequence 3 begins at rank 1
        # where the scope is strict (keys from 1 on and below 3: the delete at 5), else at rank 0.
        span = len(self.sequences) + 1
        rank = np.searchsorted(self.sequences, sequences, "right" if self.strict else "left")
        begin = np.searchsorted(self.keys, groups * span + rank)
        end = np.searchsorted(self.keys, (groups + 1) * span)
        count = np.where(groups < 0, 0, end - begin)
        total = np.cumsum(count)
        first = 0
        while first < len(count):
            before = total[first - 1] if first else 0
            last = max(
                first + 1, int(np.searchsorted(total, before + PLANNING.pairs_at_once, "right"))
            )
            yield self._expand(first, begin[first:last], count[first:last])
            first = last

    def _expand(self, first: int, begin: Rows, count: Rows) -> Pairs:
        # Begins [1, 0] and counts [1, 2] give the indices 1 | 0, 1: each data file's count restarts
        # at its begin, so the counts before it ([0 | 1, 1]) are subtracted from 0, 1, 2.
        data = np.repeat(np.arange(first, first + len(count), dtype=np.int64), count)
        skipped = np.repeat(np.cumsum(count) - count, count)
        indices = np.arange(len(data)) - skipped + np.repeat(begin, count)
        return Pairs(data, self.rows[indices])


def scope(chosen: Mask, groups: Rows, sequences: Rows, *, strict: bool) -> Scope:
    """Return the scope of the chosen delete files; `groups` and `sequences` are of all of them."""
    rows = np.flatnonzero(chosen)
    distinct_sequences = distinct(sequences[rows])
    keys = groups[rows] * (len(distinct_sequences) + 1) + np.searchsorted(
        distinct_sequences, sequences[rows]
    )
    order = np.argsort(keys, kind="stable")
    return Scope(keys[order], rows[order], distinct_sequences, strict)
