"""Methods of `spark.catalog` of an enabled session that create, drop or cache Iceberg tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NoReturn, TypeAlias

import pyspark.sql.catalog as pyspark_catalog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.catalog import CatalogMetadata, Table
from pyspark.sql.types import StructType

from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.spark.adapt.types import from_spark
from iceberg_spark.spark.session.classic_session import session_of_catalog
from iceberg_spark.spark.session.error_conditions import UNSUPPORTED_COMMAND, with_condition
from iceberg_spark.spark.session.own_methods import uses_original_methods
from iceberg_spark.spark.session.session_catalogs import catalog_names
from iceberg_spark.spark.sql.catalog_errors import errors_of_catalogs
from iceberg_spark.spark.sql.spark_queries import register_catalogs
from iceberg_spark.spark.sql.statements.create_table import CreateTable, DropTable
from iceberg_spark.spark.sql.statements.listings import (
    ShowCreateTable,
    ShowPartitions,
    ShowProperties,
)
from iceberg_spark.spark.sql.statements.namespaces import CreateNamespace, DropNamespace
from iceberg_spark.spark.sql.statements.properties import Option
from iceberg_spark.spark.sql.statements.rows import Truncate
from iceberg_spark.spark.sql.statements.views import DropView, ShowViews
from iceberg_spark.spark.sql.table_names import namespace_parts, table_parts
from iceberg_spark.spec.properties import DEFAULT_FILE_FORMAT
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.statements.commands import run_command
from iceberg_spark.statements.definitions import create_from, default_format
from iceberg_spark.statements.in_catalogs import matching
from iceberg_spark.statements.target import Name, names_namespace, names_table, new_target

Method: TypeAlias = Callable[..., Any]


def hooked_changes() -> Mapping[str, Callable[[Method], Method]]:
    """Return the hooks of methods of PySpark's `Catalog`, by the methods' names.

    Some of the methods exist in PySpark 4.2 and later only.
    """
    return {
        "createTable": partial(_about, "tableName", _create_table),
        "cacheTable": partial(_about, "tableName", _cache_table, in_spark=True),
        "isCached": partial(_about, "tableName", _is_cached, in_spark=True),
        "uncacheTable": partial(_about, "tableName", _uncache_table, in_spark=True),
        "recoverPartitions": partial(_about, "tableName", _recover_partitions),
        "analyzeTable": partial(_about, "tableName", _analyze_table),
        "dropTable": partial(_about, "tableName", _drop_table),
        "truncateTable": partial(_about, "tableName", _truncate_table),
        "dropView": partial(_about, "viewName", _drop_view),
        "listPartitions": partial(_about, "tableName", _list_partitions),
        "getTableProperties": partial(_about, "tableName", _table_properties),
        "getCreateTableString": partial(_about, "tableName", _create_table_string),
        "createDatabase": partial(_about, "dbName", _create_database),
        "dropDatabase": partial(_about, "dbName", _drop_database),
        "listViews": partial(_about, "dbName", _list_views),
        "listCatalogs": _list_catalogs,
    }


def _about(
    parameter: str, iceberg_method: Method, spark_method: Method, *, in_spark: bool = False
) -> Method:
    """Return a method on the table or namespace that its first argument names.

    With `in_spark` Spark's own method runs if Spark resolves the table: not over Connect.
    """
    is_table = parameter != "dbName"
    read, is_iceberg = (
        (table_parts, names_table) if is_table else (namespace_parts, names_namespace)
    )

    def answer(self: Any, *arguments: Any, **named: Any) -> Any:
        written = arguments[0] if arguments else named.get(parameter)
        if uses_original_methods():
            return spark_method(self, *arguments, **named)
        spark = session_of_catalog(self)
        name = read(spark, written)
        if not is_iceberg(spark, name) or "/" in name[-1]:
            return spark_method(self, *arguments, **named)
        if in_spark and register_catalogs(spark):
            with errors_of_catalogs(spark):
                return spark_method(self, *arguments, **named)
        rest = {key: value for key, value in named.items() if key != parameter}
        return iceberg_method(spark, name, *arguments[1:], **rest)

    return answer


def _create_table(
    spark: SparkSession,
    name: Name,
    path: str | None = None,
    source: str | None = None,
    schema: StructType | None = None,
    description: str | None = None,
    **options: str,
) -> DataFrame:
    if schema is None:
        raise InvalidInputError(
            f"createTable('{'.'.join(name)}') needs schema=...; a table whose files are there "
            "already is taken up by CALL system.register_table(...)"
        )
    source = source or options.pop("format", None)  # Ibis calls it so, as in df.write.saveAsTable
    default = None if DEFAULT_FILE_FORMAT in options else default_format(spark)
    statement = CreateTable(
        name,
        options={key: Option(str(text)) for key, text in options.items()},
        location=path,
        comment=description,
        using=source.lower() if source else default,
    )
    create_from(spark, statement, from_spark(schema))
    return spark.read.table(".".join(map(quote, name)))


def _cache_table(spark: SparkSession, name: Name, storageLevel: Any = None) -> NoReturn:  # noqa: N803, ARG001
    new_target(spark, name).table()
    full_name = ".".join(name)
    raise UnsupportedError(
        f"{full_name} can't be cached by its name over Spark Connect: each query reads the newest "
        f"version. Cache a DataFrame, and use that: spark.table('{full_name}').cache()"
    )


def _is_cached(spark: SparkSession, name: Name) -> bool:
    new_target(spark, name).table()
    return False


def _uncache_table(spark: SparkSession, name: Name) -> None:
    new_target(spark, name).table()


def _recover_partitions(spark: SparkSession, name: Name) -> NoReturn:
    new_target(spark, name).table()
    error = UnsupportedError(
        f"{'.'.join(name)} has its partitions in its metadata: there are none to recover"
    )
    raise with_condition(error, UNSUPPORTED_COMMAND)


def _analyze_table(spark: SparkSession, name: Name, noScan: bool = False) -> NoReturn:  # noqa: N803, ARG001
    new_target(spark, name).table()
    raise UnsupportedError(
        f"analyzeTable: use CALL {name[0]}.system.compute_table_stats('{'.'.join(name[1:])}')"
    )


def _drop_table(
    spark: SparkSession,
    name: Name,
    ifExists: bool = False,  # noqa: N803
    purge: bool = False,
) -> None:
    run_command(spark, DropTable(name, if_exists=ifExists, purge=purge))


def _truncate_table(spark: SparkSession, name: Name) -> None:
    run_command(spark, Truncate(name))


def _drop_view(spark: SparkSession, name: Name, ifExists: bool = False) -> None:  # noqa: N803
    run_command(spark, DropView(name, if_exists=ifExists))


def _list_partitions(spark: SparkSession, name: Name) -> list[Any]:
    table_partition: Any = pyspark_catalog.TablePartition  # type: ignore[attr-defined]
    return [
        table_partition(partition=row[0])
        for row in run_command(spark, ShowPartitions(name)).collect()
    ]


def _table_properties(spark: SparkSession, name: Name) -> dict[str, str]:
    return {row[0]: row[1] for row in run_command(spark, ShowProperties(name)).collect()}


def _create_table_string(spark: SparkSession, name: Name, asSerde: bool = False) -> str:  # noqa: N803
    if asSerde:
        raise UnsupportedError(f"{'.'.join(name)} is no table of Hive's: leave asSerde out")
    return str(run_command(spark, ShowCreateTable(name)).collect()[0][0])


def _create_database(
    spark: SparkSession,
    name: Name,
    ifNotExists: bool = False,  # noqa: N803
    properties: Mapping[str, str] | None = None,
) -> None:
    run_command(spark, CreateNamespace(name, dict(properties or {}), ifNotExists))


def _drop_database(
    spark: SparkSession,
    name: Name,
    ifExists: bool = False,  # noqa: N803
    cascade: bool = False,
) -> None:
    run_command(spark, DropNamespace(name, ifExists, cascade))


def _list_views(spark: SparkSession, name: Name, pattern: str | None = None) -> list[Table]:
    rows = run_command(spark, ShowViews(name, pattern)).collect()
    return [
        Table(row[1], name[0], list(name[1:]), None, "VIEW", False) for row in rows if not row[2]
    ]


def _list_catalogs(spark_method: Method) -> Method:
    def list_catalogs(self: Any, pattern: str | None = None) -> list[CatalogMetadata]:
        catalogs = list(spark_method(self, pattern))
        if uses_original_methods():
            return catalogs
        spark_names = {catalog.name for catalog in catalogs}
        iceberg_names = matching(catalog_names(session_of_catalog(self)), pattern)
        return [
            *catalogs,
            *(CatalogMetadata(name, None) for name in iceberg_names if name not in spark_names),
        ]

    return list_catalogs
