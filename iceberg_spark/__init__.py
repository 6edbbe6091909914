"""Apache Iceberg for PySpark with no JAR.

Public names are imported when they are used first (PEP 562): Spark starts many short-lived
Python processes that import this package and need little of it, and the core works without
PySpark. Type checkers read `__init__.pyi`. The import also chooses the Python of Spark's workers if
nothing else does.
"""

from __future__ import annotations

from importlib import import_module

from iceberg_spark.errors import no_pyspark
from iceberg_spark.lazy import LazyModule
from iceberg_spark.worker_environment import default_worker_python

default_worker_python()

_installed = LazyModule("importlib.metadata")  # it takes more time than all else here

_HOME = {
    "api.catalog": ("TableCatalog", "load_catalog", "transaction"),
    "pyspark_hooks.enable": ("disable", "enable"),
    "api.envelopes": ("cdc",),
    "api.load": ("create_table", "load_table"),
    "statements.magic": ("load_ipython_extension", "unload_ipython_extension"),  # for %load_ext
    "api.register": ("register",),
    "api.import_table": ("migrate", "snapshot"),
    "api.scan": ("TableScan",),
    "statements.sql": ("explain", "sql"),
    "api.table": ("Table",),
    "api.catalog_transaction": ("CatalogTransaction",),
    "api.transaction": ("TableTransaction",),
    "api.view": ("View",),
    "checkup.examine": ("doctor",),
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
    "load_table", "create_table", "load_catalog", "snapshot", "migrate", "transaction", "enable",
    "disable", "sql", "explain", "register", "doctor", "cdc",
    "Table", "TableScan", "TableTransaction", "TableCatalog", "View",
    "CatalogTransaction", "col",
    "Schema", "NestedField", "BooleanType", "IntegerType", "LongType", "FloatType", "DoubleType",
    "DecimalType", "DateType", "TimeType", "TimestampType", "TimestamptzType", "StringType",
    "UUIDType", "FixedType", "BinaryType", "StructType", "ListType", "MapType",
    "PartitionSpec", "PartitionField", "SortOrder", "SortField", "Snapshot", "SnapshotRef",
    "DataFile", "DataFileContent", "FileFormat",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "__version__":
        try:
            installed: str = _installed.version("iceberg-spark")
        except _installed.PackageNotFoundError:  # on a PYTHONPATH, not installed
            return "0+unknown"
        return installed
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'iceberg_spark' has no attribute '{name}'")
    try:
        return getattr(import_module(f"iceberg_spark.{_MODULE_OF[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] in ("pyspark", "py4j"):
            raise no_pyspark() from error
        raise


def __dir__() -> list[str]:
    return sorted(__all__)
