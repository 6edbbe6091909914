"""The inserted-row map of a task: which row of a key is its last, computed on columns.

Every change records its key and the position of its row. In the end, the last change of each key
wins: rows of earlier ones are superseded. Above a number of bytes changes are spilled to disk, in
buckets by the hash of their key, and each bucket is resolved alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.arrow.arrays import concat
from iceberg_spark.arrow.key_columns import key_column
from iceberg_spark.arrow.row_hashes import Words, key_hashes
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.io.spill_folder import SpillFolder
from iceberg_spark.spec.types import IcebergType
from iceberg_spark.write.limits import UPSERTS
from iceberg_spark.write.partitioned import combine_codes

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

NOT_WRITTEN = -1
"""The place of a change that wrote no row: a delete."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The distinct keys of a bucket, and the positions of superseded rows.

    `series` and `ordinals` identify those rows: the n-th row of a partition's files.
    `hashes` are those of the keys, sorted; buckets are ordered by their hashes.
    """

    keys: tuple[pa.Array, ...]
    series: Ints
    ordinals: Longs
    hashes: Words


class InsertedRows:
    """Collects changes (`add`), then returns their outcome (`resolve`), once.

    `kinds` are the types of the key columns; `orders` is the number of order columns. At most
    `limit` bytes are held in memory.
    """

    def __init__(self, kinds: Sequence[IcebergType], orders: int, limit: int) -> None:
        self._kinds = tuple(kinds)
        self._orders = orders
        self._limit = limit
        self._held: list[pa.Table] = []
        self._bytes = 0
        self._rows = 0
        self._spill: _Spill | None = None

    @property
    def is_spilled(self) -> bool:
        """Whether changes went to disk."""
        return self._spill is not None

    def add(
        self,
        keys: Sequence[pa.Array],
        order: Sequence[pa.Array],
        series: Ints,
        ordinals: Longs,
    ) -> None:
        """Add changes in their order; an ordinal is NOT_WRITTEN for a delete."""
        columns = [*keys, *order, pa.array(series), pa.array(ordinals)]
        table = pa.table(columns, names=[str(index) for index in range(len(columns))])
        self._held.append(table)
        self._rows += table.num_rows
        self._bytes += table.get_total_buffer_size()
        if self._bytes > self._limit:
            self._to_disk()

    def resolve(self) -> Iterator[Resolved]:
        """Yield the outcome of the changes, bucket by bucket, and drop them.

        Raises InvalidInputError if two changes of a key have equal order columns.
        """
        for bucket in self._buckets():
            if bucket.num_rows:
                yield self._resolved(bucket)

    def _buckets(self) -> Iterator[pa.Table]:
        if self._spill is not None:
            self._to_disk()
            yield from self._spill.buckets()
            return
        bucket_count = -(-self._rows // UPSERTS.bucket_rows)
        bits = min(max(bucket_count - 1, 0).bit_length(), UPSERTS.most_buckets.bit_length() - 1)
        parts: list[list[pa.Table]] = [[] for _ in range(1 << bits)]
        self._held.reverse()
        while self._held:  # each chunk is freed once its parts exist
            for index, part in self._split(self._held.pop(), bits):
                parts[index].append(part)
        for index in range(len(parts)):
            if parts[index]:
                bucket = pa.concat_tables(parts[index])
                parts[index] = []
                yield bucket

    def _to_disk(self) -> None:
        spill = self._spill = self._spill or _Spill()
        for table in self._held:
            for bucket, part in self._split(table, UPSERTS.spill_buckets.bit_length() - 1):
                spill.add(bucket, part)
        self._held, self._bytes = [], 0

    def _split(self, table: pa.Table, bits: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield the rows of each bucket in their order."""
        if bits == 0:
            yield 0, table
            return
        codes = (key_hashes(self._keys(table)) >> np.uint64(64 - bits)).astype(np.uint16)
        moved = table.take(pa.array(np.argsort(codes, kind="stable")))
        start = 0
        for bucket, count in enumerate(np.bincount(codes, minlength=1 << bits).tolist()):
            if count:
                yield bucket, moved.slice(start, count)
            start += count

    def _keys(self, table: pa.Table) -> list[pa.Array]:
        """Return the key columns in a form in which equal keys have equal bits."""
        return [
            key_column(kind, concat(table.column(index))) for index, kind in enumerate(self._kinds)
        ]

    def _resolved(self, bucket: pa.Table) -> Resolved:
        canonical = self._keys(bucket)
        codes, count = _codes(canonical)
        # Keys a, b, a are the codes [0, 1, 0], so `last` is [2, 1]. With the ordinals
        # [0, NOT_WRITTEN, 1] rows 0 and 2 were written; row 2 is its key's last: row 0 is gone.
        last = np.empty(count, np.int64)
        last[codes] = np.arange(len(codes))  # the last assignment stays
        if self._orders and count < len(codes):
            self._by_order(bucket, codes, last)
        ordinals = concat(bucket.column(str(bucket.num_columns - 1))).to_numpy()
        gone = ordinals != NOT_WRITTEN
        gone[last] = False
        series = concat(bucket.column(str(bucket.num_columns - 2))).to_numpy()
        rows = pa.array(last)
        hashes = key_hashes([column.take(rows) for column in canonical])
        return Resolved(
            tuple(concat(bucket.column(index)).take(rows) for index in range(len(self._kinds))),
            series[gone],
            ordinals[gone],
            np.sort(hashes),
        )

    def _by_order(self, bucket: pa.Table, codes: Longs, last: Longs) -> None:
        """Set `last` to the last change by the order columns, for keys with several changes."""
        # Codes [0, 1, 0, 0] with the order values [5, 9, 7, 6]: rows 0, 2, 3 share a key. Sorted
        # by owner and rank they are 0, 3, 2, and the owner's run ends with row 2, which has 7.
        several = np.flatnonzero(np.bincount(codes)[codes] > 1)
        taken = bucket.take(pa.array(several))
        first = len(self._kinds)
        ranks = _ranks([concat(taken.column(first + index)) for index in range(self._orders)])
        owners = codes[several]
        order = np.lexsort((ranks, owners))
        owners, ranks = owners[order], ranks[order]
        same = owners[1:] == owners[:-1]
        tie = np.flatnonzero(same & (ranks[1:] == ranks[:-1]))
        if len(tie):
            raise self._tie(taken.slice(int(order[tie[0]]), 1))
        ends = np.r_[~same, True]
        last[owners[ends]] = several[order[ends]]

    def _tie(self, row: pa.Table) -> InvalidInputError:
        values = [row.column(index)[0].as_py() for index in range(len(self._kinds) + self._orders)]
        keys, order = values[: len(self._kinds)], values[len(self._kinds) :]
        return InvalidInputError(
            f"Two rows of key {keys} are equal in the order columns ({order}), so neither is the "
            "last: order by more columns, until the order is total for each key"
        )


class _Spill:
    """One file of changes for each bucket."""

    def __init__(self) -> None:
        self._folder = SpillFolder("iceberg-upsert-")
        self._files: dict[int, tuple[str, pa.OSFile, pa.ipc.RecordBatchStreamWriter]] = {}

    def add(self, bucket: int, rows: pa.Table) -> None:
        if bucket not in self._files:
            path = self._folder.next(".arrows")
            sink = pa.OSFile(path, "wb")
            self._files[bucket] = path, sink, pa.ipc.new_stream(sink, rows.schema)
        self._files[bucket][2].write_table(rows.combine_chunks())

    def buckets(self) -> Iterator[pa.Table]:
        for _, sink, writer in self._files.values():
            writer.close()
            sink.close()
        for bucket in sorted(self._files):
            with pa.OSFile(self._files[bucket][0], "rb") as source:
                yield pa.ipc.open_stream(source).read_all()


def _codes(columns: Sequence[pa.Array]) -> tuple[Longs, int]:
    """Return a number for each row, equal for equal keys only, and the number of keys."""
    codes, sizes = [], []
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        codes.append(encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))
        sizes.append(len(encoded.dictionary))
    if len(codes) == 1:
        return codes[0], sizes[0]
    values, dense = np.unique(combine_codes(codes, sizes), return_inverse=True)
    return dense.astype(np.int64), len(values)


def _ranks(columns: Sequence[pa.Array]) -> Longs:
    """Return numbers in the order of the rows by the columns, equal for equal rows.

    Nulls come first, like in Spark.
    """
    first = columns[0]
    if len(columns) == 1 and pa.types.is_signed_integer(first.type) and not first.null_count:
        plain: Longs = first.cast(pa.int64()).to_numpy()
        return plain
    ranks = np.zeros(len(first), np.int64)
    for column in columns:
        dense = pc.rank(column, tiebreaker="dense").to_numpy().astype(np.int64)
        if column.null_count:
            dense[column.is_null().to_numpy(zero_copy_only=False)] = 0
        combined = ranks * (len(column) + 1) + dense
        ranks = np.unique(combined, return_inverse=True)[1].astype(np.int64)
    return ranks
