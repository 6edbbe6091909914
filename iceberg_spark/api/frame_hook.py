"""`writeTo` and `mergeInto` of an enabled session's DataFrames, for Iceberg tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame

from iceberg_spark.api.frame_merge import FrameMerge
from iceberg_spark.api.frame_writer import FrameWriter
from iceberg_spark.api.spark_errors import translated_methods
from iceberg_spark.api.statements.target import names_table
from iceberg_spark.spark.sql.table_names import table_parts

Method: TypeAlias = Callable[..., Any]

_Writer = type("FrameWriter", (FrameWriter,), translated_methods(FrameWriter))
_Merge = type("FrameMerge", (FrameMerge,), translated_methods(FrameMerge))


def hooked_frames() -> Mapping[str, Callable[[Method], Method]]:
    """Return the hooks of methods of PySpark's `DataFrame`, by the methods' names."""
    return {"writeTo": _write_to, "mergeInto": _merge_into}


def _write_to(own: Method) -> Method:
    def write_to(self: DataFrame, table: str) -> Any:
        name = table_parts(self.sparkSession, table, new=True)
        ours = names_table(self.sparkSession, name)
        return _Writer(self, name) if ours else own(self, table)

    return write_to


def _merge_into(own: Method) -> Method:
    def merge_into(self: DataFrame, table: str, condition: Column) -> Any:
        name = table_parts(self.sparkSession, table)
        ours = names_table(self.sparkSession, name)
        return _Merge(self, name, condition) if ours else own(self, table, condition)

    return merge_into
