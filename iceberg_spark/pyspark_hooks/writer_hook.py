"""PySpark's `DataFrameWriter` of an enabled session: our format is written by the native engine."""

from __future__ import annotations

from typing import Any, Self

from pyspark.sql import DataFrame

from iceberg_spark.pyspark_hooks.builder_hook import BuilderHook
from iceberg_spark.pyspark_hooks.frame_writer import insert_into, save_as_table
from iceberg_spark.pyspark_hooks.save_frame import save_frame
from iceberg_spark.spark.adapt.builder_state import BuilderState
from iceberg_spark.spark.sql.table_names import table_parts
from iceberg_spark.statements.target import names_table


class WriterHook(BuilderHook):
    """Records calls and passes them on; `save` writes to Iceberg tables itself."""

    _frame: DataFrame

    def begin(self, frame: DataFrame) -> None:
        """Start recording; called once, when the frame creates the writer."""
        self._builder_state = BuilderState()
        self._frame = frame

    def mode(self, saveMode: str | None) -> Self:  # noqa: N803 - PySpark's name
        """Note the save mode."""
        if saveMode:
            self._builder_state.mode = saveMode
        self._own.mode(saveMode)
        return self

    def partitionBy(self, *cols: Any) -> Self:  # noqa: N802 - PySpark's name
        """Note the columns to partition a new table by."""
        self._record_partitioning(cols)
        self._own.partitionBy(*cols)
        return self

    def bucketBy(self, numBuckets: int, col: Any, *cols: Any) -> Self:  # noqa: N802, N803
        """Note the buckets of a new table for `saveAsTable`; Spark refuses them elsewhere."""
        self._builder_state.other = True
        self._own.bucketBy(numBuckets, col, *cols)
        columns = [*col, *cols] if isinstance(col, list | tuple) else [col, *cols]
        self._builder_state.buckets = (numBuckets, tuple(columns))
        return self

    def sortBy(self, *arguments: Any) -> Self:  # noqa: N802 - PySpark's name
        """Note an order inside buckets, which only Spark's own tables have."""
        self._builder_state.other, self._builder_state.clustering = True, "sortBy"
        self._own.sortBy(*arguments)
        return self

    def clusterBy(self, *arguments: Any) -> Self:  # noqa: N802 - PySpark's name
        """Note clustering, which only Spark's own tables have."""
        self._builder_state.other, self._builder_state.clustering = True, "clusterBy"
        self._own.clusterBy(*arguments)
        return self

    def save(
        self,
        path: str | None = None,
        format: str | None = None,
        mode: str | None = None,
        partitionBy: Any = None,  # noqa: N803 - PySpark's name
        **options: Any,
    ) -> None:
        """Write to an Iceberg table; PySpark writes everything else."""
        self._take(format, mode, partitionBy, options)
        table = self._builder_state.location(path)
        if not self._builder_state.is_ours(self._frame.sparkSession) or table is None:
            self._own.save(path)
        else:
            save_frame(self._frame, table, self._builder_state)

    def saveAsTable(  # noqa: N802 - PySpark's name
        self,
        name: str,
        format: str | None = None,
        mode: str | None = None,
        partitionBy: Any = None,  # noqa: N803 - PySpark's name
        **options: Any,
    ) -> None:
        """Write to a table of an Iceberg catalog; PySpark writes to others."""
        self._take(format, mode, partitionBy, options)
        parts = table_parts(self._frame.sparkSession, name, new=True)
        if names_table(self._frame.sparkSession, parts):
            save_as_table(self._frame, parts, self._builder_state)
        else:
            self._own.saveAsTable(name)

    def insertInto(self, tableName: str, overwrite: bool | None = None) -> None:  # noqa: N802, N803
        """Insert into a table of an Iceberg catalog, by position; PySpark writes to others."""
        spark = self._frame.sparkSession
        parts = table_parts(spark, tableName)
        if overwrite is not None:  # noted for what this writer does next, as PySpark does
            self.mode("overwrite" if overwrite else "append")
        if names_table(spark, parts) and not self._builder_state.other:
            insert_into(self._frame, parts, self._builder_state, overwrite)
        else:
            self._own.insertInto(tableName, overwrite)

    def _take(
        self, source: str | None, mode: str | None, partition_by: Any, options: dict[str, Any]
    ) -> None:
        self.mode(mode).options(**options)
        if partition_by is not None:
            self.partitionBy(partition_by)
        if source is not None:
            self.format(source)
