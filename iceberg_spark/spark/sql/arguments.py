"""The values of a statement's parameters as literals in its text; Spark resolves their types."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import types as s
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.errors import InvalidInputError, UnsupportedError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.adapt.types import type_text
from iceberg_spark.spark.session.expressions import without_variables
from iceberg_spark.spark.session.own_methods import run_sql
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.options_clauses import options_clauses
from iceberg_spark.spark.sql.parsed_query import ParsedQuery
from iceberg_spark.spark.sql.query import Args
from iceberg_spark.spark.sql.statements.cursor import tokens_of
from iceberg_spark.spec.calendar_text import date_text, timestamp_text

Parameter: TypeAlias = tuple[int, int, str]
"""Start and end of a parameter in a text, and its name."""
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_AS_OF = re.compile(r"\bAS\b.*\bOF\b", re.IGNORECASE | re.DOTALL)
_WORDS = ("IMMEDIATE", "OF", "RETAIN", "RETENTION", "SNAPSHOTS", "VERSION")
"""Keywords that the tokenizer returns as names, and after which a value may follow."""
_SUFFIXES: dict[type[s.DataType], str] = {
    s.ByteType: "Y",
    s.ShortType: "S",
    s.IntegerType: "",
    s.LongType: "L",
}


def with_arguments(spark: SparkSession, text: str, args: Args) -> str:
    """Return a statement in which the parameters `:name` or `?` are replaced by literals.

    Anything else stays unchanged, also `:name` without a value. Raises InvalidInputError if values
    are missing, UnsupportedError for a value that has no literal.
    """
    if not args:
        return text
    dialect = session_dialect(spark)
    tokens = tokens_of(text, dialect)
    if isinstance(args, Mapping):
        parameters = list(_named(text, tokens, args))
        markers = [f":{name}" for _, _, name in parameters]
    else:
        parameters = _unnamed(tokens, len(args))
        markers = ["?"] * len(parameters)
        args = list(args)[: len(parameters)]
    return _filled(text, parameters, _literals(spark, markers, args, dialect))


def with_versions(spark: SparkSession, text: str, args: Args) -> tuple[str, Args]:
    """Return a query with literals for the parameters of AS OF and options, and the other values.

    The snapshot to read must be known before Spark runs the query. Raises as `with_arguments`.
    """
    if not args:
        return text, args
    dialect = session_dialect(spark)
    if _AS_OF.search(text) is None and not options_clauses(text, dialect):
        return text, args
    parsed = ParsedQuery.of(text, dialect)
    clauses = [
        (reference.name_end, reference.end)
        for reference in parsed.references
        if reference.end > reference.name_end
    ]
    text, tokens = parsed.text, tokens_of(parsed.text, dialect)
    parameters = (
        list(_named(text, tokens, args))
        if isinstance(args, Mapping)
        else _unnamed(tokens, len(args))
    )
    within = [n for n, parameter in enumerate(parameters) if _stands_in(parameter, clauses)]
    inner = [parameters[n] for n in within]
    if isinstance(args, Mapping):
        literals = _literals(spark, [f":{name}" for _, _, name in inner], args, dialect)
        return _filled(text, inner, literals), args
    literals = _literals(spark, ["?"] * len(inner), [args[n] for n in within], dialect)
    left = [value for n, value in enumerate(args) if n not in within]
    return _filled(text, inner, literals), left


def _stands_in(parameter: Parameter, spans: Sequence[tuple[int, int]]) -> bool:
    return any(begun <= parameter[0] and parameter[1] <= ended for begun, ended in spans)


def with_expressions(
    spark: SparkSession, text: str, expressions: Sequence[tuple[str | None, str]]
) -> str:
    """Return a statement in which the values of constant expressions replace the parameters.

    `expressions` have names, or None. Raises InvalidInputError if one is missing.
    """
    dialect = session_dialect(spark)
    tokens = tokens_of(text, dialect)
    if any(_is(token, "?") for token in tokens):
        parameters = _unnamed(tokens, len(expressions))
        values = [value for _, value in expressions[: len(parameters)]]
    else:
        by_name = {name: value for name, value in expressions if name is not None}
        parameters = list(_named(text, tokens, by_name))
        values = [by_name[name] for _, _, name in parameters]
    return _filled(text, parameters, _literals(spark, values, None, dialect))


def _unnamed(tokens: list[Token], count: int) -> list[Parameter]:
    parameters = [(token.start, token.end + 1, "?") for token in tokens if _is(token, "?")]
    if len(parameters) > count:
        raise InvalidInputError(f"{len(parameters)} values are needed for '?', not {count}")
    return parameters


def _filled(text: str, parameters: Sequence[Parameter], literals: Sequence[str]) -> str:
    pieces, position = [], 0
    for (start, end, _), literal in zip(parameters, literals, strict=True):
        pieces += [text[position:start], literal]
        position = end
    return "".join([*pieces, text[position:]])


def sql_literal(kind: s.DataType, value: pa.Scalar, dialect: Dialect) -> str:
    """Return a value as SQL of exactly its type. Raises UnsupportedError."""
    if not value.is_valid:
        is_void = isinstance(kind, s.NullType)
        return "NULL" if is_void else f"CAST(NULL AS {type_text(kind)})"
    match kind:
        case s.StringType():
            return _text(value.as_py(), dialect)
        case s.ArrayType():
            inner = ", ".join(sql_literal(kind.elementType, item, dialect) for item in value)
            return f"CAST(array({inner}) AS {type_text(kind)})"
        case s.MapType():
            pairs = zip(value.values.field(0), value.values.field(1), strict=True)
            inner = ", ".join(
                f"{sql_literal(kind.keyType, key, dialect)}, "
                f"{sql_literal(kind.valueType, item, dialect)}"
                for key, item in pairs
            )
            return f"CAST(map({inner}) AS {type_text(kind)})"
        case s.StructType():
            inner = ", ".join(
                f"{_text(field.name, dialect)}, "
                f"{sql_literal(field.dataType, value[field.name], dialect)}"
                for field in kind.fields
            )
            return f"named_struct({inner})"
        case _:
            return _primitive(kind, value)


def _primitive(kind: s.DataType, value: pa.Scalar) -> str:
    match kind:
        case s.BooleanType():
            return "true" if value.as_py() else "false"
        case s.ByteType() | s.ShortType() | s.IntegerType() | s.LongType():
            number = f"{value.as_py()}{_SUFFIXES[type(kind)]}"
            return f"({number})" if number.startswith("-") else number
        case s.FloatType():
            return f"CAST('{np.float32(value.as_py())}' AS float)"
        case s.DoubleType():
            return f"CAST('{value.as_py()!r}' AS double)"
        case s.DecimalType():
            number = format(Decimal(value.as_py()), "f")
            return f"CAST('{number}' AS {kind.simpleString()})"
        case s.BinaryType():
            return f"X'{value.as_py().hex()}'"
        case s.DateType():
            return f"DATE '{date_text(value.cast(pa.int32()).as_py())}'"
        case s.TimestampType():
            return f"TIMESTAMP '{_moment(value)}Z'"
        case s.TimestampNTZType():
            return f"TIMESTAMP_NTZ '{_moment(value)}'"
        case _:
            raise UnsupportedError(
                f"A parameter of type {kind.simpleString()}: write its value into the statement"
            )


def _moment(value: pa.Scalar) -> str:
    micros = value.cast(pa.timestamp("us", value.type.tz)).cast(pa.int64()).as_py()
    return timestamp_text(micros, 6)


def _text(value: str, dialect: Dialect) -> str:
    """Return a string literal; a cast of its bytes if sessions may read the literal differently."""
    if "${" in value or (dialect.raw_texts and any(sign in value for sign in "'\\")):
        return f"CAST(X'{value.encode().hex()}' AS string)"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _named(text: str, tokens: list[Token], args: Mapping[str, object]) -> Iterator[Parameter]:
    """Yield the parameters `:name`. A colon after a name belongs to the type of a struct field."""
    for index, token in enumerate(tokens[:-1]):
        if not _is(token, ":") or (index and _is_name(tokens[index - 1])):
            continue
        following = tokens[index + 1]
        name = text[following.start : following.end + 1].strip("`")
        if name in args:
            yield token.start, following.end + 1, name


def _is_name(token: Token) -> bool:
    return token.token_type in _NAMES and token.text.upper() not in _WORDS


def _literals(
    spark: SparkSession, markers: Sequence[str], args: Args, dialect: Dialect
) -> list[str]:
    if not markers:
        return []
    projection = ", ".join(f"{marker} AS c{index}" for index, marker in enumerate(markers))
    frame = run_sql(spark, f"SELECT {without_variables(projection)}", args)
    kinds = [field.dataType for field in frame.schema.fields]
    columns = frame.toArrow().columns
    return [
        sql_literal(kind, column[0], dialect) for kind, column in zip(kinds, columns, strict=True)
    ]


def _is(token: Token, sign: str) -> bool:
    return token.text == sign and token.token_type is not TokenType.STRING
