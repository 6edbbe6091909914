"""Messages of change feeds as rows of changes: Arrow here, frames on Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from iceberg_spark.arrow.given_rows import given_rows
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.at_hand import is_frame
from iceberg_spark.engines.write_rows import RowSource
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.cdc_envelopes import (
    OFFSET,
    Envelope,
    Unwrapping,
    needed,
    schema_of,
    unwrap_all,
)


def changes_of(
    rows: RowSource,
    envelope: Envelope,
    schema: Schema | None,
    *,
    sequence: str | None,
    table: str | None,
    keys: Sequence[str],
    time_unit: str | None,
) -> pa.Table | on_spark.DataFrame:
    """Return the changes in messages. Raises InvalidInputError."""
    if time_unit not in (None, "ms", "us"):
        raise InvalidInputError(f"time_unit must be 'ms' or 'us', not {time_unit!r}")
    if is_frame(rows):
        names = rows.columns
        known = schema or schema_of(envelope, on_spark.message_sample(rows).to_batches())
        how = _how(envelope, known, names, sequence, table, keys, time_unit)
        return on_spark.unwrapped_frame(rows, how)
    given, batches = given_rows(rows, "Messages")
    held = pa.Table.from_batches(batches, given).select(needed(given.names))
    known = schema or schema_of(envelope, held.to_batches())
    how = _how(envelope, known, given.names, sequence, table, keys, time_unit)
    made = list(unwrap_all(how, held.to_batches()))
    return pa.Table.from_batches(made, to_arrow(how.columns))


def _how(
    envelope: Envelope,
    schema: Schema,
    names: Sequence[str],
    sequence: str | None,
    table: str | None,
    keys: Sequence[str],
    time_unit: str | None,
) -> Unwrapping:
    if "value" not in names:
        raise InvalidInputError(
            f"Messages are in a column 'value'; the rows have: {', '.join(names)}"
        )
    order = sequence or OFFSET
    if order == OFFSET and OFFSET not in names:
        raise InvalidInputError(
            "The rows have no column 'offset' to order changes by: say sequence=, a path in the "
            "message as 'source.lsn'"
        )
    return Unwrapping(envelope, schema, order, table, tuple(keys), time_unit)
