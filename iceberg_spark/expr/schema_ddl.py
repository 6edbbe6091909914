"""Schemas and types written as Spark DDL: "id bigint not null, s struct<a: int>".

sqlglot parses; this turns its tree into Iceberg types. Beyond Spark's own names it takes
`uuid`, `time`, `timestamp_ns`, `timestamptz_ns`, `fixed[16]` (or `fixed(16)`) and `unknown`, which
Iceberg has and Spark lacks.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import sqlglot
from sqlglot import expressions as e
from sqlglot.errors import SqlglotError

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec import types as t
from iceberg_spark.spec.nearest import nearest
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import parse_type

_SRID = "4326"
"""Spark's number of the CRS that a geometry has without one."""
_KIND = e.DType
_SIMPLE: dict[e.DType, t.PrimitiveType | t.VariantType] = {
    _KIND.BOOLEAN: t.BooleanType(),
    _KIND.TINYINT: t.IntegerType(),
    _KIND.SMALLINT: t.IntegerType(),
    _KIND.INT: t.IntegerType(),
    _KIND.BIGINT: t.LongType(),
    _KIND.FLOAT: t.FloatType(),
    _KIND.DOUBLE: t.DoubleType(),
    _KIND.DATE: t.DateType(),
    _KIND.TIME: t.TimeType(),
    _KIND.TIMESTAMPNTZ: t.TimestampType(),
    _KIND.TIMESTAMPTZ: t.TimestamptzType(),
    _KIND.TIMESTAMPLTZ: t.TimestamptzType(),
    _KIND.TEXT: t.StringType(),
    _KIND.VARCHAR: t.StringType(),
    _KIND.CHAR: t.StringType(),
    _KIND.BINARY: t.BinaryType(),
    _KIND.UUID: t.UUIDType(),
    _KIND.VARIANT: t.VariantType(),
    _KIND.GEOMETRY: t.GeometryType(),
    _KIND.GEOGRAPHY: t.GeographyType(),
    _KIND.UNKNOWN: t.UnknownType(),
    _KIND.INT128: t.TimestampNanoType(),
    _KIND.UINT128: t.TimestamptzNanoType(),
}
_WRITTEN_AS = {
    "timestamp_ns": "int128",
    "timestamptz_ns": "uint128",
    "fixed": "varbinary",
    "void": "unknown",
    "int128": "no_type",
    "uint128": "no_type",
    "varbinary": "no_type",
}
"""Types that stand for those that sqlglot lacks; no DDL text uses them otherwise."""

_SHOWN_NAMES = (
    "boolean", "int", "bigint", "float", "double", "decimal(p, s)", "date", "timestamp",
    "timestamp_ntz", "string", "binary", "struct<...>", "array<...>", "map<...>", "uuid", "time",
    "timestamp_ns", "timestamptz_ns", "fixed(n)", "variant", "geometry", "geography", "unknown",
)  # fmt: skip
_NAMES = frozenset((
    *(name.partition("(")[0].partition("<")[0] for name in _SHOWN_NAMES), "bool", "byte",
    "tinyint", "short", "smallint", "integer", "long", "real", "dec", "numeric", "timestamp_ltz",
    "timestamptz", "varchar", "char", "character", "text", "void", "interval",
))  # fmt: skip
_LENGTH = re.compile(r"\A\s*\[\s*(\d+)\s*\]")
_COMMENTS = re.compile(r"'(?:[^'\\]|\\.)*'")
_TYPE_WORDS = re.compile(
    r"\barray\s*<\s*([A-Za-z_]\w*)"
    r"|\bmap\s*<\s*([A-Za-z_]\w*)\s*,\s*([A-Za-z_]\w*)"
    r"|(?:^|[,<])\s*(?:`(?:[^`]|``)+`|[A-Za-z_]\w*)\s*(?::|\s)\s*(?=([A-Za-z_]\w*))",
    re.IGNORECASE,
)
"""The words where types belong: in arrays and maps, and after names of columns and fields."""


def schema_from_ddl(text: str, *, wall_clocks: bool = False) -> Schema:
    """Return a schema with provisional ids for "name type [not null] [comment '...'], ...".

    With `wall_clocks` TIMESTAMP is TIMESTAMP_NTZ, like with `spark.sql.timestampType`.
    Raises InvalidSchemaError showing the invalid part.
    """
    try:
        statement = sqlglot.parse_one(f"CREATE TABLE t ({_as_parsed(text)})", dialect="spark")
    except SqlglotError as error:
        raise InvalidSchemaError(
            _unknown_type(text) or f"Schema '{text}' is no Spark DDL: {_first_line(error)}"
        ) from None
    except RecursionError:
        raise InvalidSchemaError("The schema's text is nested too deeply") from None
    if wall_clocks:
        for kind in statement.find_all(e.DataType):
            if kind.this is _KIND.TIMESTAMPTZ:  # TIMESTAMP_LTZ is another
                kind.set("this", _KIND.TIMESTAMPNTZ)
    columns = getattr(statement.this, "expressions", [])
    ids = itertools.count(1)
    return Schema(*(_field(column, text, ids) for column in columns))


def type_from_ddl(text: str, *, wall_clocks: bool = False) -> t.IcebergType:
    """Return the type that a DDL type name stands for, nested ids provisional.

    Raises InvalidSchemaError showing the invalid part.
    """
    return schema_from_ddl(f"c {text}", wall_clocks=wall_clocks).fields[0].field_type


def _field(column: e.Expression, text: str, ids: Iterator[int]) -> t.NestedField:
    if not isinstance(column, e.ColumnDef) or not isinstance(column.args.get("kind"), e.DataType):
        raise InvalidSchemaError(f"'{column.sql('spark')}' in '{text}' is not 'name type'")
    field_id = next(ids)
    kind = _type(column.args["kind"], text, ids)
    constraints = [constraint.args["kind"] for constraint in column.args.get("constraints") or ()]
    required = any(
        isinstance(kind, e.NotNullColumnConstraint) and not kind.args.get("allow_null")
        for kind in constraints
    )
    comments = [c.this.name for c in constraints if isinstance(c, e.CommentColumnConstraint)]
    return t.NestedField(field_id, column.name, kind, required, comments[0] if comments else None)


def _type(kind: e.DataType, text: str, ids: Iterator[int]) -> t.IcebergType:
    parameters = kind.expressions
    match kind.this:
        case _KIND.STRUCT:
            return t.StructType(*(_field(child, text, ids) for child in parameters))
        case _KIND.ARRAY if len(parameters) == 1:
            element_id = next(ids)
            return t.ListType(element_id, _type(parameters[0], text, ids))
        case _KIND.MAP if len(parameters) == 2:
            key_id, value_id = next(ids), next(ids)
            key, value = (_type(part, text, ids) for part in parameters)
            return t.MapType(key_id, key, value_id, value)
        case _KIND.DECIMAL:
            numbers = [int(parameter.this.name) for parameter in parameters]
            precision, scale = (*numbers, *(10, 0)[len(numbers) :])
            return t.DecimalType(precision, scale)
        case _KIND.VARBINARY if len(parameters) == 1 and parameters[0].this.is_int:
            return t.FixedType(int(parameters[0].this.name))
        case _KIND.GEOMETRY | _KIND.GEOGRAPHY if parameters:
            return _geo(kind, text)
        case simple if simple in _SIMPLE:
            return _SIMPLE[simple]
        case _:
            raise _no_column(kind, text)


def _no_column(kind: e.DataType, text: str) -> InvalidSchemaError:
    return InvalidSchemaError(
        f"Type '{kind.sql('spark')}' in '{text}' is none that a table column can have"
    )


def _geo(kind: e.DataType, text: str) -> t.IcebergType:
    """Return a geometry by Spark's number of its CRS, or by Iceberg's name of it in quotes."""
    crs, *more = (part.this for part in kind.expressions)
    flat = kind.this == _KIND.GEOMETRY
    literals = all(isinstance(argument, e.Literal) for argument in (crs, *more))
    if not literals or len(more) > (0 if flat else 1) or not (crs.is_string or crs.is_int):
        raise _no_column(kind, text)
    name = crs.name if crs.is_string else None if crs.name == _SRID else f"EPSG:{crs.name}"
    if flat:
        return t.GeometryType(name)
    edges = parse_type(f"geography({t.DEFAULT_CRS}, {more[0].name})") if more else None
    return t.GeographyType(name, edges.algorithm if isinstance(edges, t.GeographyType) else None)


def _as_parsed(text: str) -> str:
    """Return the text with stand-ins for the types that sqlglot lacks."""
    comments = [match.span() for match in _COMMENTS.finditer(text)]
    places = sorted(
        match.span(group)
        for match in _TYPE_WORDS.finditer(text)
        for group in range(1, _TYPE_WORDS.groups + 1)
        if (match.group(group) or "").lower() in _WRITTEN_AS
    )
    for start, end in reversed(places):
        if not any(first < start < last for first, last in comments):
            behind = _LENGTH.sub(r"(\1)", text[end:], count=1)  # fixed[16]
            text = f"{text[:start]}{_WRITTEN_AS[text[start:end].lower()]}{behind}"
    return text


def _unknown_type(text: str) -> str | None:
    """Name the first word at the position of a type that is not a type, or None."""
    unquoted = _COMMENTS.sub("", text)
    words = [word for match in _TYPE_WORDS.finditer(unquoted) for word in match.groups() if word]
    for word in words:
        if word.lower() not in _NAMES:
            close = nearest(word, sorted(_NAMES))
            meant = f"; did you mean '{close}'?" if close else "."
            names = ", ".join(_SHOWN_NAMES)
            return f"Unknown type '{word}' in '{text}'{meant} Types are {names}"
    return None


def _first_line(error: SqlglotError) -> str:
    return str(error).splitlines()[0]
