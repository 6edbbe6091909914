"""Columns of PySpark as SQL texts, for what takes expressions as texts.

A classic column is a tree of Java's nodes, one of Connect a message. Both are read as the same few
kinds of parts; what has no text (functions of Python, windows, lambdas) is an error.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, SparkSession

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spark.session.classic_session import is_connect, java_packages

_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock
_INFIX = frozenset(
    "= == <=> < > <= >= != <> and or + - * / % & | ^ like ilike rlike div".split()  # noqa: SIM905
)
_BEHIND = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
_BEFORE = {"!": "NOT", "not": "NOT", "negative": "-", "positive": "+", "~": "~"}


def column_text(spark: SparkSession, column: Column | str) -> str:
    """Return a column as an SQL text; a text is the name of a column, as PySpark takes it.

    Raises UnsupportedError for what has none.
    """
    if isinstance(column, str):
        return column
    inside: Any = column
    if is_connect(spark):
        client: Any = spark
        return _of_message(inside.to_plan(client.client))
    return _Nodes(spark).text(inside._jc.node())


def function_text(name: str, arguments: Sequence[str]) -> str:
    """Return a call as SQL writes it: `=` is between its arguments."""
    folded = name.lower()
    match arguments:
        case (one,) if folded in _BEHIND:
            return f"({one} {_BEHIND[folded]})"
        case (one,) if folded in _BEFORE:
            return f"({_BEFORE[folded]} {one})"
        case (left, right) if folded in _INFIX:
            return f"({left} {folded.upper()} {right})"
        case (first, *values) if folded == "in":
            return f"({first} IN ({', '.join(values)}))"
        case _ if folded == "when":
            return _case_text(arguments)
        case _ if name.replace("_", "").isalnum():
            return f"{name}({', '.join(arguments)})"
        case _:
            raise UnsupportedError(f"A column with '{name}' can't be said as SQL: write it as text")


def _case_text(arguments: Sequence[str]) -> str:
    pairs = zip(arguments[::2], arguments[1::2], strict=False)
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    otherwise = f" ELSE {arguments[-1]}" if len(arguments) % 2 else ""
    return f"CASE {whens}{otherwise} END"


def string_text(value: str) -> str:
    """Return a text between quotes, as Spark's parser reads it."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


class _Nodes:
    """Reads Java's nodes (`org.apache.spark.sql.internal.ColumnNode`)."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark: Any = spark

    def text(self, node: Any) -> str:
        kind = str(node.getClass().getSimpleName())
        match kind:
            case "UnresolvedFunction":
                given = [self.text(one) for one in _items(node.arguments())]
                return function_text(str(node.functionName()), given)
            case "SqlExpression":
                return f"({node.expression()})"
            case "Alias":
                return self.text(node.child())
            case "Cast":
                return f"CAST({self.text(node.child())} AS {node.dataType().sql()})"
            case "CaseWhenOtherwise":
                return self._case(node)
            case "UnresolvedExtractValue":
                return f"{self.text(node.child())}[{self.text(node.extraction())}]"
            case "Literal" | "UnresolvedAttribute" | "Wrapper" | "ExpressionColumnNode":
                return self._leaf(node)
            case _:
                raise UnsupportedError(f"A column with {kind} can't be said as SQL: write it so")

    def _case(self, node: Any) -> str:
        given = []
        for branch in _items(node.branches()):
            given += [self.text(branch._1()), self.text(branch._2())]
        rest = node.otherwise()
        return _case_text([*given, *([self.text(rest.get())] if rest.isDefined() else [])])

    def _leaf(self, node: Any) -> str:
        column = java_packages(self._spark).org.apache.spark.sql.Column(node)
        return str(self._spark._jsparkSession.expression(column).sql())


def _items(found: Any) -> list[Any]:
    return [found.apply(place) for place in range(found.size())]


def _of_message(message: Any) -> str:
    kind = message.WhichOneof("expr_type")
    inside = getattr(message, kind)
    match kind:
        case "literal":
            return _literal_text(inside)
        case "unresolved_attribute":
            return str(inside.unparsed_identifier)
        case "expression_string":
            return f"({inside.expression})"
        case "unresolved_function":
            given = [_of_message(one) for one in inside.arguments]
            return function_text(str(inside.function_name), given)
        case "alias":
            return _of_message(inside.expr)
        case "cast":
            return _cast_text(inside)
        case "unresolved_extract_value":
            return f"{_of_message(inside.child)}[{_of_message(inside.extraction)}]"
        case _:
            raise UnsupportedError(f"A column with {kind} can't be said as SQL: write it so")


def _cast_text(message: Any) -> str:
    kind = message.type_str
    if not kind:
        from_message = message.type.WhichOneof("kind")
        kind = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(
            from_message, from_message
        )
        if kind == "decimal":
            kind = f"decimal({message.type.decimal.precision},{message.type.decimal.scale})"
    return f"CAST({_of_message(message.expr)} AS {kind})"


def _literal_text(message: Any) -> str:
    kind = message.WhichOneof("literal_type")
    write = _LITERALS.get(kind)
    if write is None:
        raise UnsupportedError(f"A literal of type {kind} can't be said as SQL: write it so")
    return write(getattr(message, kind))


_LITERALS: dict[str, Callable[[Any], str]] = {
    "null": lambda _: "NULL",
    "boolean": lambda value: str(value).lower(),
    "byte": str,
    "short": str,
    "integer": str,
    "long": lambda value: f"{value}L",
    "float": lambda value: f"float('{value!r}')",
    "double": lambda value: f"double('{value!r}')",
    "decimal": lambda value: f"{Decimal(value.value):f}BD",
    "string": string_text,
    "binary": lambda value: f"X'{value.hex()}'",
    "date": lambda value: f"DATE '{(_EPOCH + dt.timedelta(days=value)).date()}'",
    "timestamp": lambda value: f"TIMESTAMP '{_EPOCH + dt.timedelta(microseconds=value)}Z'",
    "timestamp_ntz": lambda value: f"TIMESTAMP_NTZ '{_EPOCH + dt.timedelta(microseconds=value)}'",
}
"""How values of Connect's messages are written, by the name of their kind."""
