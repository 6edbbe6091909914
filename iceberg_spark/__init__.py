"""Apache Iceberg for PySpark with no JAR.

Public names are imported when they are used first (PEP 562): Spark starts many short-lived
Python processes that import this package and need little of it, and the core works without
PySpark.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iceberg_spark.api.catalog import TableCatalog, load_catalog
    from iceberg_spark.api.load import create_table, load_table
    from iceberg_spark.api.register import register
    from iceberg_spark.api.scan import TableScan
    from iceberg_spark.api.table import Table
    from iceberg_spark.api.transaction import TableTransaction
    from iceberg_spark.expr.build import col
    from iceberg_spark.spec.data_file import DataFile, DataFileContent, FileFormat
    from iceberg_spark.spec.partition import PartitionField, PartitionSpec
    from iceberg_spark.spec.schema import Schema
    from iceberg_spark.spec.snapshot import Snapshot, SnapshotRef
    from iceberg_spark.spec.sort import SortField, SortOrder
    from iceberg_spark.spec.types import (
        BinaryType,
        BooleanType,
        DateType,
        DecimalType,
        DoubleType,
        FixedType,
        FloatType,
        IntegerType,
        ListType,
        LongType,
        MapType,
        NestedField,
        StringType,
        StructType,
        TimestampType,
        TimestamptzType,
        TimeType,
        UUIDType,
    )

_HOME = {
    "api.catalog": ("TableCatalog", "load_catalog"),
    "api.load": ("create_table", "load_table"),
    "api.register": ("register",),
    "api.scan": ("TableScan",),
    "api.table": ("Table",),
    "api.transaction": ("TableTransaction",),
    "expr.build": ("col",),
    "spec.data_file": ("DataFile", "DataFileContent", "FileFormat"),
    "spec.partition": ("PartitionField", "PartitionSpec"),
    "spec.schema": ("Schema",),
    "spec.snapshot": ("Snapshot", "SnapshotRef"),
    "spec.sort": ("SortField", "SortOrder"),
    "spec.types": (
        "BinaryType", "BooleanType", "DateType", "DecimalType", "DoubleType", "FixedType",
        "FloatType", "IntegerType", "ListType", "LongType", "MapType", "NestedField", "StringType",
        "StructType", "TimeType", "TimestampType", "TimestamptzType", "UUIDType",
    ),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [  # noqa: RUF022 - by what a user needs first
    "load_table", "create_table", "load_catalog", "register",
    "Table", "TableScan", "TableTransaction", "TableCatalog", "col",
    "Schema", "NestedField", "BooleanType", "IntegerType", "LongType", "FloatType", "DoubleType",
    "DecimalType", "DateType", "TimeType", "TimestampType", "TimestamptzType", "StringType",
    "UUIDType", "FixedType", "BinaryType", "StructType", "ListType", "MapType",
    "PartitionSpec", "PartitionField", "SortOrder", "SortField", "Snapshot", "SnapshotRef",
    "DataFile", "DataFileContent", "FileFormat",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "__version__":
        try:
            return version("iceberg-spark")
        except PackageNotFoundError:  # on a PYTHONPATH, not installed
            return "0+unknown"
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'iceberg_spark' has no attribute '{name}'")
    return getattr(import_module(f"iceberg_spark.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
