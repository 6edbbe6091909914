"""Functions of a catalog, `cat.system.bucket(16, id)`: Iceberg's partition transforms in queries.

Spark cannot call functions of a catalog that it does not have. They are registered as temporary
functions when a statement calls them, and the statement calls those.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from importlib.metadata import PackageNotFoundError, version
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, StructField, StructType
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.arrow.arrays import with_offsets
from iceberg_spark.arrow.from_arrow import iceberg_type
from iceberg_spark.arrow.schema import to_arrow_type
from iceberg_spark.arrow.transforms import apply_transform
from iceberg_spark.catalog.registry import resolve, with_settings
from iceberg_spark.errors import IcebergError, InvalidInputError
from iceberg_spark.spark.row_level.target_rows import empty_frame, row_type
from iceberg_spark.spark.session.error_conditions import UNRESOLVED_ROUTINE, with_condition
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spark.session.session_catalogs import is_ours, session_catalog
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.current_namespace import (
    current_namespace,
    is_iceberg_table,
    whole_name,
)
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)

_SYSTEM, _VERSION, _TRUNCATE, _BUCKET = "system", "iceberg_version", "truncate", "bucket"
_OF_TIME: dict[str, tuple[Transform, s.DataType]] = {
    "years": (YearTransform(), s.IntegerType()),
    "months": (MonthTransform(), s.IntegerType()),
    "days": (DayTransform(), s.DateType()),
    "hours": (HourTransform(), s.IntegerType()),
}
FUNCTION_NAMES = (_BUCKET, _TRUNCATE, *_OF_TIME, _VERSION)
"""The functions that each Iceberg catalog has."""
_TRUNCATED = (
    s.ByteType, s.ShortType, s.IntegerType, s.LongType, s.DecimalType, s.StringType, s.BinaryType,
)  # fmt: skip
TypeOf: TypeAlias = Callable[[str], s.DataType | None]
_PREFIX = "iceberg_spark_"


def with_functions(spark: SparkSession, text: str, *, of_view: bool = False) -> str:
    """Return a text that calls the registered functions of Iceberg catalogs.

    After USE of an Iceberg catalog, and in the text of a view, `system.bucket(...)` is such a call
    too. A statement that creates a view is unchanged, for its text is stored. Raises
    InvalidInputError for an unknown function, and for `truncate` if the type of its argument
    cannot be determined.
    """
    if f"{_SYSTEM}." not in text.lower().replace("`", ""):
        return text
    tokens = tokens_of(text, session_dialect(spark))
    if any(token.text.upper() == "CALL" for token in tokens[:3]):  # EXPLAIN EXTENDED CALL
        return text
    if _makes_view([token.text.upper() for token in tokens[:4]]):
        return text
    has_short = of_view or current_namespace(spark) is not None
    return _replaced(spark, text, tokens, partial(argument_type, spark, text, tokens), has_short)


def _makes_view(words: list[str]) -> bool:
    """Return whether a statement creates a view that is not temporary."""
    rest = words[1:]
    return words[:1] == ["CREATE"] and (rest[:1] == ["VIEW"] or rest == ["OR", "REPLACE", "VIEW"])


def _replaced(
    spark: SparkSession, text: str, tokens: list[Token], type_of: TypeOf, has_short: bool
) -> str:
    pieces, position = [], 0
    for first, name, last in _calls(spark, tokens, has_short):
        pieces.append(text[position : first.start])
        if name == _VERSION:
            pieces.append(f"'{_installed()}'")
            position = last.end + 1
            continue
        arguments = _arguments(spark, text, tokens, last, name)
        if name == _TRUNCATE:
            argument = arguments[1].needed()
            inside = tokens_of(argument, session_dialect(spark))
            second = _replaced(spark, argument, inside, type_of, has_short)
            pieces.append(_truncate(spark, second, type_of))
        else:
            pieces.append(_registered(spark, name))
        position = last.start
    return "".join([*pieces, text[position:]])


def _arguments(
    spark: SparkSession, text: str, tokens: list[Token], bracket: Token, name: str
) -> list[Cursor]:
    """Return the arguments of a call. Raises InvalidInputError if there are too many or too few."""
    inner = Cursor(text, tokens[tokens.index(bracket) :], session_dialect(spark)).brackets()
    arguments = [] if inner.at_end else inner.items()
    count = 1 if name in _OF_TIME else 2
    if len(arguments) != count:
        needed = "1 argument" if count == 1 else f"{count} arguments"
        raise InvalidInputError(f"{name}(...) takes {needed}, not {len(arguments)}")
    return arguments


def _calls(
    spark: SparkSession, tokens: list[Token], has_short: bool
) -> Iterator[tuple[Token, str, Token]]:
    """Yield the first token of a call, the function, and the "(" (")" if it takes no arguments)."""
    for index, token in enumerate(tokens):
        if token.text.lower() != _SYSTEM or not _dotted_call(tokens, index):
            continue
        first = _beginning(spark, tokens, index, has_short)
        if first is None:
            continue
        name = tokens[index + 2].text.lower()
        name = f"{name}s" if f"{name}s" in _OF_TIME else name
        check_function(name)
        last = tokens[index + 3]
        if name == _VERSION:
            last = tokens[min(index + 4, len(tokens) - 1)]
            if last.token_type is not TokenType.R_PAREN:
                raise InvalidInputError(f"{_VERSION}() takes no arguments")
        yield first, name, last


def _dotted_call(tokens: list[Token], index: int) -> bool:
    kinds = [token.token_type for token in tokens[index + 1 : index + 4]]
    return len(kinds) == 3 and kinds[0] is TokenType.DOT and kinds[2] is TokenType.L_PAREN


def _beginning(
    spark: SparkSession, tokens: list[Token], index: int, has_short: bool
) -> Token | None:
    """Return the first token of the name of an Iceberg function, None for other functions."""
    if index < 2 or tokens[index - 1].token_type is not TokenType.DOT:
        return tokens[index] if has_short else None
    catalog = tokens[index - 2]
    is_first = index < 3 or tokens[index - 3].token_type is not TokenType.DOT
    return catalog if is_first and is_ours(spark, catalog.text) else None


def check_function(name: str) -> None:
    """Refuse a name that no function of Iceberg has. Raises InvalidInputError."""
    if name not in FUNCTION_NAMES:
        error = InvalidInputError(
            f"There is no function '{name}'; there are: {', '.join(FUNCTION_NAMES)}"
        )
        raise with_condition(error, UNRESOLVED_ROUTINE)


def _registered(spark: SparkSession, name: str) -> str:
    if name == _BUCKET:
        function = arrow_udf(_bucket, s.IntegerType())  # type: ignore[call-overload]
    else:
        transform, kind = _OF_TIME[name]
        function = arrow_udf(_of_time(transform), kind)  # type: ignore[call-overload]
    spark.udf.register(f"{_PREFIX}{name}", function)
    return f"{_PREFIX}{name}"


def _truncate(spark: SparkSession, argument: str, type_of: TypeOf) -> str:
    """Return the function for the type of the argument, which is also its result type."""
    kind = type_of(argument)
    if kind is None:
        raise InvalidInputError(
            f"truncate(w, {argument}): the argument's type can't be derived from the tables of the "
            f"statement; use truncate(w, CAST({argument} AS string))"
        )
    if not isinstance(kind, _TRUNCATED):
        raise InvalidInputError(
            f"truncate(w, {argument}) takes whole numbers, decimals, texts and bytes, not "
            f"{kind.simpleString()}"
        )
    name = f"{_PREFIX}{_TRUNCATE}_{'_'.join(re.findall('[a-z0-9]+', kind.simpleString()))}"
    spark.udf.register(name, arrow_udf(_truncated(kind), kind))  # type: ignore[call-overload]
    return name


def _truncated(kind: s.DataType) -> Callable[[pa.Array, pa.Array], pa.Array]:
    def apply(widths: pa.Array, values: pa.Array) -> pa.Array:
        actual = from_arrow_type(values.type)
        if actual != kind:
            raise InvalidInputError(
                f"truncate(w, x): x is {actual.simpleString()} and not {kind.simpleString()}, as a "
                f"column of its name: use truncate(w, CAST(x AS {actual.simpleString()}))"
            )
        if not len(values):
            return values
        truncated = _transformed(TruncateTransform(_one_number("truncate", widths)), values)
        return truncated if truncated.type == values.type else truncated.cast(values.type)

    return apply


def _bucket(buckets: pa.Array, values: pa.Array) -> pa.Array:
    if not len(values):
        return pa.nulls(0, pa.int32())
    return _transformed(BucketTransform(_one_number("bucket", buckets)), values)


def _one_number(name: str, values: pa.Array) -> int:
    numbers = pc.unique(values).to_pylist()
    if len(numbers) > 1 or not isinstance(numbers[0], int) or numbers[0] < 1:
        raise InvalidInputError(f"{name}(n, x): n is one whole number above 0, not {numbers[:3]}")
    return numbers[0]


def _of_time(transform: Transform) -> Callable[[pa.Array], pa.Array]:
    def apply(values: pa.Array) -> pa.Array:
        return _transformed(transform, values)

    return apply


def _transformed(transform: Transform, values: pa.Array) -> pa.Array:
    kind = iceberg_type(values.type)
    arrow_type = to_arrow_type(kind)
    plain = with_offsets(values)
    return apply_transform(
        transform, kind, plain if plain.type == arrow_type else plain.cast(arrow_type)
    )


def _installed() -> str:
    try:
        return f"iceberg-spark {version('iceberg-spark')}"
    except PackageNotFoundError:  # on a PYTHONPATH
        return "iceberg-spark"


_BEFORE_TABLES = ("FROM", "JOIN", "INTO", "UPDATE", "USING", "TABLE")
_NO_ALIAS = (
    "WHERE", "ON", "USING", "JOIN", "LEFT", "RIGHT", "INNER", "FULL", "CROSS", "SEMI", "ANTI",
    "NATURAL", "GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "HAVING", "LIMIT", "OFFSET",
    "UNION", "EXCEPT", "INTERSECT", "MINUS", "SET", "WHEN", "SELECT", "VALUES", "VERSION",
    "TIMESTAMP", "FOR", "LATERAL", "PIVOT", "UNPIVOT", "WINDOW", "TABLESAMPLE",
)  # fmt: skip


def argument_type(
    spark: SparkSession, text: str, tokens: Sequence[Token], argument: str
) -> DataType | None:
    """Return the type of an expression in a statement, None if it cannot be determined.

    Its columns are looked up in all Iceberg tables that the statement names. A column may also
    come from a subquery or a table of Spark, so callers check the values too.
    """
    tables: list[tuple[str, Schema]] = []
    for table in _tables(spark, text, tokens):
        if table not in tables:  # the same table twice would make its columns ambiguous
            tables.append(table)
    aliased = [empty_frame(schema, spark).alias(name) for name, schema in tables]
    scopes = (reduce(DataFrame.crossJoin, aliased, spark.range(1).select()), _merged(spark, tables))
    for scope in scopes:
        try:
            return scope.select(expression(argument).alias("c")).schema.fields[0].dataType
        except PySparkException:  # the statement itself raises the error
            continue
    return None


def _merged(spark: SparkSession, tables: Sequence[tuple[str, Schema]]) -> DataFrame:
    """Return an empty DataFrame of the columns that have the same type in all tables."""
    kinds: dict[str, set[DataType]] = {}
    for _, schema in tables:
        for field in row_type(schema).fields:
            kinds.setdefault(field.name, set()).add(field.dataType)
    alike = {name: next(iter(types)) for name, types in kinds.items() if len(types) == 1}
    return spark.createDataFrame([], StructType([StructField(*column) for column in alike.items()]))


def _tables(
    spark: SparkSession, text: str, tokens: Sequence[Token]
) -> Iterator[tuple[str, Schema]]:
    """Yield the schemas of Iceberg tables, with the names that qualify their columns."""
    for index, token in enumerate(tokens[:-1]):
        if token.text.upper() not in _BEFORE_TABLES:
            continue
        cursor = Cursor(text, tokens[index + 1 :])
        try:
            name = cursor.name()
        except InvalidInputError:  # a bracket follows
            continue
        schema = _schema(spark, name)
        if schema is not None:
            yield _alias(cursor) or name[-1], schema


def _alias(cursor: Cursor) -> str | None:
    cursor.takes("AS")
    if cursor.at_end or any(cursor.sees(word) for word in _NO_ALIAS):
        return None
    try:
        return cursor.identifier()
    except InvalidInputError:
        return None


def _schema(spark: SparkSession, name: tuple[str, ...]) -> Schema | None:
    full_name = whole_name(spark, name)
    is_location = len(full_name) == 1 and "/" in full_name[0]
    if not is_location and not is_iceberg_table(spark, full_name):
        return None
    above = (full_name[:-1],) if len(full_name) > 2 else ()
    for parts in (full_name, *above):  # a branch may follow the table's name
        table = ".".join(parts)
        try:
            catalog, identifier = resolve(
                table, with_settings(table, {}, partial(session_catalog, spark))
            )
            return catalog.load(identifier).metadata.schema
        except IcebergError:
            continue
    return None
