"""Create, alter, drop, list and show views of a catalog."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.view import View, views_of
from iceberg_spark.catalog.catalog import view_if_there
from iceberg_spark.errors import (
    ColumnAlreadyExistsError,
    InvalidInputError,
    InvalidSchemaError,
    NoSuchNamespaceError,
    NoSuchViewError,
    NotEnoughColumnsError,
    TooManyColumnsError,
    UnsupportedError,
    ViewAlreadyExistsError,
)
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.session.error_conditions import (
    COLUMN_ALREADY_EXISTS,
    FEW_VIEW_COLUMNS,
    MANY_VIEW_COLUMNS,
    NO_TABLE_OR_VIEW,
    NO_VIEW_CATALOG,
    ErrorCondition,
    with_condition,
)
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.redaction import without_secrets
from iceberg_spark.spark.sql.current_namespace import begins_with_catalog, current_namespace
from iceberg_spark.spark.sql.statements.listings import (
    DescribeTable,
    ShowColumns,
    ShowCreateTable,
    ShowProperties,
)
from iceberg_spark.spark.sql.statements.views import AlterView, CreateView, DropView, ShowViews
from iceberg_spark.spec.view import QUERY_COLUMN_NAMES
from iceberg_spark.statements.answers import nothing, rows_of
from iceberg_spark.statements.describe_table import column_rows, definition_lines, string_literal
from iceberg_spark.statements.in_catalogs import matching
from iceberg_spark.statements.table_details import display_name
from iceberg_spark.statements.target import Name, Target, catalog_named, new_target

_COMMENT, _LOCATION = "comment", "location"
_PROVIDER, _FORMAT_VERSION = "provider", "format-version"
_MADE_BY = "create_engine_version"
_SHOWN_ALONE = (_PROVIDER, _LOCATION, _FORMAT_VERSION)
"""What is shown as properties, and is none that a view keeps (Java: SparkView)."""
_RESERVED = (_COMMENT, _MADE_BY, "engine_version", "owner", QUERY_COLUMN_NAMES, *_SHOWN_ALONE)
_OF_COLUMNS = {
    ColumnAlreadyExistsError: COLUMN_ALREADY_EXISTS,
    TooManyColumnsError: MANY_VIEW_COLUMNS,
    NotEnoughColumnsError: FEW_VIEW_COLUMNS,
}
"""Spark's conditions for the columns of a new view."""
ShowCommand = DescribeTable | ShowProperties | ShowCreateTable | ShowColumns


def create_view(spark: SparkSession, statement: CreateView) -> DataFrame:
    """Create a view, or replace the definition of an existing one.

    A table's name without a namespace is in the namespace that USE chose, otherwise in the view's
    own. The property `location` is the place of its files (Java: SparkCatalog.createView). Raises
    ViewAlreadyExistsError, UnsupportedError (no views; another catalog in use), InvalidInputError.
    """
    target = _view_target(spark, statement.table)
    properties = _new_properties(statement)
    try:
        catalog_named(spark, statement.table[0]).create_view(
            target.identifier,
            statement.query,
            namespace=_defaults(spark, statement.table),
            columns=dict(statement.columns),
            properties=properties,
            location=statement.properties.get(_LOCATION),
            or_replace=statement.replaces,
            spark=spark,
        )
    except ViewAlreadyExistsError:
        if not statement.if_not_exists:
            raise
    except InvalidSchemaError as error:
        for kind, condition in _OF_COLUMNS.items():
            if isinstance(error, kind):
                with_condition(error, condition)
        raise
    return nothing(spark)


def drop_view(spark: SparkSession, statement: DropView) -> DataFrame:
    """Drop a view. Raises NoSuchViewError without IF EXISTS.

    A catalog without views has no view of any name.
    """
    target = _view_target(spark, statement.table)
    try:
        _drop(target)
    except (NoSuchViewError, NoSuchNamespaceError):
        if not statement.if_exists:
            raise
    return nothing(spark)


def _drop(target: Target) -> None:
    if target.catalog.views is None:
        raise NoSuchViewError(f"No view {target.path}: catalog '{target.catalog.name}' has none")
    target.catalog.views.drop(target.identifier)


def alter_view(spark: SparkSession, statement: AlterView) -> DataFrame:
    """Change a view's properties, or its name. Raises NoSuchViewError, InvalidInputError."""
    target = _view_target(spark, statement.table)
    views = views_of(target.catalog)
    if statement.replaces_query:
        _refuse_new_query(spark, statement)
    if statement.new_name is not None:
        new = _renamed(spark, statement.table, statement.new_name)
        with _reporting_missing_view(NO_TABLE_OR_VIEW):
            views.rename(target.identifier, _view_target(spark, new).identifier)
        return nothing(spark)
    with _reporting_missing_view(NO_VIEW_CATALOG):
        base = views.load(target.identifier)
    for key in (*statement.updates, *statement.removals):
        if key == _LOCATION:
            raise InvalidInputError(
                "ALTER VIEW leaves a view where it is: use CREATE OR REPLACE VIEW ... "
                "TBLPROPERTIES ('location' = '...')"
            )
        if key in _RESERVED and key != _COMMENT:
            raise InvalidInputError(f"Property '{key}' of a view is kept by the catalog")
    missing = [key for key in statement.removals if key not in base.properties]
    if missing and not statement.if_exists:
        raise InvalidInputError(f"The view has no property '{missing[0]}': use IF EXISTS")
    removals = tuple(key for key in statement.removals if key in base.properties)
    if statement.updates or removals:
        views.update_properties(target.identifier, base, statement.updates, removals)
    return nothing(spark)


@contextmanager
def _reporting_missing_view(condition: ErrorCondition) -> Iterator[None]:
    """Attach the condition that Java's catalogs have for an ALTER of a view that is missing."""
    try:
        yield
    except NoSuchViewError as error:
        with_condition(error, condition)
        raise


def _refuse_new_query(spark: SparkSession, statement: AlterView) -> None:
    """Refuse a new query for a view, as Java does. Raises InvalidInputError."""
    error = InvalidInputError(
        f"ALTER VIEW {'.'.join(statement.table)} AS: use CREATE OR REPLACE VIEW, as in Java"
    )
    is_there = view_at(spark, statement.table) is not None
    raise error if is_there else with_condition(error, NO_VIEW_CATALOG)


def show_views(spark: SparkSession, statement: ShowViews) -> DataFrame:
    """List the views of a namespace, the root too: namespace, viewName, isTemporary.

    None of a catalog that has no views (Java: SparkCatalog.listViews). The session's temporary
    views follow, as in Spark. Raises NoSuchNamespaceError.
    """
    catalog, namespace = catalog_named(spark, statement.namespace[0]), statement.namespace[1:]
    try:
        names = matching([view[-1] for view in catalog.list_views(namespace)], statement.pattern)
        rows = [(display_name(namespace), name, False) for name in names]
    except UnsupportedError:
        rows = []
    like = "" if statement.pattern is None else f" LIKE {string_literal(statement.pattern)}"
    listed = run_sql(spark, f"SHOW VIEWS IN spark_catalog.default{like}").collect()
    rows += [tuple(row) for row in listed if row.isTemporary]
    return rows_of(spark, "namespace string, viewName string, isTemporary boolean", rows)


def view_at(spark: SparkSession, name: Name) -> View | None:
    """Return the view of that name; None if there is none, or the catalog has no views."""
    target = new_target(spark, name)
    if target.catalog.views is None:
        return None
    view = view_if_there(target.catalog.views, target.identifier)
    return None if view is None else View(target.identifier, view)


def show_view(spark: SparkSession, statement: ShowCommand, view: View) -> DataFrame:
    """Show of a view what the statement shows of a table (Spark: DescribeV2ViewExec and others)."""
    match statement:
        case ShowColumns():
            names = [(field.name,) for field in view.schema().fields]
            return rows_of(spark, "col_name string", names)
        case ShowProperties(key=key):
            shown = _properties(spark, view)
            lacks = f"View {'.'.join(statement.table)} does not have property: {key}"
            rows = list(shown.items()) if key is None else [(key, shown.get(key, lacks))]
            return rows_of(spark, "key string, value string", rows)
        case ShowCreateTable():
            return rows_of(
                spark, "createtab_stmt string", [(_statement(spark, statement.table, view),)]
            )
        case DescribeTable():
            columns = column_rows(to_spark(view.schema()))
            described = [(name, kind, comment or "") for name, kind, comment in columns]
            if statement.extended:
                described += [("", "", ""), *_details(spark, statement.table[0], view)]
            return rows_of(spark, "col_name string, data_type string, comment string", described)


def _renamed(spark: SparkSession, name: Name, new_name: Name) -> Name:
    """Return the full new name of a view; without a namespace it is in its own, or the one of USE.

    Raises InvalidInputError for a name in another catalog.
    """
    current = current_namespace(spark) or name[:-1]
    if len(new_name) == 1:
        full_name = (*(current if current[0] == name[0] else name[:-1]), *new_name)
    else:
        full_name = new_name if begins_with_catalog(spark, new_name) else (name[0], *new_name)
    if full_name[0] != name[0]:
        raise InvalidInputError(
            f"{'.'.join(name)} can't be moved to another catalog ({full_name[0]})"
        )
    return full_name


def _view_target(spark: SparkSession, name: Name) -> Target:
    if "/" in name[-1]:
        raise InvalidInputError(f"{'.'.join(name)}: a view is named by its catalog")
    return new_target(spark, name)


def _defaults(spark: SparkSession, name: Name) -> Name | None:
    current = current_namespace(spark)
    if current is None:
        return None
    if current[0] != name[0]:
        raise UnsupportedError(
            f"USE chose catalog {current[0]}, and the view is of {name[0]}: USE that one first"
        )
    return current[1:] or None


def _new_properties(statement: CreateView) -> dict[str, str]:
    """Return the properties that a new view stores.

    Properties that SHOW CREATE TABLE adds may be present with the values that it shows, so that its
    statement can be run. Raises InvalidInputError.
    """
    properties = statement.properties
    for key, value in ((_PROVIDER, "iceberg"), (_FORMAT_VERSION, "1")):
        if properties.get(key, value).lower() != value:
            raise InvalidInputError(f"'{key}' of a view is '{value}': leave it out")
    stored = {key: value for key, value in properties.items() if key not in _SHOWN_ALONE}
    return stored if statement.comment is None else {**stored, _COMMENT: statement.comment}


def _properties(spark: SparkSession, view: View) -> dict[str, str]:
    """Return a view's properties for display, sorted by name (Java: SparkView)."""
    own = {key: value for key, value in view.properties.items() if key not in _RESERVED}
    own[_PROVIDER], own[_LOCATION] = "iceberg", view.location()
    own[_FORMAT_VERSION] = str(view.metadata.format_version)
    return without_secrets(spark, dict(sorted(own.items())))


def _details(spark: SparkSession, catalog: str, view: View) -> list[tuple[str, str, str]]:
    version = view.current_version()
    where = (version.default_catalog or catalog, *version.default_namespace)
    names = view.properties.get(QUERY_COLUMN_NAMES, "").split(",")
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in _properties(spark, view).items())
    return [
        ("# Detailed View Information", "", ""),
        ("Comment", view.properties.get(_COMMENT, ""), ""),
        ("View Catalog and Namespace", display_name(where), ""),
        ("View Query Output Columns", f"[{', '.join(names)}]", ""),
        ("View Properties", f"[{shown}]", ""),
        ("Created By", view.properties.get(_MADE_BY, ""), ""),
    ]


def _statement(spark: SparkSession, name: Name, view: View) -> str:
    columns = definition_lines(view.schema(), types=False)
    lines = [f"CREATE VIEW {display_name(name)} (", ",\n".join(f"  {x}" for x in columns)]
    lines[-1] += ")"
    comment = view.properties.get(_COMMENT)
    if comment:
        lines.append(f"COMMENT {string_literal(comment)}")
    shown = [
        f"  {string_literal(key)} = {string_literal(value)}"
        for key, value in _properties(spark, view).items()
    ]
    if shown:
        lines.append("TBLPROPERTIES (\n" + ",\n".join(shown) + ")")
    query = view.sql_for() or view.current_version().representations[0].sql
    return "\n".join([*lines, "AS", query, ""])
