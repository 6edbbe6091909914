"""USE, and names of statements as the catalog and namespace that it chose complete them."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.statements.answers import nothing, rows_of
from iceberg_spark.api.statements.shown_details import shown_name
from iceberg_spark.api.statements.target import catalog_named, default_namespace
from iceberg_spark.errors import InvalidInputError, NoSuchNamespaceError
from iceberg_spark.spark.session.own_methods import original_methods
from iceberg_spark.spark.session.session_catalogs import has_spark_catalog, is_ours
from iceberg_spark.spark.sql.current_namespace import (
    Name,
    current_namespace,
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

_PROCEDURES = "system"


def with_whole_names(spark: SparkSession, command: Command) -> Command:
    """Return a command whose table or namespace has its whole name; unchanged before USE."""
    current = current_namespace(spark)
    if current is None:
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
        case ShowCurrentNamespace():
            return command
        case CreateTable() | CreateView():
            return replace(command, table=whole_name(spark, command.table, new=True))
        case _:
            return replace(command, table=whole_name(spark, command.table))


def _listed(spark: SparkSession, current: Name, namespace: Name) -> Name:
    if not namespace and len(current) == 1:
        raise InvalidInputError(
            f"USE chose catalog {current[0]} without a namespace: say IN {current[0]}.NAME"
        )
    if len(namespace) == 1 and namespace[0].lower() == _PROCEDURES:
        return (current[0], *namespace)
    return whole_namespace(spark, namespace)


def _procedure(current: Name, name: Name) -> Name:
    is_short = len(name) == 2 and name[0].lower() == _PROCEDURES
    return (current[0], *name) if is_short else name


def chooses_ours(spark: SparkSession, statement: Use) -> bool:
    """Return whether USE is about an Iceberg catalog.

    A catalog comes before a database of the same name, as in Spark. Over Connect the database comes
    first, unless the session has a class for the catalog: Spark does not know the catalog there.
    """
    name = statement.name
    if not is_ours(spark, name[0]):
        return False
    is_known = has_spark_catalog(spark, name[0]) or register_catalogs(spark, name[0])
    if len(name) > 1 or is_known:
        return True
    with original_methods():
        return not spark.catalog.databaseExists(name[0])


def check_namespace(spark: SparkSession, name: Name) -> None:
    """Raise InvalidInputError where a namespace is a catalog alone, for which Spark has a class.

    Spark would look for the class, which is Java's and not there.
    """
    if len(name) == 1 and has_spark_catalog(spark, name[0]) and is_ours(spark, name[0]):
        raise InvalidInputError(
            f"{name[0]} is a catalog: say SHOW TABLES IN {name[0]}.NAME; SHOW NAMESPACES IN "
            f"{name[0]} lists the names"
        )


def use(spark: SparkSession, statement: Use) -> DataFrame:
    """Choose what names alone are of. Raises NoSuchNamespaceError."""
    first, *namespace = statement.name
    if namespace and not catalog_named(spark, first).namespace_exists(tuple(namespace)):
        raise NoSuchNamespaceError(f"There is no namespace {'.'.join(statement.name)}")
    use_namespace(spark, (first, *(namespace or default_namespace(spark, first))))
    return nothing(spark)


def show_current(spark: SparkSession, chosen: Name) -> DataFrame:
    """Show what USE chose: catalog, namespace."""
    row = (chosen[0], shown_name(chosen[1:]))
    return rows_of(spark, "catalog string, namespace string", [row])
