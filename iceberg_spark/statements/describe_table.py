"""SHOW and DESCRIBE of a table, and COMMENT ON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from iceberg_spark.errors import InvalidInputError, NoSuchColumnError
from iceberg_spark.spark.adapt.types import to_spark, write_default_text
from iceberg_spark.spark.session.active_session import is_case_sensitive
from iceberg_spark.spark.session.error_conditions import (
    CONFLICTING_NAMESPACE,
    FIELD_NOT_FOUND,
    INVALID_EXTRACT,
    with_condition,
)
from iceberg_spark.spark.sql.statements.listings import (
    CommentOn,
    DescribeTable,
    ShowColumns,
    ShowCreateTable,
    ShowProperties,
)
from iceberg_spark.spec import types as t
from iceberg_spark.spec.partition import PartitionField
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import (
    BucketTransform,
    IdentityTransform,
    TruncateTransform,
)
from iceberg_spark.spec.types import IntegerType, LongType, NestedField, StringType
from iceberg_spark.statements.answers import nothing, rows_of
from iceberg_spark.statements.table_details import (
    COMMENT,
    DISPLAY_PROPERTIES,
    detail_rows,
    display_name,
    display_properties,
)
from iceberg_spark.statements.table_options import OPTION
from iceberg_spark.statements.target import catalog_named, target

Row = tuple[str, str, str | None]
PARTITION_TITLES: tuple[Row, ...] = (
    ("# Partition Information", "", ""),
    ("# col_name", "data_type", "comment"),
)


def describe_table(spark: SparkSession, statement: DescribeTable) -> DataFrame:
    """Show columns and partitioning: col_name, data_type, comment (Spark: DescribeTableExec)."""
    table = target(spark, statement.table).whole_table()
    rows = column_rows(to_spark(table.schema()))
    if statement.column is not None:
        return _described_column(spark, table.schema(), rows, statement.column)
    parts = table.spec().live_fields
    if parts:
        rows += _partitioning(table.schema(), parts)
    if statement.extended:
        rows += detail_rows(spark, table, ".".join(statement.table))
        rows += _defaults(table.schema())
    return rows_of(spark, "col_name string, data_type string, comment string", rows)


def column_rows(schema: StructType) -> list[Row]:
    """Return DESCRIBE's rows of columns: name, type, comment."""
    return [
        (field.name, field.dataType.simpleString(), field.metadata.get(COMMENT))
        for field in schema.fields
    ]


def show_create_table(spark: SparkSession, statement: ShowCreateTable) -> DataFrame:
    """Show the statement that creates such a table: createtab_stmt."""
    table = target(spark, statement.table).whole_table()
    lines = [f"CREATE TABLE {display_name(statement.table)} ("]
    lines.append(",\n".join(f"  {line}" for line in definition_lines(table.schema())) + ")")
    lines.append("USING iceberg")
    shown = display_properties(spark, table)
    options = {key: value for key, value in shown.items() if shown.get(f"{OPTION}{key}") == value}
    if options:
        lines.append(f"OPTIONS ({_listed(options)})")
    parts = [_term(table.schema(), part) for part in table.spec().live_fields]
    if parts:
        lines.append(f"PARTITIONED BY ({', '.join(parts)})")
    comment = table.properties.get(COMMENT)
    if comment is not None:
        lines.append(f"COMMENT {string_literal(comment)}")
    lines.append(f"LOCATION {string_literal(table.location())}")
    otherwise = {*DISPLAY_PROPERTIES, *options, *(f"{OPTION}{key}" for key in options)}
    properties = {key: value for key, value in shown.items() if key not in otherwise}
    lines.append(f"TBLPROPERTIES ({_listed(properties)})")
    return rows_of(spark, "createtab_stmt string", [("\n".join(lines) + "\n",)])


def _listed(properties: Mapping[str, str]) -> str:
    return "\n" + ",\n".join(
        f"  {string_literal(key)} = {string_literal(properties[key])}" for key in properties
    )


def show_properties(spark: SparkSession, statement: ShowProperties) -> DataFrame:
    """Show a table's properties, or one of them: key, value; the comment is none, as in Spark."""
    table = target(spark, statement.table).whole_table()
    properties = display_properties(spark, table)
    if statement.key is None:
        return rows_of(spark, "key string, value string", properties.items())
    lacks = f"Table {'.'.join(statement.table)} does not have property: {statement.key}"
    row = (statement.key, properties.get(statement.key, lacks))
    return rows_of(spark, "key string, value string", [row])


def show_columns(spark: SparkSession, statement: ShowColumns) -> DataFrame:
    """Show the names of a table's columns: col_name. Raises InvalidInputError."""
    _check_namespace(spark, statement)
    table = target(spark, statement.table).whole_table()
    return rows_of(spark, "col_name string", [(field.name,) for field in table.schema().fields])


def _check_namespace(spark: SparkSession, statement: ShowColumns) -> None:
    """Refuse another namespace than the table's (Spark: SHOW_COLUMNS_WITH_CONFLICT_NAMESPACE)."""
    if not statement.namespace:
        return
    spelt = _spelling(spark)
    above = [spelt(part) for part in statement.table[:-1]]
    if [spelt(part) for part in statement.namespace] not in (above[1:], above):
        error = InvalidInputError(
            f"SHOW COLUMNS: table {display_name(statement.table)} is not in namespace "
            f"{display_name(statement.namespace)}: leave the namespace out"
        )
        raise with_condition(error, CONFLICTING_NAMESPACE)


def _spelling(spark: SparkSession) -> Callable[[str], str]:
    """Return what names are compared by."""
    return str if is_case_sensitive(spark) else str.lower


def comment_on(spark: SparkSession, statement: CommentOn) -> DataFrame:
    """Set or take away the comment of a table or namespace."""
    updates = {} if statement.comment is None else {COMMENT: statement.comment}
    gone = (COMMENT,) if statement.comment is None else ()
    if statement.kind == "table":
        table = target(spark, statement.name).whole_table()
        table.update_properties().set(updates).remove(*gone).commit()
    else:
        catalog = catalog_named(spark, statement.name[0])
        catalog.update_namespace_properties(statement.name[1:], gone, updates)
    return nothing(spark)


def _described_column(
    spark: SparkSession, schema: Schema, rows: list[Row], path: Sequence[str]
) -> DataFrame:
    spelt, name = _spelling(spark), ".".join(path)
    for row in sorted(rows, key=lambda row: row[0] != name):  # spelt alike: first
        if spelt(row[0]) == spelt(name):
            shown = [("col_name", name), ("data_type", row[1]), ("comment", row[2] or "NULL")]
            return rows_of(spark, "info_name string, info_value string", shown)
    error = NoSuchColumnError(
        f"The table has no column '{name}'; it has: {', '.join(row[0] for row in rows)}"
    )
    above = schema.find_id(path[0], case_sensitive=is_case_sensitive(spark))
    if len(path) > 1 and above is not None:
        is_struct = isinstance(schema.find_field(above).field_type, t.StructType)
        with_condition(error, FIELD_NOT_FOUND if is_struct else INVALID_EXTRACT)
    raise error


def _partitioning(schema: Schema, parts: Sequence[PartitionField]) -> list[Row]:
    sources = [schema.get(part.source_id) for part in parts]
    columns = [column for column in sources if column is not None]
    is_plain = all(isinstance(part.transform, IdentityTransform) for part in parts)
    if is_plain and len(columns) == len(parts):
        return [
            *PARTITION_TITLES,
            *(_partition_column(schema, column) for column in columns),
        ]
    terms = [(f"Part {index}", _term(schema, part), "") for index, part in enumerate(parts)]
    return [("", "", ""), ("# Partitioning", "", ""), *terms]


def _partition_column(schema: Schema, column: NestedField) -> Row:
    """Return the row of a column, or a field of a struct, that a table is partitioned by."""
    ((_, kind, comment),) = column_rows(to_spark(Schema(column)))
    path = [schema.find_field(field_id).name for field_id in schema.path_ids(column.field_id)]
    return display_name(path), kind, comment


def _defaults(schema: Schema) -> list[Row]:
    """Return the defaults of columns, each with a title (Spark: ResolveDefaultColumns)."""
    defaulted = [column for column in schema.fields if column.write_default is not None]
    rows: list[Row] = []
    for (name, kind, _), column in zip(
        column_rows(to_spark(Schema(*defaulted))), defaulted, strict=True
    ):
        title = "# Column Default Values"
        rows += [("", "", ""), (title, "", ""), (name, kind, _default(column))]
    return rows


def definition_lines(schema: Schema, *, types: bool = True) -> list[str]:
    """Return columns as CREATE takes them, of views without types."""
    lines = []
    for column, field in zip(schema.fields, to_spark(schema).fields, strict=True):
        line = _name(column.name)
        if types:
            line += f" {_kind(field.dataType)}{' NOT NULL' if column.required else ''}"
            line += "" if column.write_default is None else f" DEFAULT {_default(column)}"
        lines.append(line + (f" COMMENT {string_literal(column.doc)}" if column.doc else ""))
    return lines


def _default(column: NestedField) -> str:
    match column.write_default:
        case str() if isinstance(column.field_type, StringType):
            return string_literal(column.write_default)
        case int() if isinstance(column.field_type, IntegerType | LongType):
            return str(column.write_default)
        case _:
            return write_default_text(column)


def _kind(kind: DataType) -> str:
    """Return a type as Spark writes it in SQL."""
    match kind:
        case StructType(fields=fields):
            return f"STRUCT<{', '.join(map(_inner, fields))}>"
        case ArrayType(elementType=element):
            return f"ARRAY<{_kind(element)}>"
        case MapType(keyType=key, valueType=value):
            return f"MAP<{_kind(key)}, {_kind(value)}>"
        case _:
            return kind.simpleString().upper()


def _inner(field: StructField) -> str:
    required = "" if field.nullable else " NOT NULL"
    comment = field.metadata.get(COMMENT)
    comment_clause = "" if comment is None else f" COMMENT {string_literal(comment)}"
    return f"{_name(field.name)}: {_kind(field.dataType)}{required}{comment_clause}"


def _term(schema: Schema, part: PartitionField) -> str:
    column = ".".join(
        _name(name) for name in str(schema.find_column_name(part.source_id)).split(".")
    )
    match part.transform:
        case IdentityTransform():
            return column
        case BucketTransform(num_buckets=buckets):
            return f"bucket({buckets}, {column})"
        case TruncateTransform(width=width):
            return f"truncate({width}, {column})"
        case transform:
            return f"{transform}s({column})"


def _name(name: str) -> str:
    return display_name([name])


def string_literal(value: str) -> str:
    """Return a text as a string literal of SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
