"""Resolve a name in a statement: a table, a location, a namespace of an Iceberg catalog."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from pyspark.sql import SparkSession

from iceberg_spark.api.catalog import TableCatalog
from iceberg_spark.api.table import Table
from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.catalog.registry import resolve, with_settings
from iceberg_spark.catalog.table_name import joined_name, missing_table
from iceberg_spark.errors import (
    InvalidInputError,
    NoSuchNamespaceError,
    NoSuchTableError,
    UnsupportedError,
)
from iceberg_spark.inspect.names import MetadataTable
from iceberg_spark.scan.incremental import CHANGES, is_changes
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME
from iceberg_spark.spark.session.error_conditions import UNSUPPORTED_OPERATION, with_condition
from iceberg_spark.spark.session.session_catalogs import load_session_catalog, session_catalog
from iceberg_spark.spark.sql.current_namespace import is_iceberg_namespace, is_iceberg_table
from iceberg_spark.spark.sql.table_names import given_parts
from iceberg_spark.spark.sql.table_planner import is_selector

Name: TypeAlias = tuple[str, ...]
_BRANCH = "branch_"
_DEFAULT_NAMESPACE = "default-namespace"


@dataclass(frozen=True, slots=True)
class Target:
    """A table, or the name of one to create: `path` is the name or location for the whole API.

    `branch` is that of a name like `cat.db.t.branch_audit`.
    """

    catalog: Catalog
    identifier: str
    path: str
    branch: str | None = None

    def table(self) -> Table:
        """Load the table. Raises NoSuchTableError."""
        try:
            return Table(self.catalog, self.catalog.load(self.identifier))
        except NoSuchTableError as error:
            raise missing_table(self.catalog, self.identifier, error) from None

    def whole_table(self) -> Table:
        """Load the table of a statement that is about all of it. Raises InvalidInputError."""
        if self.branch is not None:
            raise InvalidInputError(
                f"The statement is about table {self.identifier}, not about its branch "
                f"'{self.branch}': leave that out"
            )
        return self.table()


def names_table(spark: SparkSession, name: Name) -> bool:
    """Return whether a name is a location, or that of a table in an Iceberg catalog."""
    return is_location(name) or is_iceberg_table(spark, name)


def names_namespace(spark: SparkSession, name: Name) -> bool:
    """Return whether a name is a location, or that of an Iceberg catalog or namespace."""
    return is_location(name) or is_iceberg_namespace(spark, name)


def is_location(name: Name) -> bool:
    """Return whether a name is a path in backticks, alone or behind the format's name."""
    *before, last = name or ("",)
    return "/" in last and [part.lower() for part in before] in ([], [FORMAT_NAME])


def properties_at(spark: SparkSession, path: str) -> dict[str, str]:
    """Return the properties that a session gives the catalog of a table."""
    return with_settings(path, {}, partial(session_catalog, spark))


def new_target(spark: SparkSession, name: Name) -> Target:
    """Return the target that an Iceberg name stands for, whether or not a table exists there.

    Raises InvalidInputError for a name with parts that no table can have.
    """
    path = name[-1] if is_location(name) else joined_name(name)
    return Target(*resolve(path, properties_at(spark, path)), path)


def check_new_name(name: Name) -> None:
    """Refuse a new table in a catalog's root whose name is that of a metadata table.

    `cat.files.snapshots` would be a table in namespace `files`, and a metadata table of it (Java
    refuses the same names). Raises InvalidInputError.
    """
    if len(name) == 2 and not is_location(name) and name[-1].lower() in set(MetadataTable):
        raise InvalidInputError(
            f"{'.'.join(name)}: a table in a catalog's root cannot have the name of a metadata "
            f"table; use another name, or a namespace, like {name[0]}.db.{name[1]}"
        )


def table_above(spark: SparkSession, name: Name) -> Target | None:
    """Return the table whose name is the start of a longer one; None for a table's own name."""
    is_short = len(name) == 3 and not is_selector(name[-1])  # cat.t.branch_audit at least
    if len(name) < 3 or is_short or _is_there(new_target(spark, name)):
        return None
    above = new_target(spark, name[:-1])
    return above if _is_there(above) else None


def target(spark: SparkSession, name: Name) -> Target:
    """Return the table, or the branch of one, that an Iceberg name stands for.

    Raises UnsupportedError for targets that cannot be changed: tags, metadata tables.
    """
    above = table_above(spark, name)
    if above is None:
        return new_target(spark, name)
    if not name[-1].startswith(_BRANCH):
        error = UnsupportedError(
            f"{'.'.join(name)} can't be changed: only a table and its branches "
            f"({above.path}.branch_...) can"
        )
        raise with_condition(error, UNSUPPORTED_OPERATION)
    return replace(above, branch=name[-1].removeprefix(_BRANCH))


def stream_target(spark: SparkSession, name: Name) -> Target:
    """Return the table that a stream reads, or a branch of one; changes are part of the path.

    Raises UnsupportedError for names that cannot be streamed: tags, metadata tables.
    """
    above = table_above(spark, name)
    if above is None:
        return new_target(spark, name)
    match name[-1]:
        case last if last.startswith(_BRANCH):
            return replace(above, branch=last.removeprefix(_BRANCH))
        case last if is_changes(last):
            return replace(above, path=f"{above.path}#{CHANGES}")
        case _:
            raise UnsupportedError(
                f"{'.'.join(name)} can't be streamed: only a table, its branches "
                f"({above.path}.branch_...) and its changes ({above.path}.{CHANGES}) can"
            )


def catalog_named(spark: SparkSession, name: str) -> TableCatalog:
    """Return an Iceberg catalog, as the session configures it."""
    return TableCatalog(load_session_catalog(spark, name))


def default_namespace(spark: SparkSession, catalog: str) -> Name:
    """Return the namespace that USE of a catalog alone chooses: its property's, otherwise the root.

    Java: `SparkCatalog.defaultNamespace`.
    """
    text = load_session_catalog(spark, catalog).properties.get(_DEFAULT_NAMESPACE, "")
    return tuple(part for part in text.split(".") if part)


def _is_there(candidate: Target) -> bool:
    try:
        return candidate.catalog.table_exists(candidate.identifier)
    except NoSuchNamespaceError:
        return False


def refuse_changes(spark: SparkSession, table: object, instead: str) -> None:
    """Raise UnsupportedError for an Iceberg table; the table's name replaces `{}` in `instead`.

    Spark promises other columns (`_commit_version`, `_commit_timestamp`) and other options.
    """
    name = given_parts(spark, table)
    if names_table(spark, name):
        raise UnsupportedError(
            f"changes() is for tables of Spark's own catalogs; the changes of {'.'.join(name)} are "
            f"{instead.format('.'.join(name))}"
        )
