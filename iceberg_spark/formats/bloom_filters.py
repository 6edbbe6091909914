"""Bloom filters of Parquet columns, configured by table properties (Java: TableProperties)."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow.parquet as pq

from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.formats.limits import WRITING
from iceberg_spark.formats.writer_options import WriterProperties
from iceberg_spark.spec.properties import (
    PARQUET_BLOOM_FILTER_COLUMN_PREFIX,
    PARQUET_BLOOM_FILTER_FPP_PREFIX,
)

_HASHES = 8  # bits that a value sets in its block (Parquet's split block bloom filter)


@dataclass(frozen=True, slots=True)
class BloomFilters:
    """The false-positive probability of each column with a filter, and a filter's most bytes."""

    columns: Mapping[str, float]
    max_bytes: int = WRITING.bloom_bytes

    def of_row_group(self, rows: int, paths: Collection[str]) -> dict[str, dict[str, float]]:
        """Return pyarrow's `bloom_filter_options` for row groups of so many rows.

        `paths` are the file's leaf columns; a name that is none of them gets no filter, as in
        Java.
        """
        return {
            name: {"ndv": max(1, min(rows, values_held(self.max_bytes, fpp))), "fpp": fpp}
            for name, fpp in self.columns.items()
            if name in paths
        }


NO_BLOOM_FILTERS = BloomFilters({})


def values_held(size: int, fpp: float) -> int:
    """Return how many distinct values a filter of `size` bytes holds at a false-positive rate."""
    bits = size * 8
    return int(bits / _HASHES * -math.log(1 - fpp ** (1 / _HASHES)))


def bloom_filters(properties: WriterProperties) -> BloomFilters:
    """Return the filters that `write.parquet.bloom-filter-*` configure.

    Raises InvalidOptionError naming the property, UnsupportedError if the installed pyarrow
    can't write any.
    """
    columns = {}
    for key, value in properties.properties.items():
        if properties.deletes or not key.startswith(PARQUET_BLOOM_FILTER_COLUMN_PREFIX):
            continue
        if value.strip().lower() == "true":
            name = key.removeprefix(PARQUET_BLOOM_FILTER_COLUMN_PREFIX)
            columns[name] = _probability(properties, name)
    parameters = inspect.signature(pq.ParquetWriter.__init__).parameters
    if columns and "bloom_filter_options" not in parameters:
        raise UnsupportedError(
            f"{PARQUET_BLOOM_FILTER_COLUMN_PREFIX}*: the installed pyarrow can't write bloom "
            "filters; install a newer one"
        )
    return BloomFilters(
        columns, properties.positive_int("parquet.bloom-filter-max-bytes", WRITING.bloom_bytes)
    )


def _probability(properties: WriterProperties, name: str) -> float:
    key = f"{PARQUET_BLOOM_FILTER_FPP_PREFIX}{name}"
    text = properties.properties.get(key)
    if text is None:
        return WRITING.bloom_share
    try:
        probability = float(text)
    except ValueError:
        probability = math.nan
    if not 0 < probability < 1:
        raise InvalidOptionError(f"{key}: '{text}' is not a number between 0 and 1")
    return probability
