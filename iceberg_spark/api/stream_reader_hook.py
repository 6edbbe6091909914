"""PySpark's `DataStreamReader` of an enabled session: it knows the catalogs of the session."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.api.asked_hook import AskedHook
from iceberg_spark.api.statements.target import names_ours, new_target
from iceberg_spark.spark.adapt.asked import FORMAT_NAME, Asked
from iceberg_spark.spark.session.send_catalog import catalog_to_send
from iceberg_spark.spark.sql.table_names import table_parts


class StreamReaderHook(AskedHook):
    """Notes what is asked and passes it on, with the catalog's settings where it is ours.

    The stream is the source's: Spark plans its batches in processes of its own.
    """

    _session: SparkSession

    def begin(self, session: SparkSession) -> None:
        """Start noting; called once, when the session makes the reader."""
        self._asked = Asked()
        self._session = session

    def load(
        self,
        path: str | None = None,
        format: str | None = None,
        schema: StructType | str | None = None,
        **options: Any,
    ) -> DataFrame:
        """Return the stream of a table, and leave everything else to PySpark."""
        if format is not None:
            self.format(format)
        if schema is not None:
            self._own.schema(schema)
        self.options(**options)
        table = self._asked.place(path)
        if table is not None and self._asked.is_ours(self._session):
            for key, value in catalog_to_send(self._session, table).items():
                self._own.option(key, value)
        frame: DataFrame = self._own.load(path)
        return frame

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Return the stream of a table of a catalog of ours, and leave others to PySpark.

        Raises InvalidInputError for a name with parts that no table can have.
        """
        name = table_parts(self._session, tableName)
        if not names_ours(self._session, name, 3):
            frame: DataFrame = self._own.table(tableName)
            return frame
        return self.load(new_target(self._session, name).path, FORMAT_NAME)
