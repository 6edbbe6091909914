"""PySpark's `DataStreamReader` of an enabled session, with the session's catalogs."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from iceberg_spark.pyspark_hooks.builder_hook import BuilderHook
from iceberg_spark.scan.incremental import CHANGES
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME, BuilderState
from iceberg_spark.spark.session.send_catalog import catalog_to_send
from iceberg_spark.spark.sql.table_names import given_parts
from iceberg_spark.statements.target import names_table, refuse_changes, streamed


class StreamReaderHook(BuilderHook):
    """Records calls and passes them on, with the catalog's settings for Iceberg tables.

    The data source reads the stream: Spark plans its batches in processes of its own.
    """

    _session: SparkSession

    def begin(self, session: SparkSession) -> None:
        """Start recording; called once, when the session creates the reader."""
        self._builder_state = BuilderState()
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
        table = self._builder_state.location(path)
        if table is not None and self._builder_state.is_ours(self._session):
            self._own.format(FORMAT_NAME)
            for key, value in catalog_to_send(self._session, table).items():
                self._own.option(key, value)
        frame: DataFrame = self._own.load(path)
        return frame

    def table(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Return the stream of a table of an Iceberg catalog; PySpark reads others.

        It also reads a branch (`cat.db.t.branch_x`) and the table's changes (`cat.db.t.changes`).
        Raises NoSuchTableError, InvalidInputError for a name with parts that no table can have,
        UnsupportedError for tags and metadata tables.
        """
        name = given_parts(self._session, tableName)
        if not names_table(self._session, name):
            frame: DataFrame = self._own.table(tableName)
            return frame
        source = streamed(self._session, name)
        source.table()  # Spark reports a missing table as an error of the data source
        if source.branch is None:
            return self.load(source.path, FORMAT_NAME)
        another = self._session.readStream.options(**self._builder_state.with_branch(source.branch))
        return another.load(source.path, FORMAT_NAME)  # this one may be used for others

    def changes(self, tableName: str) -> DataFrame:  # noqa: N803 - PySpark's name
        """Let Spark read changes of its catalogs (4.2). Raises UnsupportedError for Iceberg's."""
        instead = f"spark.readStream.format('{FORMAT_NAME}').load('{{}}#{CHANGES}')"
        refuse_changes(self._session, tableName, instead)
        frame: DataFrame = self._own.changes(tableName)
        return frame
