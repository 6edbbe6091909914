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
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spec.quoted_name import quoted, quoted_parts

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
        return _Messages(spark).text(inside.to_plan(client.client))
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
        case (_,) if folded == "in":
            return "false"  # of a NULL too
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


def cast_text(value: str, kind: str, *, tries: bool) -> str:
    """Return a cast; one that `tries` gives NULL for what it can't cast."""
    return f"{'TRY_CAST' if tries else 'CAST'}({value} AS {kind})"


def name_text(parts: Sequence[str]) -> str:
    """Return a column's name as SQL that nothing else can be: `2024` is no number then."""
    return ".".join(map(quoted, parts))


def string_text(spark: SparkSession, value: str) -> str:
    """Return a text between quotes, as the session's parser reads it."""
    if "'" not in value and "\\" not in value:
        return f"'{value}'"
    dialect = session_dialect(spark)
    if not dialect.raw_texts:
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    signs = "'" if dialect.quoted_names else "'\""
    escapes = (len(value) - len(value.rstrip("\\"))) % 2  # the sign behind would be of the text
    sign = None if escapes else next((one for one in signs if one not in value), None)
    return f"CAST(X'{value.encode().hex()}' AS STRING)" if sign is None else sign + value + sign


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
                mode = node.evalMode()
                tries = mode.isDefined() and mode.get().getClass().getSimpleName() == "Try$"
                return cast_text(self.text(node.child()), node.dataType().sql(), tries=tries)
            case "CaseWhenOtherwise":
                return self._case(node)
            case "UnresolvedExtractValue":
                return f"{self.text(node.child())}[{self.text(node.extraction())}]"
            case "UnresolvedAttribute":
                return name_text([str(part) for part in _items(node.nameParts())])
            case "Literal" if isinstance(node.value(), str):
                return string_text(self._spark, node.value())
            case "Literal" | "Wrapper" | "ExpressionColumnNode":
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


class _Messages:
    """Reads Connect's messages."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def text(self, message: Any) -> str:
        kind = message.WhichOneof("expr_type")
        inside = getattr(message, kind)
        match kind:
            case "literal":
                return self._literal(inside)
            case "unresolved_attribute":
                name = str(inside.unparsed_identifier)
                return name_text(quoted_parts(name) or name.split("."))
            case "expression_string":
                return f"({inside.expression})"
            case "unresolved_function":
                given = [self.text(one) for one in inside.arguments]
                return function_text(str(inside.function_name), given)
            case "alias":
                return self.text(inside.expr)
            case "cast":
                tries = inside.eval_mode == inside.EVAL_MODE_TRY
                return cast_text(self.text(inside.expr), _type_text(inside), tries=tries)
            case "unresolved_extract_value":
                return f"{self.text(inside.child)}[{self.text(inside.extraction)}]"
            case _:
                raise UnsupportedError(f"A column with {kind} can't be said as SQL: write it so")

    def _literal(self, message: Any) -> str:
        kind = message.WhichOneof("literal_type")
        if kind == "string":
            return string_text(self._spark, message.string)
        write = _LITERALS.get(kind)
        if write is None:
            raise UnsupportedError(f"A literal of type {kind} can't be said as SQL: write it so")
        return write(getattr(message, kind))


def _type_text(message: Any) -> str:
    kind = str(message.type_str)
    if not kind:
        from_message = message.type.WhichOneof("kind")
        kind = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}.get(
            from_message, from_message
        )
        if kind == "decimal":
            kind = f"decimal({message.type.decimal.precision},{message.type.decimal.scale})"
    return kind


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
    "binary": lambda value: f"X'{value.hex()}'",
    "date": lambda value: f"DATE '{(_EPOCH + dt.timedelta(days=value)).date()}'",
    "timestamp": lambda value: f"TIMESTAMP '{_EPOCH + dt.timedelta(microseconds=value)}Z'",
    "timestamp_ntz": lambda value: f"TIMESTAMP_NTZ '{_EPOCH + dt.timedelta(microseconds=value)}'",
}
"""How values of Connect's messages are written, by the name of their kind."""
