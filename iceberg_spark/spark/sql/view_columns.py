"""The rows of a view under its own column names and types, by position (Java: ResolveViews)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as s
from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.errors import InvalidInputError, InvalidSchemaError, UnsupportedError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.adapt.types import to_spark
from iceberg_spark.spark.session.session_catalogs import has_spark_catalog, is_ours
from iceberg_spark.spark.sql.references import Node, TableReference, hidden_table
from iceberg_spark.spark.sql.statements.cursor import tokens_of
from iceberg_spark.spark.sql.view_dialects import check_names
from iceberg_spark.spec.schema import Schema

_WIDENING = (
    s.ByteType, s.ShortType, s.IntegerType, s.LongType, s.FloatType, s.DoubleType,
)  # fmt: skip
_INTEGERS: dict[type[s.DataType], int] = {
    s.ByteType: 3,
    s.ShortType: 5,
    s.IntegerType: 10,
    s.LongType: 20,
}
"""Digits of integer types, as Spark counts them (DecimalType.forType)."""
_ATOMIC_PAIRS = {
    (s.DateType, s.TimestampType), (s.DateType, s.TimestampNTZType),
    (s.TimestampNTZType, s.TimestampType), (s.TimestampType, s.TimestampNTZType),
    (s.TimestampType, s.LongType), (s.LongType, s.TimestampType),
}  # fmt: skip


def as_view(frame: DataFrame, schema: Schema, view: str) -> DataFrame:
    """Return the rows of a view's query with the view's columns; extra columns are dropped.

    Raises InvalidSchemaError if the query has too few columns, or types that do not fit.
    """
    view_fields, fields = to_spark(schema).fields, frame.schema.fields
    if len(fields) < len(view_fields):
        raise InvalidSchemaError(
            f"View {view} has {len(view_fields)} columns, and its text gives {len(fields)} now"
        )
    names = [f"c{number}" for number in range(len(fields))]
    pairs = zip(names, fields, view_fields, strict=False)
    columns = [_column(f.col(name), here, there, view) for name, here, there in pairs]
    return frame.toDF(*names).select(*columns)


def _column(column: Column, source: s.StructField, target: s.StructField, view: str) -> Column:
    kind = _nullable(target.dataType)
    if not can_widen(source.dataType, kind):
        raise InvalidSchemaError(
            f"Column {target.name} of view {view} is {kind.simpleString()}, and its text gives "
            f"{source.dataType.simpleString()} now: create the view again"
        )
    same = _nullable(source.dataType) == kind
    return (column if same else column.cast(kind)).alias(target.name, metadata=target.metadata)


def can_widen(source: s.DataType, target: s.DataType) -> bool:
    """Return whether every value of the source type has the target type (Spark: Cast.canUpCast)."""
    match source, target:
        case _ if source == target or isinstance(source, s.NullType):
            return True
        case s.ArrayType(), s.ArrayType():
            return can_widen(source.elementType, target.elementType)
        case s.MapType(), s.MapType():
            key = can_widen(source.keyType, target.keyType)
            return key and can_widen(source.valueType, target.valueType)
        case s.StructType(), s.StructType():
            pairs = zip(source.fields, target.fields, strict=False)
            fits = all(
                can_widen(source_field.dataType, target_field.dataType)
                for source_field, target_field in pairs
            )
            return len(source.fields) == len(target.fields) and fits
        case s.AtomicType(), s.StringType():
            return not isinstance(source, s.VariantType)
        case _:
            return _is_wider(source, target)


def _is_wider(source: s.DataType, target: s.DataType) -> bool:
    if isinstance(target, s.DecimalType):
        digits = _digits(source)
        if digits is None:
            return False
        before, behind = digits
        return target.precision - target.scale >= before and target.scale >= behind
    if isinstance(source, s.DecimalType):
        most = _INTEGERS.get(type(target))
        return most is not None and source.scale == 0 and source.precision < most
    if isinstance(source, _WIDENING) and isinstance(target, _WIDENING):
        return _WIDENING.index(type(source)) <= _WIDENING.index(type(target))
    return (type(source), type(target)) in _ATOMIC_PAIRS


def _digits(kind: s.DataType) -> tuple[int, int] | None:
    """Return the number of digits before and after the decimal point."""
    if isinstance(kind, s.DecimalType):
        return kind.precision - kind.scale, kind.scale
    most = _INTEGERS.get(type(kind))
    return None if most is None else (most, 0)


def _nullable(kind: s.DataType) -> s.DataType:
    """Return a type without nullability and comments."""
    match kind:
        case s.StructType():
            return s.StructType([s.StructField(x.name, _nullable(x.dataType)) for x in kind.fields])
        case s.ArrayType():
            return s.ArrayType(_nullable(kind.elementType))
        case s.MapType():
            return s.MapType(_nullable(kind.keyType), _nullable(kind.valueType))
        case _:
            return kind


# Code in the text of a stored view that must not run: programs, and the driver's environment.
#
# Otherwise anyone who may write a view could run code as every user who reads it.

ALLOWED = "view.allow-code"
_FUNCTIONS = frozenset({"reflect", "java_method", "try_reflect"})
"""Functions of Spark that call any static method of Java."""
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_SUBSTITUTION = "${"


def check_no_code(text: str, view: str, properties: Mapping[str, str], dialect: Dialect) -> None:
    """Refuse a view's text that runs code, unless the catalog's properties allow it.

    Raises UnsupportedError naming the code: TRANSFORM, MAP and REDUCE with a program, calls of
    Java's methods, functions whose name is computed, and Spark's `${...}`.
    """
    if properties.get(ALLOWED, "").lower() == "true":
        return
    refused = _SUBSTITUTION if _SUBSTITUTION in text else _code_in(tokens_of(text, dialect))
    if refused is not None:
        raise UnsupportedError(
            f"View {view} uses {refused}, which could run code here in your name. If you trust "
            f"who writes this catalog's views, set its property {ALLOWED} to true"
        )


def _code_in(tokens: Sequence[Token]) -> str | None:
    for token, follower in pairwise(tokens):
        word = token.text.lower()
        if word == "using" and follower.token_type in _STRINGS:
            return f"a program ({token.text} '{follower.text}')"
        if follower.token_type is not TokenType.L_PAREN:
            continue
        if word in _FUNCTIONS:
            return f"the function {word}"
        if word == "identifier" and token.token_type is not TokenType.IDENTIFIER:
            return "IDENTIFIER(...)"
    return None


_SPARKS_OWN = "spark_catalog"
_MOST_NESTED = 100  # Spark: spark.sql.view.maxNestedViewDepth


@dataclass(frozen=True, slots=True)
class ViewNames:
    """The names of one view's text (Java: ResolveViews).

    An unqualified name is in the default catalog and namespace. A name that begins with no
    catalog is in the default catalog. Temporary views are not visible. `path` are the views that
    led here, this one last.
    """

    catalog: Catalog
    default_catalog: str
    default_namespace: tuple[str, ...]
    path: tuple[str, ...]

    @property
    def view(self) -> str:
        """The view's own name."""
        return self.path[-1]

    def check_path(self) -> None:
        """Raise InvalidInputError for a view that reads itself, or is nested too deeply."""
        shown = " -> ".join(self.path[-5:])
        if self.view in self.path[:-1]:
            raise InvalidInputError(f"View {self.view} is made of itself: {shown}")
        if len(self.path) > _MOST_NESTED:
            raise InvalidInputError(f"Views are nested more than {_MOST_NESTED} deep: {shown}")

    def check_text(self, tree: Node, text: str, dialect: Dialect) -> None:
        """Raise InvalidInputError if only Spark would see a table, and resolve it its own way."""
        hidden = hidden_table(text, dialect)
        if hidden is not None:
            raise InvalidInputError(
                f"View {self.view} names a table by {hidden}: use FROM, or quote a column's name"
            )
        for table in tree.find_all(exp.Table):
            if isinstance(table.this, exp.Anonymous) and table.this.name.upper() == "IDENTIFIER":
                raise InvalidInputError(f"View {self.view} names a table by IDENTIFIER(...)")

    def qualified(self, reference: TableReference, spark: SparkSession) -> TableReference:
        """Return a reference with its full name, the catalog first.

        Raises InvalidInputError for a location, and for a catalog that is not configured.
        """
        return replace(reference, parts=self.full_name(reference.parts, spark))

    def full_name(self, parts: tuple[str, ...], spark: SparkSession) -> tuple[str, ...]:
        """Return the full name of a table, the catalog first.

        Raises InvalidInputError for a location, and for a catalog that is not configured.
        """
        if any("/" in part for part in parts):
            raise InvalidInputError(
                f"View {self.view} names the location {'.'.join(parts)}: in views tables are named "
                "by catalogs"
            )
        if len(parts) == 1:
            parts = (self.default_catalog, *self.default_namespace, *parts)
        elif not self._is_catalog(parts[0], spark):
            parts = (self.default_catalog, *parts)
        if not self._is_catalog(parts[0], spark):
            raise InvalidInputError(
                f"View {self.view} reads {'.'.join(parts)}, and no catalog {parts[0]} is known "
                "here: configure it under this name"
            )
        return parts

    def check_trino_name(self, parts: tuple[str, ...], spark: SparkSession) -> None:
        """Raise UnsupportedError for a name that Spark and Trino divide differently.

        In Trino the last two parts are always a schema and a table, and a third one a catalog.
        """
        shown = ".".join(parts)
        check_names(parts[-2:])
        has_catalog = self._is_catalog(parts[0], spark)
        if len(parts) == 2 and has_catalog:
            raise UnsupportedError(f"{shown} begins with a catalog here, and a schema in Trino")
        if len(parts) > 3 or (len(parts) == 3 and not has_catalog):
            raise UnsupportedError(f"it reads {shown}, and no catalog {parts[0]} is known here")

    def _is_catalog(self, name: str, spark: SparkSession) -> bool:
        return (
            name in (self.catalog.name, _SPARKS_OWN)
            or is_ours(spark, name)
            or has_spark_catalog(spark, name)
        )
