"""USE and default catalogs: the catalog and namespace that complete the names of statements."""

from __future__ import annotations

import threading
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.errors import NoSuchNamespaceError
from iceberg_spark.spark.session.classic_session import is_stopped, session_key
from iceberg_spark.spark.session.session_catalogs import is_ours
from iceberg_spark.spark.sql.current_namespace import (
    Name,
    current_namespace,
    is_iceberg_namespace,
    use_namespace,
    whole_name,
    whole_namespace,
)
from iceberg_spark.spark.sql.spark_queries import register_catalogs
from iceberg_spark.spark.sql.statements.call import Call
from iceberg_spark.spark.sql.statements.create_table import CreateTable
from iceberg_spark.spark.sql.statements.listings import (
    CommentOn,
    DescribeNamespace,
    DescribeRoutine,
    ShowCurrentNamespace,
    ShowNamespaces,
    Use,
)
from iceberg_spark.spark.sql.statements.namespaces import (
    AlterNamespace,
    CreateNamespace,
    DropNamespace,
)
from iceberg_spark.spark.sql.statements.read import Command, NamespaceListing
from iceberg_spark.spark.sql.statements.views import CreateView
from iceberg_spark.statements.answers import nothing, rows_of
from iceberg_spark.statements.table_details import display_name
from iceberg_spark.statements.target import catalog_named, default_namespace

_PROCEDURES = "system"


def with_whole_names(spark: SparkSession, command: Command) -> Command:
    """Return a command whose table or namespace has its full name; unchanged before USE."""
    current = current_namespace(spark)
    if current is None or isinstance(command, ShowCurrentNamespace):
        return command
    if isinstance(command, NamespaceListing):
        return replace(command, namespace=_listed(spark, current, command.namespace))
    match command:
        case CreateNamespace() | DropNamespace() | AlterNamespace() | DescribeNamespace() | Use():
            return replace(command, name=whole_namespace(spark, command.name))
        case CommentOn(kind="namespace"):
            return replace(command, name=whole_namespace(spark, command.name))
        case CommentOn():
            return replace(command, name=whole_name(spark, command.name))
        case ShowNamespaces():
            parent = command.parent or current[:1]
            return replace(command, parent=whole_namespace(spark, parent))
        case Call():
            return replace(command, procedure=_procedure(current, command.procedure))
        case DescribeRoutine():
            return replace(command, name=_procedure(current, command.name))
        case CreateTable() | CreateView():
            return replace(command, table=whole_name(spark, command.table, new=True))
        case _:
            return replace(command, table=whole_name(spark, command.table))


def _listed(spark: SparkSession, current: Name, namespace: Name) -> Name:
    if len(namespace) == 1 and namespace[0].lower() == _PROCEDURES:
        return (current[0], *namespace)
    return whole_namespace(spark, namespace)


def _procedure(current: Name, name: Name) -> Name:
    is_short = len(name) == 2 and name[0].lower() == _PROCEDURES
    return (current[0], *name) if is_short else name


def chooses_ours(spark: SparkSession, statement: Use) -> bool:
    """Return whether USE is about an Iceberg catalog. Spark may resolve its tables from now on."""
    register_catalogs(spark, statement.name[0])
    return is_iceberg_namespace(spark, statement.name)


def use(spark: SparkSession, statement: Use) -> DataFrame:
    """Choose what names alone are of. Raises NoSuchNamespaceError."""
    first, *namespace = statement.name
    if namespace and not catalog_named(spark, first).namespace_exists(tuple(namespace)):
        raise NoSuchNamespaceError(f"There is no namespace {'.'.join(statement.name)}")
    use_namespace(spark, (first, *(namespace or default_namespace(spark, first))))
    return nothing(spark)


def show_current(spark: SparkSession, chosen: Name) -> DataFrame:
    """Show what USE chose: catalog, namespace."""
    row = (chosen[0], display_name(chosen[1:]))
    return rows_of(spark, "catalog string, namespace string", [row])


# Choose the catalog in `spark.sql.defaultCatalog` of an enabled session, if it is Iceberg's.
#
# Spark would load the class of that catalog for each name without a catalog, and nobody has the
# class without Java's JAR. So Spark's own catalog becomes its default, and USE chooses the
# Iceberg catalog.

_DEFAULT, _SPARKS = "spark.sql.defaultCatalog", "spark_catalog"
_lock = threading.Lock()
_taken: dict[str, str] = {}
"""The default that a session had, by the session's id: a few characters each."""


def take_default(spark: SparkSession) -> None:
    """Choose the session's default catalog for names without one, if it is an Iceberg catalog."""
    name = spark.conf.get(_DEFAULT, _SPARKS) or _SPARKS
    if name == _SPARKS or not is_ours(spark, name):
        return
    namespace = default_namespace(spark, name)
    spark.conf.set(_DEFAULT, _SPARKS)
    with _lock:
        _taken[session_key(spark) or ""] = name
    use_namespace(spark, (name, *namespace))


def give_default_back(spark: SparkSession) -> None:
    """Let the session have the default that it had, unless somebody gave it another since."""
    with _lock:
        name = _taken.pop(session_key(spark) or "", None)
    if name is not None and not is_stopped(spark) and spark.conf.get(_DEFAULT) == _SPARKS:
        spark.conf.set(_DEFAULT, name)
