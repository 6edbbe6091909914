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

        Args:
            df: A DataFrame (also of a stream) or Arrow data, with the columns `value`, `key` and
                `offset`.
            schema: The table's columns; by default those that the messages show.
            sequence: A path in the message that orders changes ("source.lsn", "source.pos",
                "ts_ms"); by default Kafka's offset, which orders topics that are partitioned by
                key.
            table: "db.table" leaves out the messages of other tables.
            time_unit: The unit of numbers that are times, in messages without a schema: "ms", "us",
                "ns", or a mapping by column.
            decimals: What texts of decimals are, in messages without a schema: "text" or "bytes".
            binary: What texts of binary columns are: "base64" or "hex".
            placeholder: Debezium's `unavailable.value.placeholder`: the table's value stays.
            strict: Refuse messages with other columns.
            merge_schema: Add the other columns, with the types that the messages' schemas name.

        Raises:
            InvalidInputError: A message cannot be read; the error names its offset and column.

        Examples:
            >>> ice.cdc.debezium(records, "id bigint, name string", sequence="source.lsn")
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

        Args:
            df: As for `debezium`.
            schema: As for `debezium`.
            sequence: "position" (with Maxwell's `output_binlog_position`); by default Kafka's
                offset.
            table: As for `debezium`.
            keys: The key: an update that changes it deletes the row of the old key, too.
            strict: As for `debezium`.

        Examples:
            >>> ice.cdc.maxwell(records, "id bigint, name string", keys=["id"])
        """
        table_schema = None if schema is None else as_schema(schema)
        options = FeedOptions(sequence, table, keys, strict=strict)
        return changes_of(df, Envelope.MAXWELL, table_schema, options)
