"""CREATE, REPLACE and DROP of tables; with AS SELECT rows and definition land in one commit."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession

from iceberg_spark.api.new_table import create
from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.catalog.chosen_location import moved_location, new_table_properties
from iceberg_spark.catalog.table_io import with_chosen_folders
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.commit import CleanupOnFailure, commit, stage
from iceberg_spark.commits.create_table import ReplaceTable
from iceberg_spark.commits.overwrite_files import OverwriteFiles
from iceberg_spark.engines.write_rows import write_rows
from iceberg_spark.errors import (
    ColumnAlreadyExistsError,
    InvalidInputError,
    InvalidSchemaError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from iceberg_spark.expr.default_value import with_default
from iceberg_spark.expr.schema_ddl import schema_from_ddl
from iceberg_spark.maintenance.drop import drop_table
from iceberg_spark.save.commit_save import commit_save, not_in_vain
from iceberg_spark.save.plan_save import TablePlace, align_options, plan_save, save_context
from iceberg_spark.save.write_options import WriteOptions, write_options
from iceberg_spark.spark.adapt.types import from_spark, nullable
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.error_conditions import (
    COLUMN_ALREADY_EXISTS,
    UNSUPPORTED_OPERATION,
    with_condition,
)
from iceberg_spark.spark.session.option_defaults import session_write_defaults
from iceberg_spark.spark.sql.statements.columns import Column
from iceberg_spark.spark.sql.statements.create_table import CreateTable, DropTable
from iceberg_spark.spec.data_file import ROW_FORMAT_NAMES
from iceberg_spark.spec.format_version import check_writable_version, rules_of
from iceberg_spark.spec.properties import DEFAULT_FILE_FORMAT
from iceberg_spark.spec.quoted_name import quote
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.schema_evolution import check_case
from iceberg_spark.spec.sort import UNSORTED
from iceberg_spark.spec.transform_text import parse_partition_spec
from iceberg_spark.statements.acting_properties import check_new_properties
from iceberg_spark.statements.answers import nothing
from iceberg_spark.statements.column_types import ColumnDefault, defaults_of, has_wall_clocks
from iceberg_spark.statements.table_details import EXTERNAL
from iceberg_spark.statements.table_options import with_options
from iceberg_spark.statements.target import Target, check_new_name, new_target, properties_at

_COMMENT = "comment"
_NULLABLE = "use-nullable-query-schema"
_FORMATS = (None, "iceberg", "pyiceberg-lite")
_DEFAULT_SOURCE = "spark.sql.sources.default"


def create_table(
    spark: SparkSession,
    statement: CreateTable,
    query: DataFrame | None,
    options: WriteOptions | None = None,
) -> DataFrame:
    """Create or replace a table, and write the rows of `query` as `options` ask.

    Raises TableAlreadyExistsError, NoSuchTableError (REPLACE), InvalidSchemaError,
    InvalidInputError for a key that is not a property of a new table.
    """
    statement = _with_file_format(with_options(spark, statement))
    check_new_properties(statement.properties)
    check_new_name(statement.table)
    target = new_target(spark, statement.table)
    exists = target.catalog.table_exists(target.identifier)
    if exists and statement.if_not_exists:
        return nothing(spark)
    if exists and not statement.replaces:
        raise TableAlreadyExistsError(
            f"Table {'.'.join(statement.table)} exists already: use IF NOT EXISTS, or CREATE OR "
            "REPLACE TABLE"
        )
    if not exists and not statement.creates:
        raise NoSuchTableError(
            f"There is no table {'.'.join(statement.table)} to replace: use CREATE OR REPLACE TABLE"
        )
    try:
        (_replace if exists else _create)(spark, target, statement, query, options)
    except TableAlreadyExistsError:  # another writer created it meanwhile
        if not statement.if_not_exists:
            raise
    except ColumnAlreadyExistsError as error:
        with_condition(error, COLUMN_ALREADY_EXISTS)
        raise
    return nothing(spark)


def create_from(spark: SparkSession, statement: CreateTable, schema: Schema) -> None:
    """Create an empty table with these columns and the other parts of the statement.

    Raises TableAlreadyExistsError, InvalidSchemaError, InvalidInputError for a key that is not a
    property of a new table.
    """
    statement = _with_file_format(with_options(spark, statement))
    check_new_name(statement.table)
    check_new_properties(statement.properties)
    _create_empty(spark, new_target(spark, statement.table), statement, schema)


def check_format(using: str | None) -> None:
    """Refuse what is neither Iceberg nor a format of data files. Raises InvalidInputError."""
    if using not in _FORMATS and using not in ROW_FORMAT_NAMES:
        raise InvalidInputError(
            f"USING {using}: tables of this catalog are Iceberg tables; use USING iceberg, or the "
            f"format of their data files ({', '.join(ROW_FORMAT_NAMES)})"
        )


def default_format(spark: SparkSession) -> str | None:
    """Return the format of data files that the session's default source names, if any.

    Java's runtime uses it for tables that PySpark's methods create without a format.
    """
    source = str(spark.conf.get(_DEFAULT_SOURCE)).lower()
    return source if source in ROW_FORMAT_NAMES else None


def _with_file_format(statement: CreateTable) -> CreateTable:
    """Return a statement with the format of data files that USING names among its properties.

    A format in TBLPROPERTIES as well is an error (Java: Spark3Util.rebuildCreateProperties).
    Raises InvalidInputError.
    """
    using = statement.using
    check_format(using)
    if using is None or using not in ROW_FORMAT_NAMES:
        return statement
    if DEFAULT_FILE_FORMAT in statement.properties:
        raise InvalidInputError(
            f"USING {using} sets the format of data files, and so does property "
            f"'{DEFAULT_FILE_FORMAT}': use USING iceberg, or leave the property out"
        )
    properties = {**statement.properties, DEFAULT_FILE_FORMAT: using}
    return replace(statement, properties=properties)


def drop(spark: SparkSession, statement: DropTable) -> DataFrame:
    """Drop a table. Raises NoSuchTableError without IF EXISTS."""
    target = new_target(spark, statement.table)
    try:
        drop_table(target.catalog, target.identifier, purge=statement.purge)
    except (NoSuchTableError, NoSuchNamespaceError):
        if not statement.if_exists:
            raise
    return nothing(spark)


def schema_of(spark: SparkSession, columns: tuple[Column, ...]) -> Schema:
    """Return the schema of defined columns, with provisional ids. Raises InvalidSchemaError.

    Spark evaluates the defaults.
    """
    for column in columns:
        if len(column.path) > 1 or column.position is not None:
            raise InvalidInputError(
                f"Column '{'.'.join(column.path)}': a new table's columns are names, in order"
            )
    texts = ", ".join(f"{quote(column.path[0])} {column.type}" for column in columns)
    typed = schema_from_ddl(texts, wall_clocks=has_wall_clocks(spark))
    pairs = list(zip(typed.fields, columns, strict=True))
    expressions = [
        ColumnDefault(field.name, column.default, field.field_type)
        for field, column in pairs
        if column.default is not None
    ]
    defaults = iter(defaults_of(spark, expressions))
    fields = []
    for field, column in pairs:
        required, doc = field.required or column.required, column.comment or field.doc
        new_field = replace(field, required=required, doc=doc)
        default = None if column.default is None else next(defaults)
        fields.append(new_field if default is None else with_default(new_field, default))
    return Schema(*fields)


def _create(
    spark: SparkSession,
    target: Target,
    statement: CreateTable,
    query: DataFrame | None,
    options: WriteOptions | None,
) -> None:
    if query is not None:
        _create_as(spark, target, statement, query, options)
        return
    _check_defaults(target, statement)
    _create_empty(spark, target, statement, _columns(spark, target, statement, None))


def _check_defaults(target: Target, statement: CreateTable) -> None:
    """Refuse defaults of columns in a new table of a format version without them.

    Raises InvalidSchemaError.
    """
    properties = new_table_properties(target.catalog.properties, _properties(statement))
    version = check_writable_version(properties)
    has_default = any(column.default is not None for column in statement.columns)
    if has_default and not rules_of(version).has_defaults:
        error = InvalidSchemaError(
            f"DEFAULT of a column needs format version 3, and the table would have {version}: add "
            "TBLPROPERTIES ('format-version' = '3')"
        )
        raise with_condition(error, UNSUPPORTED_OPERATION)


def _create_empty(
    spark: SparkSession, target: Target, statement: CreateTable, schema: Schema
) -> None:
    create(
        target.catalog,
        target.identifier,
        schema,
        statement.partition_by,
        (),
        _properties(statement),
        location=statement.location,
        case_sensitive=is_case_sensitive(spark),
    )


def _create_as(
    spark: SparkSession,
    target: Target,
    statement: CreateTable,
    query: DataFrame,
    explicit_options: WriteOptions | None,
) -> None:
    options = replace(
        explicit_options or _session_options(spark, target),
        partition_by=statement.partition_by,
        table_properties=_properties(statement),
        location=statement.location,
        storage=properties_at(spark, target.path),
        case_sensitive=is_case_sensitive(spark),
    )
    plan = plan_save(options, _columns(spark, target, statement, query), overwrite=False)
    if not plan.is_new:  # another writer created the table meanwhile
        raise TableAlreadyExistsError(f"Table {target.path} was made by another meanwhile")
    saved = TablePlace(options.path, options.storage)
    with not_in_vain(saved, plan):
        files = write_rows(
            query,
            plan.context,
            plan.context.io,
            plan.align,
            engine=options.engine,
            distribution_mode=options.distribution_mode,
        )
    commit_save(saved, plan, files)


def _replace(
    spark: SparkSession,
    target: Target,
    statement: CreateTable,
    query: DataFrame | None,
    explicit_options: WriteOptions | None,
) -> None:
    catalog, case = target.catalog, is_case_sensitive(spark)
    properties = new_table_properties(catalog.properties, _properties(statement))
    base = catalog.load(target.identifier)
    base = replace(base, io=with_chosen_folders(base.io, properties))
    location = statement.location
    if location is not None:
        location = moved_location(catalog, base, location)
    schema = _columns(spark, target, statement, query)
    spec = parse_partition_spec(statement.partition_by, schema, case)
    action = ReplaceTable(base.metadata, schema, spec, UNSORTED, properties, location)
    if query is None:
        commit(catalog, target.identifier, action, base)
        return
    options = explicit_options or _session_options(spark, target)
    staged = stage(base.metadata, base.io, [action])
    files = write_rows(
        query,
        save_context(staged, base.io, options),
        base.io,
        replace(align_options(options), case_sensitive=case),
        engine=options.engine,
        distribution_mode=options.distribution_mode,
    )
    with CleanupOnFailure(base.io, [file.file_path for file in files]) as commit_state:
        rows = OverwriteFiles(
            files, replaces_table=True, snapshot_properties=options.snapshot_properties
        )
        actions: list[Action] = [action, rows]
        commit(catalog, target.identifier, actions, base, commit_state=commit_state)


def _session_options(spark: SparkSession, target: Target) -> WriteOptions:
    """Return the options that the session's settings are the defaults of."""
    return write_options({"path": target.path}, plain=False, defaults=session_write_defaults(spark))


def _columns(
    spark: SparkSession, target: Target, statement: CreateTable, query: DataFrame | None
) -> Schema:
    """Return the columns of a new table: the query's, otherwise those that the statement defines.

    Raises InvalidSchemaError for names that differ only by case, if the session ignores case.
    """
    if query is None:
        schema = schema_of(spark, statement.columns)
    else:
        schema = columns_of(query, target.catalog)
    if not is_case_sensitive(spark):
        check_case(schema)
    return schema


def columns_of(query: DataFrame, catalog: Catalog) -> Schema:
    """Return the columns of a query, all of them and their fields optional, as Spark does.

    A property of Iceberg's catalogs keeps required ones (Java: BaseCatalog.useNullableQuerySchema).
    """
    keeps = str(catalog.properties.get(_NULLABLE, "true")).lower() == "false"
    return from_spark(query.schema if keeps else nullable(query.schema))


def _properties(statement: CreateTable) -> dict[str, str]:
    external = {EXTERNAL: "true"} if statement.is_external else {}
    comment = {} if statement.comment is None else {_COMMENT: statement.comment}
    return {**statement.properties, **external, **comment}
