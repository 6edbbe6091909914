"""A stream of the caller's batches as batches of the table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from iceberg_spark.arrow.arrays import with_offsets
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.align_columns import AlignPlan, align


@dataclass(frozen=True, slots=True)
class AlignOptions:
    """How the caller's columns are matched to the table's (see `align_columns.align`)."""

    check_nullability: bool = True
    check_ordering: bool = False
    case_sensitive: bool = True


def check_columns(schema: Schema, source: pa.Schema, options: AlignOptions) -> None:
    """Refuse a frame with unsuitable columns before its first row. Raises InvalidSchemaError."""
    _plan(schema, source, options)


def aligned(
    schema: Schema, batches: Iterable[pa.RecordBatch], options: AlignOptions
) -> Iterator[pa.RecordBatch]:
    """Yield each batch as the table's columns; all batches have one schema.

    Raises InvalidSchemaError for columns that don't fit, InvalidInputError for their values.
    """
    plan = None
    for batch in batches:
        if plan is None:
            plan = _plan(schema, batch.schema, options)
        if batch.num_rows:
            columns = [with_offsets(column) for column in batch.columns]
            yield plan.apply(pa.RecordBatch.from_arrays(columns, schema=batch.schema))


def _plan(schema: Schema, source: pa.Schema, options: AlignOptions) -> AlignPlan:
    return align(
        schema,
        source,
        check_nullability=options.check_nullability,
        check_ordering=options.check_ordering,
        case_sensitive=options.case_sensitive,
    )
