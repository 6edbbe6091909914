"""Parquet files as other writers store them, made with pyarrow and a changed footer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from iceberg_spark.formats.parquet_annotations import add_annotations

_KINDS = {"int32": pa.int32(), "int64": pa.int64(), "binary": pa.binary()}
_LEAST = {9: 4, 18: 8, 38: 16}
_LZ4_RAW, _LZ4, _LZO = b"\x15\x0e\x16", b"\x15\x0a\x16", b"\x15\x06\x16"


@dataclass(frozen=True, slots=True)
class DecimalColumn:
    """A column of decimals with two digits behind the point, as a physical type stores them."""

    kind: pa.DataType
    precision: int

    def stored(self, unscaled: Sequence[int | None]) -> pa.Array:
        """Return unscaled numbers as the physical type has them."""
        return pa.array([None if n is None else self._stored(n) for n in unscaled], self.kind)

    def _stored(self, unscaled: int) -> int | bytes:
        if pa.types.is_integer(self.kind):
            return unscaled
        least = (unscaled.bit_length() + 8) // 8
        width = least if pa.types.is_binary(self.kind) else self.kind.byte_width
        return unscaled.to_bytes(width, "big", signed=True)

    @property
    def annotation(self) -> bytes:
        """Thrift's bytes of the logical type DECIMAL(precision, 2)."""
        return b"\x5c\x15\x04\x15" + bytes((self.precision * 2,)) + b"\0\0"


def decimal_column(physical: str, width: int, precision: int) -> DecimalColumn | None:
    """Return a column; None for a physical type that can't hold so many digits."""
    kind = pa.binary(width) if physical == "fixed" else _KINDS[physical]
    size = {"int32": 4, "int64": 8, "binary": 16}.get(physical, width)
    return DecimalColumn(kind, precision) if size >= _LEAST[precision] else None


def decimal_file(
    path: Path,
    unscaled: Sequence[int | None],
    columns: Mapping[str, DecimalColumn],
    *,
    has_field_ids: bool = False,
) -> Path:
    """Write a file with `id` and columns that hold the same decimals in other physical types.

    Field ids, if there are any, count from 1 as those of a table with these columns.
    """
    arrays: list[Any] = [pa.array(range(len(unscaled)), pa.int64())]
    arrays += [column.stored(unscaled) for column in columns.values()]
    rows = pa.table(arrays, names=["id", *columns])
    if has_field_ids:
        ids = ({"PARQUET:field_id": str(number)} for number in range(1, len(arrays) + 1))
        fields = [field.with_metadata(marks) for field, marks in zip(rows.schema, ids, strict=True)]
        rows = rows.cast(pa.schema(fields))
    # pyarrow compares plain bytes without a sign, so that its statistics are not those of decimals.
    pq.write_table(rows, path, store_schema=False, row_group_size=2, write_statistics=["id"])
    marks = {(name,): column.annotation for name, column in columns.items()}
    path.write_bytes(add_annotations(path.read_bytes(), marks))
    return path


def raw_lz4_file(path: Path, rows: pa.Table) -> None:
    """Write a file whose pages are LZ4 blocks without Hadoop's frame, under the name LZ4."""
    _file_named(path, rows, _LZ4)


def lzo_file(path: Path, rows: pa.Table) -> None:
    """Write a file that says its pages are compressed by LZO."""
    _file_named(path, rows, _LZO)


def _file_named(path: Path, rows: pa.Table, codec: bytes) -> None:
    pq.write_table(rows, path, compression="lz4", use_dictionary=False)
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer = data[-8 - length : -8]
    assert footer.count(_LZ4_RAW) == rows.num_columns
    path.write_bytes(data[: -8 - length] + footer.replace(_LZ4_RAW, codec) + data[-8:])
