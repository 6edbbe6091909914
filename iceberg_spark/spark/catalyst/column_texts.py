"""PySpark's columns as SQL texts, for functions that take expressions as texts.

A classic column is a tree of Java nodes, a Connect column is a protobuf message. Columns that have
no SQL text (Python functions, windows, lambdas) are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from iceberg_spark.errors import InvalidSchemaError, InvalidTypeError, UnsupportedError
from iceberg_spark.spark.catalyst.classic_frame import has_attribute, own_plan_ids
from iceberg_spark.spark.session.classic_session import is_connect, java_packages
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spec.arguments import format_value
from iceberg_spark.spec.calendar_text import date_text, timestamp_text
from iceberg_spark.spec.quoted_name import quote, quoted_parts

_STRUCT = "struct"
_INFIX = frozenset(
    "= == <=> < > <= >= != <> and or + - * / % & | ^ like ilike rlike div".split()  # noqa: SIM905
)
_BEHIND = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
_BEFORE = {"!": "NOT", "not": "NOT", "negative": "-", "positive": "+", "~": "~"}


def column_text(spark: SparkSession, column: Column | str, names: MergeNames | None = None) -> str:
    """Return a column as an SQL text. A text is the name of a column, as in PySpark.

    `names` are the names of the merge that the column is for. Raises UnsupportedError for a column
    without an SQL text, InvalidTypeError for a value that is not a column.
    """
    check_column("What stands for a column", column)
    if isinstance(column, str):
        return column
    inside: Any = column
    if is_connect(spark):
        client: Any = spark
        return _Messages(spark, names).text(inside.to_plan(client.client))
    return _Nodes(spark, names).text(inside._jc.node())


def check_column(what: str, value: object) -> None:
    """Raise InvalidTypeError for a value that is neither a column nor a text."""
    if not isinstance(value, Column | str):
        raise InvalidTypeError(
            f"{what} must be a column, not {format_value(value)}: "
            f"a value is one by lit({format_value(value)})"
        )


def field_text(text: str, names: Sequence[str]) -> str:
    """Return a field of `struct(...)` with the name of its alias."""
    return f"{text} AS {quote(names[0])}" if len(names) == 1 else text


def instant_text(micros: int) -> str:
    """Return an instant, in microseconds since 1970, as SQL that every session reads the same way.

    `TIMESTAMP '...Z'` would lose its zone if `spark.sql.timestampType` is TIMESTAMP_NTZ.
    """
    return f"TIMESTAMP_LTZ '{_clock_text(micros)}Z'"


def _clock_text(micros: int) -> str:
    return timestamp_text(micros).replace("T", " ")


def function_text(name: str, arguments: Sequence[str]) -> str:
    """Return a call in SQL syntax: operators such as `=` are between their arguments."""
    folded = name.lower()
    match arguments:
        case (operand,) if folded in _BEHIND:
            return f"({operand} {_BEHIND[folded]})"
        case (operand,) if folded in _BEFORE:
            return f"({_BEFORE[folded]} {operand})"
        case (left, right) if folded in _INFIX:
            return f"({left} {folded.upper()} {right})"
        case (_,) if folded == "in":
            return "false"  # also for NULL
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
    """Return a cast. With `tries`, a value that cannot be cast becomes NULL."""
    return f"{'TRY_CAST' if tries else 'CAST'}({value} AS {kind})"


def name_text(parts: Sequence[str]) -> str:
    """Return a column's name quoted, so that a name such as `2024` is not a number."""
    return ".".join(map(quote, parts))


def string_text(spark: SparkSession, value: str) -> str:
    """Return a quoted string as the session's parser reads it."""
    if "'" not in value and "\\" not in value:
        return f"'{value}'"
    dialect = session_dialect(spark)
    if not dialect.raw_texts:
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    quotes = "'" if dialect.quoted_names else "'\""
    # After an odd number of backslashes, the quote would be part of the text.
    escapes = (len(value) - len(value.rstrip("\\"))) % 2
    quote_character = (
        None if escapes else next((quote for quote in quotes if quote not in value), None)
    )
    return (
        f"CAST(X'{value.encode().hex()}' AS STRING)"
        if quote_character is None
        else quote_character + value + quote_character
    )


class _Nodes:
    """Reads Java nodes (`org.apache.spark.sql.internal.ColumnNode`)."""

    def __init__(self, spark: SparkSession, names: MergeNames | None) -> None:
        self._spark: Any = spark
        self._names = names

    def text(self, node: Any) -> str:
        kind = _class_name(node)
        match kind:
            case "UnresolvedFunction":
                return self._call(str(node.functionName()), _items(node.arguments()))
            case "SqlExpression":
                return f"({node.expression()})"
            case "Alias":
                return self.text(node.child())
            case "Cast":
                return self._cast(node)
            case "CaseWhenOtherwise":
                return self._case(node)
            case "UnresolvedExtractValue":
                return f"{self.text(node.child())}[{self.text(node.extraction())}]"
            case "UnresolvedAttribute":
                parts = [str(part) for part in _items(node.nameParts())]
                return name_text(parts if self._names is None else self._names.of_target(parts))
            case "Literal" if isinstance(node.value(), str):
                return string_text(self._spark, node.value())
            case "Literal" | "Wrapper" | "ExpressionColumnNode":
                return self._leaf(node)
            case _:
                raise UnsupportedError(f"A column with {kind} can't be said as SQL: write it so")

    def _call(self, name: str, arguments: Sequence[Any]) -> str:
        texts = [self.text(argument) for argument in arguments]
        if name.lower() == _STRUCT:
            texts = [
                field_text(text, list(map(str, _items(argument.name()))))
                if _class_name(argument) == "Alias"
                else text
                for text, argument in zip(texts, arguments, strict=True)
            ]
        return function_text(name, texts)

    def _cast(self, node: Any) -> str:
        mode, kind = node.evalMode(), node.dataType()
        tries = mode.isDefined() and _class_name(mode.get()) == "Try$"
        # the meaning of `timestamp` depends on `spark.sql.timestampType`
        name = "TIMESTAMP_LTZ" if _is_instant(kind) else str(kind.sql())
        return cast_text(self.text(node.child()), name, tries=tries)

    def _case(self, node: Any) -> str:
        branches = []
        for branch in _items(node.branches()):
            branches += [self.text(branch._1()), self.text(branch._2())]
        rest = node.otherwise()
        return _case_text([*branches, *([self.text(rest.get())] if rest.isDefined() else [])])

    def _leaf(self, node: Any) -> str:
        column = java_packages(self._spark).org.apache.spark.sql.Column(node)
        return self._expression(self._spark._jsparkSession.expression(column))

    def _expression(self, java: Any) -> str:
        """Return an expression of Catalyst: a literal, or a frame's own column."""
        match _class_name(java):
            case "Alias":  # of a field in a struct
                return self._expression(java.child())
            case "GetStructField":
                return f"{self._expression(java.child())}.{quote(str(java.extractFieldName()))}"
            case "AttributeReference":
                return self._attribute(java)
            case "Literal" if _is_instant(java.dataType()) and java.value() is not None:
                return instant_text(int(java.value()))  # Java shows it in the active session's zone
            case _:
                return str(java.sql())

    def _attribute(self, java: Any) -> str:
        if self._names is None or not has_attribute(self._names.source, java):
            return str(java.sql())
        return name_text(self._names.of_source([str(java.name())]))


def _class_name(of: Any) -> str:
    return str(of.getClass().getSimpleName())


def _is_instant(kind: Any) -> bool:
    return str(kind.typeName()) == "timestamp"


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.size())]


class _Messages:
    """Reads Connect messages."""

    def __init__(self, spark: SparkSession, names: MergeNames | None) -> None:
        self._spark = spark
        self._names = names
        self._own = frozenset[int]() if names is None else own_plan_ids(names.source)

    def text(self, message: Any) -> str:
        kind = message.WhichOneof("expr_type")
        inside = getattr(message, kind)
        match kind:
            case "literal":
                return self._literal(inside)
            case "unresolved_attribute":
                return self._attribute(inside)
            case "expression_string":
                return f"({inside.expression})"
            case "unresolved_function":
                return self._call(str(inside.function_name), inside.arguments)
            case "alias":
                return self.text(inside.expr)
            case "cast":
                tries = inside.eval_mode == inside.EVAL_MODE_TRY
                name = str(inside.type_str) or cast_type(inside.type)
                return cast_text(self.text(inside.expr), name, tries=tries)
            case "unresolved_extract_value":
                return f"{self.text(inside.child)}[{self.text(inside.extraction)}]"
            case _:
                raise UnsupportedError(f"A column with {kind} can't be said as SQL: write it so")

    def _attribute(self, message: Any) -> str:
        name = str(message.unparsed_identifier)
        parts = quoted_parts(name) or tuple(name.split("."))
        if self._names is None:
            return name_text(parts)
        if not message.HasField("plan_id"):
            return name_text(self._names.of_target(parts))
        is_own = message.plan_id in self._own
        return name_text(self._names.of_source(parts) if is_own else parts)

    def _call(self, name: str, arguments: Sequence[Any]) -> str:
        texts = [self.text(argument) for argument in arguments]
        if name.lower() == _STRUCT:
            texts = [
                field_text(text, argument.alias.name) if argument.HasField("alias") else text
                for text, argument in zip(texts, arguments, strict=True)
            ]
        return function_text(name, texts)

    def _literal(self, message: Any) -> str:
        kind = message.WhichOneof("literal_type")
        if kind == "string":
            return string_text(self._spark, message.string)
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
    "binary": lambda value: f"X'{value.hex()}'",
    "date": lambda value: f"DATE '{date_text(value)}'",
    "timestamp": instant_text,
    "timestamp_ntz": lambda value: f"TIMESTAMP_NTZ '{_clock_text(value)}'",
}
"""How values of Connect's messages are written, by the name of their kind."""


_SIMPLE = {
    "null": "void",
    "boolean": "boolean",
    "binary": "binary",
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp_ltz",  # the meaning of `timestamp` depends on `spark.sql.timestampType`
    "timestamp_ntz": "timestamp_ntz",
    "calendar_interval": "interval",
    "variant": "variant",
}
_SIZED = {"char": "char", "var_char": "varchar"}
_UNITS = {
    "year_month_interval": ("year", "month"),
    "day_time_interval": ("day", "hour", "minute", "second"),
}
_BINARY = "UTF8_BINARY"


def cast_type(message: Any) -> str:
    """Return the type of a message (`DataType`) as SQL text that means the same in every session.

    Raises UnsupportedError for a type without SQL text, such as a user-defined type.
    """
    kind = str(message.WhichOneof("kind"))
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    inside: Any = getattr(message, kind, None)
    match kind:
        case "array":
            return f"array<{cast_type(inside.element_type)}>"
        case "map":
            return f"map<{cast_type(inside.key_type)}, {cast_type(inside.value_type)}>"
        case "struct":
            return f"struct<{', '.join(map(_field, inside.fields))}>"
        case "string":
            return "string" if inside.collation in ("", _BINARY) else _collated(inside)
        case "decimal":
            return f"decimal({inside.precision},{inside.scale})"
        case "time":
            return f"time({inside.precision})"
        case "char" | "var_char":
            return f"{_SIZED[kind]}({inside.length})"
        case "year_month_interval" | "day_time_interval":
            return _interval(_UNITS[kind], inside)
        case _:
            raise UnsupportedError(f"A cast to {kind} can't be said as SQL: write it as text")


def _field(field: Any) -> str:
    required = "" if field.nullable else " NOT NULL"
    return f"{quote(field.name)}: {cast_type(field.data_type)}{required}"


def _collated(message: Any) -> str:
    return f"string collate {message.collation}"


def _interval(units: tuple[str, ...], message: Any) -> str:
    first, last = units[message.start_field], units[message.end_field]
    return f"interval {first}" if first == last else f"interval {first} to {last}"


@dataclass(frozen=True, slots=True, eq=False)
class MergeNames:
    """The qualifiers of the columns of both sides of a merge.

    Columns of the DataFrame `source` are qualified with `alias`, whatever the DataFrame's own alias
    (`own`) is. `target` is the table's full name; columns may be qualified with the end of it, and
    the texts qualify them with its last part. `columns` are the table's. `fold` maps names that are
    equal for the session to the same name.
    """

    source: DataFrame
    alias: str
    own: str | None
    target: tuple[str, ...]
    columns: frozenset[str]
    fold: Callable[[str], str]

    def of_source(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return the qualified name of a column of the source DataFrame."""
        if len(parts) > 1 and self.own is not None and self.fold(parts[0]) == self.fold(self.own):
            return (self.alias, *parts[1:])
        return (self.alias, *parts)

    def of_target(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return a column's name, with a qualifier of two or more parts shortened to one."""
        size = self._size(parts, least=2)
        return (self.target[-1], *parts[size:]) if size else tuple(parts)

    def assigned(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return the assignments of a clause, by columns without the table's name.

        Raises InvalidSchemaError for a column that is assigned twice.
        """
        assignments: dict[str, str] = {}
        for column, text in values.items():
            name = self._without_table(column)
            if name in assignments:
                raise InvalidSchemaError(f"Column '{column}' gets a value twice")
            assignments[name] = text
        return assignments

    def _without_table(self, column: str) -> str:
        if self.fold(column) in self.columns:  # whatever dots its name has
            return column
        parts = quoted_parts(column) or tuple(column.split("."))
        size = self._size(parts, least=1)
        return ".".join(map(quote, parts[size:])) if size else column

    def _size(self, parts: Sequence[str], *, least: int) -> int:
        """Return how many parts of a name are the table's name, 0 if it has no column of that name.

        As in Spark, a column of the table takes precedence over a field of a struct that has the
        table's name.
        """
        folded = [self.fold(part) for part in parts]
        table = [self.fold(part) for part in self.target]
        for size in range(min(len(table), len(parts) - 1), least - 1, -1):
            if folded[:size] == table[-size:] and folded[size] in self.columns:
                return size
        return 0
