"""Messages of change feeds as rows of changes: in Arrow here, as DataFrames on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from iceberg_spark.arrow.input_rows import input_batches
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.spark_presence import active_session, is_case_sensitive, is_frame
from iceberg_spark.engines.write_rows import RowSource
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spec.arguments import one_of
from iceberg_spark.spec.schema import Schema
from iceberg_spark.write.cdc_envelopes import (
    OFFSET,
    Unwrapping,
    needed_columns,
    new_fields,
    schema_of,
    unwrap_all,
    with_new_columns,
)
from iceberg_spark.write.cdc_messages import PLACEHOLDER, Envelope
from iceberg_spark.write.cdc_values import NANOS

TimeUnit: TypeAlias = str | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """The options of a feed, as given by the caller; see `Unwrapping`."""

    sequence: str | None = None
    table: str | None = None
    keys: Sequence[str] = ()
    time_unit: TimeUnit | None = None
    decimals: str | None = None
    binary: str | None = None
    placeholder: str = PLACEHOLDER
    strict: bool = False
    merge_schema: bool = False

    def check(self) -> None:
        """Raise InvalidInputError or InvalidOptionError for values that are not valid."""
        by_column = self.time_unit if isinstance(self.time_unit, Mapping) else {"": self.time_unit}
        for unit in by_column.values():
            one_of(unit, "time_unit", tuple(NANOS))
        one_of(self.decimals, "decimals", ("text", "bytes"))
        one_of(self.binary, "binary", ("base64", "hex"))
        if self.strict and self.merge_schema:
            raise InvalidInputError(
                "strict refuses columns that the schema lacks, merge_schema adds them: set one"
            )
        if self.table is not None and "." not in self.table:
            raise InvalidInputError(
                f"table must be 'schema.table' or 'database.table', not {self.table!r}"
            )


def changes_of(
    rows: RowSource, envelope: Envelope, schema: Schema | None, options: FeedOptions
) -> pa.Table | on_spark.DataFrame:
    """Return the changes in messages. Raises InvalidInputError."""
    options.check()
    if is_frame(rows):
        names = rows.columns
        if schema is None and not options.merge_schema:
            sample = on_spark.message_sample(rows).to_batches()
            schema = schema_of(envelope, options.table, sample)
        how = _unwrapping(envelope, schema or Schema(), names, options)
        how = replace(how, ignores_case=not is_case_sensitive(rows.sparkSession))
        if options.merge_schema:
            how = replace(how, schema=with_new_columns(how, on_spark.new_fields_of(rows, how)))
        return on_spark.unwrapped_frame(rows, how)
    message_schema, batches = input_batches(rows, "Messages")
    messages = pa.Table.from_batches(batches, message_schema).select(
        needed_columns(message_schema.names)
    )
    if schema is None and not options.merge_schema:
        schema = schema_of(envelope, options.table, messages.to_batches())
    how = _unwrapping(envelope, schema or Schema(), message_schema.names, options)
    if options.merge_schema:
        fields = new_fields(how, messages.to_batches())
        how = replace(how, schema=with_new_columns(how, fields))
    changes = list(unwrap_all(how, messages.combine_chunks().to_batches()))
    return pa.Table.from_batches(changes, to_arrow(how.columns))


def _unwrapping(
    envelope: Envelope, schema: Schema, names: Sequence[str], options: FeedOptions
) -> Unwrapping:
    if "value" not in names:
        raise InvalidInputError(
            f"Messages are in a column 'value'; the rows have: {', '.join(names)}"
        )
    sequence = options.sequence or OFFSET
    if sequence == OFFSET and OFFSET not in names:
        raise InvalidInputError(
            "The rows have no column 'offset' to order changes by: set sequence= to a path in the "
            "message, for example 'source.lsn'"
        )
    unit = options.time_unit
    return Unwrapping(
        envelope,
        schema,
        sequence,
        options.table,
        tuple(options.keys),
        dict(unit) if isinstance(unit, Mapping) else unit,
        options.decimals,
        options.binary,
        options.placeholder,
        strict=options.strict,
        ignores_case=not is_case_sensitive(active_session()),
        has_offset=OFFSET in names,
    )
