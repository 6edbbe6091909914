"""Positions of rows as bitmaps that Spark builds: no row passes through Python."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from iceberg_spark.arrow.position_set import PositionSet
from iceberg_spark.spark.row_level.target_rows import FILE, POS

_BITS = 15
"""Spark's bitmaps hold 2**15 bits: 4 KiB for so many rows of a file, if one of them is there."""


def mark_rows(rows: DataFrame, *, unique: bool) -> list[tuple[str, PositionSet]] | None:
    """Return the positions of a DataFrame's rows by file.

    `rows` has the columns `_file` and `_pos`. With `unique`, returns None if a row comes twice.
    Tasks and driver hold a bit for each row of the files, or some KiB for each file.
    """
    position = sf.col(POS)
    marks = rows.groupBy(
        sf.col(FILE).alias("file"), sf.shiftright(position, _BITS).alias("part")
    ).agg(
        sf.bitmap_construct_agg(position.bitwiseAND(sf.lit((1 << _BITS) - 1))).alias("bits"),
        sf.count("*").alias("rows"),
    )
    bitmaps = marks.toArrow().sort_by([("file", "ascending"), ("part", "ascending")])
    files = list(_files(bitmaps))
    positions = sum(positions_of_file.count for _, positions_of_file in files)
    if unique and positions != sum(bitmaps.column("rows").to_pylist()):
        return None
    return files


def _files(marks: pa.Table) -> Iterator[tuple[str, PositionSet]]:
    names = marks.column("file").to_pylist()
    first = marks.column("part").to_numpy() << (_BITS - 6)
    word_indices = first[:, None] + np.arange(1 << (_BITS - 6))
    bits = b"".join(marks.column("bits").to_pylist())
    words = np.frombuffer(bits, "<u8").reshape(word_indices.shape)
    starts = [index for index, name in enumerate(names) if index == 0 or name != names[index - 1]]
    for start, end in zip(starts, [*starts[1:], len(names)], strict=False):
        positions = PositionSet.from_words(
            word_indices[start:end].ravel(), words[start:end].ravel()
        )
        yield names[start], positions
