"""The source of a MERGE: read once and numbered, with the ranges of its keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from iceberg_spark.arrow.input_rows import input_batches
from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.nodes import And, Unbound
from iceberg_spark.expr.parse_condition import Equality, equalities
from iceberg_spark.row_level.key_ranges import (
    compares,
    key_range,
    key_values,
    most_values,
    range_type,
)
from iceberg_spark.row_level.row_level_change import MERGE_NAMES, Names
from iceberg_spark.spark.adapt.arrow_rows import frame_of
from iceberg_spark.spark.row_level.kept_rows import kept_rows
from iceberg_spark.spark.row_level.target_rows import SOURCE_ROW
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec.schema import Schema

MergeSource: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader | DataFrame


@dataclass(frozen=True, slots=True)
class Source:
    """The persisted rows of a merge's source, under its name.

    Rows are numbered in `SOURCE_ROW`. `ranges` is the predicate of target rows that can match, None
    if the keys give none.
    """

    rows: DataFrame
    count: int
    ranges: Unbound | None


def as_frame(source: MergeSource, spark: SparkSession) -> DataFrame:
    """Return the source as a DataFrame. Raises InvalidTypeError, InvalidSchemaError."""
    if isinstance(source, DataFrame):
        frame = source
    else:
        schema, batches = input_batches(source, "The source of a merge")
        frame = frame_of(spark, pa.Table.from_batches(batches, schema))
    seen: set[str] = set()
    for name in frame.columns:
        if name in seen:
            raise InvalidSchemaError(f"The source has column '{name}' twice; rename one of them")
        seen.add(name)
    return frame


@contextmanager
def read_once(
    source: DataFrame,
    on: str,
    schema: Schema,
    dialect: Dialect = SPARK,
    names: Names = MERGE_NAMES,
    properties: Mapping[str, str] | None = None,
) -> Iterator[Source]:
    """Persist the source while the block runs, so that each pass reads the same rows.

    Spark holds them in its storage memory and spills to local disk. `properties` of the table tell
    for which of its columns to collect keys, see `key_ranges.most_values`.
    """
    target, source_name = str(names.target), str(names.source)
    numbered = source.select("*", sf.monotonically_increasing_id().alias(SOURCE_ROW))
    with kept_rows(numbered) as persisted:
        keys = equalities(on, target, source_name, dialect)
        yield _measured(persisted.alias(source_name), keys, schema, properties or {})


def _measured(
    rows: DataFrame, keys: Sequence[Equality], schema: Schema, properties: Mapping[str, str]
) -> Source:
    """Count the rows and find the ranges of their keys, in the pass that reads them."""
    usable = [(key, kind) for key in keys if (kind := range_type(schema, key.column))]
    sides = [
        aggregate
        for index, (key, _) in enumerate(usable)
        for aggregate in (
            sf.min(expression(key.other)).alias(f"low{index}"),
            sf.max(expression(key.other)).alias(f"high{index}"),
            sf.count_if(sf.isnull(expression(key.other))).alias(f"nulls{index}"),
        )
    ]
    measured = rows.agg(sf.count(sf.lit(1)).alias("rows"), *sides).toArrow()
    count = int(measured.column("rows")[0].as_py())
    parts: list[Unbound] = []
    for index, (key, kind) in enumerate(usable):
        low, high = measured.column(f"low{index}"), measured.column(f"high{index}")
        if not compares(low.type, kind):
            continue
        with_nulls = key.null_safe and measured.column(f"nulls{index}")[0].as_py() > 0
        part = key_range(key.column, low[0], high[0], with_nulls=with_nulls)
        most = most_values(properties, key.column)
        if low[0].is_valid and count <= most:
            values = rows.select(expression(key.other).alias("key")).toArrow().column("key")
            values = values if with_nulls else values.drop_null()
            part = key_values(key.column, values, most) or part
        if part is not None:
            parts.append(part)
    if not parts:
        return Source(rows, count, None)
    return Source(rows, count, parts[0] if len(parts) == 1 else And(tuple(parts)))
