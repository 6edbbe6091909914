"""`ice.cdc`: messages of Debezium and Maxwell as rows that `apply_changes` takes."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from iceberg_spark.api.schema_input import SchemaInput, as_schema
from iceberg_spark.engines import on_spark
from iceberg_spark.engines.envelopes import changes_of
from iceberg_spark.engines.write_rows import RowSource
from iceberg_spark.write.cdc_envelopes import Envelope


class cdc:  # noqa: N801 - a room of functions, called as one
    """Rows of changes from Kafka's records: a frame, also a stream, or Arrow data.

    The messages are JSON in a column `value` (text or bytes), as Kafka's source has it, beside
    `key` and `offset`. What comes back has the table's columns and `__seq`, `__op`, `__deleted`
    and `__truncated`, for `apply_changes`.
    """

    @staticmethod
    def debezium(
        df: RowSource,
        schema: SchemaInput | None = None,
        *,
        sequence: str | None = None,
        table: str | None = None,
        time_unit: str | None = None,
    ) -> pa.Table | on_spark.DataFrame:
        """Return the changes in messages of Debezium's, with or without its schema in them.

        `schema` has the table's columns, else messages show them. `sequence` is a path in the
        message ("source.lsn", "source.pos", "ts_ms"); without it Kafka's offset orders changes,
        which it does for topics that are partitioned by key. `table` ("db.table") leaves out
        other tables' messages, `time_unit` ("ms", "us") is that of timestamps that are numbers.
        Raises InvalidInputError for a message that can't be read, naming its offset.
        """
        return changes_of(
            df,
            Envelope.DEBEZIUM,
            None if schema is None else as_schema(schema),
            sequence=sequence,
            table=table,
            keys=(),
            time_unit=time_unit,
        )

    @staticmethod
    def maxwell(
        df: RowSource,
        schema: SchemaInput | None = None,
        *,
        sequence: str | None = None,
        table: str | None = None,
        keys: Sequence[str] = (),
    ) -> pa.Table | on_spark.DataFrame:
        """Return the changes in messages of Maxwell's.

        `sequence` may be "position" (with Maxwell's `output_binlog_position`), and is Kafka's
        offset else. With `keys` an update that gives a row another key is a delete of the old one
        as well. The rest is as of `debezium`.
        """
        return changes_of(
            df,
            Envelope.MAXWELL,
            None if schema is None else as_schema(schema),
            sequence=sequence,
            table=table,
            keys=keys,
            time_unit=None,
        )
