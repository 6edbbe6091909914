"""`ice.cdc`: messages of Debezium and Maxwell as rows that `apply_changes` takes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from iceberg_spark.api.schema_input import SchemaInput, as_schema
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.envelopes import FeedOptions, TimeUnit, changes_of
from iceberg_spark.engines.write_rows import RowSource
from iceberg_spark.write.cdc_messages import PLACEHOLDER, Envelope


class cdc:  # noqa: N801 - a room of functions, called as one
    """Rows of changes from Kafka's records: a DataFrame, also of a stream, or Arrow data.

    The messages are JSON in a column `value` (text or bytes), next to `key` and `offset`, as in
    Kafka's source. The result has the table's columns and `__seq`, `__op`, `__deleted`,
    `__truncated` and `__unavailable`, for `apply_changes`.
    """

    @staticmethod
    def debezium(  # noqa: PLR0913 - a feed without schemas leaves this much open
        df: RowSource,
        schema: SchemaInput | None = None,
        *,
        sequence: str | None = None,
        table: str | None = None,
        time_unit: TimeUnit | None = None,
        decimals: str | None = None,
        binary: str | None = None,
        placeholder: str = PLACEHOLDER,
        strict: bool = False,
        merge_schema: bool = False,
    ) -> pa.Table | on_spark.DataFrame:
        """Return the changes in messages of Debezium, with or without a schema in them.

        `schema` has the table's columns, else messages show them; `strict` refuses messages with
        other columns, `merge_schema` adds these with the types that the messages' schemas name.
        `sequence` is a path in the message ("source.lsn", "source.pos", "ts_ms");
        without it Kafka's offset orders changes, which it does for topics that are partitioned by
        key. `table` ("db.table") leaves out other tables' messages.

        Messages without a schema do not tell the unit of numbers that are times, `time_unit`
        ("ms", "us", "ns", or a mapping by column), nor whether texts are `decimals` in "text" or
        "bytes"; `binary` ("base64", "hex") is that of texts that are binary. `placeholder` is
        Debezium's `unavailable.value.placeholder`: the table's value stays.

        Raises InvalidInputError for a message that can't be read, naming its offset and column.
        """
        options = FeedOptions(
            sequence,
            table,
            (),
            time_unit,
            decimals,
            binary,
            placeholder,
            strict,
            merge_schema,
        )
        table_schema = None if schema is None else as_schema(schema)
        return changes_of(df, Envelope.DEBEZIUM, table_schema, options)

    @staticmethod
    def maxwell(
        df: RowSource,
        schema: SchemaInput | None = None,
        *,
        sequence: str | None = None,
        table: str | None = None,
        keys: Sequence[str] = (),
        strict: bool = False,
    ) -> pa.Table | on_spark.DataFrame:
        """Return the changes in messages of Maxwell.

        `sequence` may be "position" (with Maxwell's `output_binlog_position`), and is Kafka's
        offset else. With `keys` an update that gives a row another key is a delete of the old one
        as well. The rest is as of `debezium`.
        """
        table_schema = None if schema is None else as_schema(schema)
        options = FeedOptions(sequence, table, keys, strict=strict)
        return changes_of(df, Envelope.MAXWELL, table_schema, options)
