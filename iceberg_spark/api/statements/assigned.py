"""Columns that SET and VALUES name, and what gives them values."""

from __future__ import annotations

from collections.abc import Sequence

from iceberg_spark.api.statements.column_defaults import value_or_default
from iceberg_spark.api.statements.landing import Landing
from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spark.session.error_conditions import INVALID_ASSIGNMENTS, with_condition
from iceberg_spark.spark.sql.named_relation import folding, relation_of_schema
from iceberg_spark.spark.sql.qualifiers import Name
from iceberg_spark.spark.sql.relations import Relation
from iceberg_spark.spark.sql.statements.rows import Delete, Merge, Update


def target_relation(statement: Delete | Update | Merge, destination: Landing) -> Relation:
    """Return the table as expressions name it: by its alias only, if it has one."""
    fold = folding(destination.case_sensitive)
    if statement.alias is not None:
        return relation_of_schema((), statement.alias, destination.schema, fold)
    return relation_of_schema(statement.table, statement.table[-1], destination.schema, fold)


def assigned_column(path: Name, statement: Update | Merge, destination: Landing) -> str:
    """Return an assigned column without the table's name before it, as Spark resolves it."""
    table = statement.table if statement.alias is None else (statement.alias,)
    folded = [part.lower() for part in path]
    for start in range(len(table)):
        size = len(table) - start
        if len(path) > size and folded[:size] == [part.lower() for part in table[start:]]:
            if _has_column(destination, path[size]) and not _has_column(destination, path[0]):
                return ".".join(path[size:])
            if _has_column(destination, ".".join(path[size:])):
                return ".".join(path[size:])
    return ".".join(path)


def _has_column(destination: Landing, name: str) -> bool:
    schema = destination.schema
    return schema.find_id(name, case_sensitive=destination.case_sensitive) is not None


def values_of(columns: Sequence[str], texts: Sequence[str], destination: Landing) -> list[str]:
    """Return the values of assignments, the table's default in place of DEFAULT."""
    schema, case = destination.schema, destination.case_sensitive
    pairs = zip(columns, texts, strict=True)
    return [value_or_default(schema, column, text, case_sensitive=case) for column, text in pairs]


def once(columns: Sequence[str], values: Sequence[str]) -> list[tuple[str, str]]:
    """Pair columns with values. Raises InvalidSchemaError for a column that is there twice."""
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        error = InvalidSchemaError(f"Column '{twice}' gets a value twice")
        raise with_condition(error, INVALID_ASSIGNMENTS)
    return list(zip(columns, values, strict=True))
