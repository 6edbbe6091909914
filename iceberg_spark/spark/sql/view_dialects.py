"""Texts of views for Spark and for Trino, each from the other where both mean the same.

A text is carried over only if `portable_query` allows its tree, and if the new text is parsed to
the same tree again, in both directions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokenizer_core import TokenType

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.portable_query import ColumnsOf, portable_query
from iceberg_spark.spark.sql.portable_types import Outputs
from iceberg_spark.spark.sql.references import Node, parse_query
from iceberg_spark.spec.view import TRINO_DIALECT

_TRINO_FUNCTIONS = frozenset({
    "user", "current_user", "current_role", "current_catalog", "current_schema", "current_path",
    "current_date", "current_time", "current_timestamp", "localtime", "localtimestamp",
})  # fmt: skip
"""Functions that Trino calls without brackets, which are columns to sqlglot."""
_FRACTION = re.compile(r"\d+\.\d+")
_ALIAS = "q"
FullName = Callable[[tuple[str, ...]], tuple[str, ...]]
"""Returns the full name of a table, its catalog first."""


def trino_text(
    text: str, dialect: Dialect, columns_of: ColumnsOf, full_name: FullName, columns: Sequence[str]
) -> str:
    """Return Spark's text of a view as Trino's; the result has these column names.

    `full_name` returns a table's name as Trino has it, since Trino reads nothing without a
    catalog in a view that names none.
    Raises UnsupportedError with the reason if the text can't be carried over exactly.
    """
    _check_settings(dialect)
    tree = normalize_tree(parse_query(text, dialect))
    query = portable_query(tree, columns_of)
    outputs = query.outputs
    if len(outputs) != len(columns):
        raise UnsupportedError(f"{len(outputs)} columns are counted, and Spark has {len(columns)}")
    _check_round_trip(tree, dialect)
    _check_folding(outputs, columns)
    for table in query.tables:
        full = [exp.to_identifier(part, quoted=True) for part in full_name(_parts(table))]
        for key, part in zip(("catalog", "db", "this"), full, strict=True):
            table.set(key, part)
        if not table.alias:  # columns may be qualified by the name alone
            table.set("alias", exp.TableAlias(this=full[-1].copy()))
    return _sql(_named(tree, outputs, columns), TRINO_DIALECT)


def text_from_trino(text: str, dialect: Dialect, columns_of: ColumnsOf) -> str:
    """Return Trino's text of a view as Spark's.

    Raises UnsupportedError with the reason if the text can't be carried over exactly.
    """
    _check_settings(dialect)
    tree = _trino_tree(text)
    for column in tree.find_all(exp.Column):
        if not column.this.args.get("quoted") and column.name.lower() in _TRINO_FUNCTIONS:
            raise UnsupportedError(f"it uses the function {column.name.lower()}")
    tree = normalize_tree(tree)
    portable_query(tree, columns_of)
    return _check_round_trip(tree, dialect)


def _check_settings(dialect: Dialect) -> None:
    """Refuse sessions in which Spark's SQL has another meaning."""
    if not dialect.ansi or dialect.raw_texts or dialect.case_sensitive or dialect.changed:
        raise UnsupportedError(
            "the session changes the meaning of SQL (spark.sql.ansi.enabled, caseSensitive, "
            "legacy or parser settings)"
        )


def _check_round_trip(tree: Node, dialect: Dialect) -> str:
    """Return a query's text for Spark. Raise UnsupportedError if a text has another tree."""
    spark, trino = _sql(tree, _Spark), _sql(tree, TRINO_DIALECT)
    if (
        normalize_tree(parse_query(spark, dialect)) != tree
        or normalize_tree(_trino_tree(trino)) != tree
    ):
        raise UnsupportedError("its text for the other engine would have another syntax tree")
    return spark


def _trino_tree(text: str) -> Node:
    try:
        text = _with_plain_decimals(text)
        tokens = sqlglot.tokenize(text, dialect=TRINO_DIALECT)
        for token, follower in pairwise(tokens):
            is_word = follower.token_type is TokenType.VAR and token.end + 1 == follower.start
            if is_word and token.token_type is TokenType.NUMBER:  # 1_000 would be `1 AS _000`
                raise UnsupportedError(f"it has the number {token.text}{follower.text}")
        tree = sqlglot.parse_one(text, dialect=TRINO_DIALECT)
    except (SqlglotError, AttributeError, TypeError, RecursionError) as cause:
        raise UnsupportedError("its text can't be parsed") from cause
    for select in tree.find_all(exp.Select):
        _flatten_joins(select)
    return tree


def _with_plain_decimals(text: str) -> str:
    """Return Trino's text with 1.50 for DECIMAL '1.50', as it stores a 1.50.

    In the tree it would be `CAST('1.50' AS DECIMAL)`, which is 2.
    """
    pieces, position = [], 0
    for token, follower in pairwise(sqlglot.tokenize(text, dialect=TRINO_DIALECT)):
        is_string = follower.token_type is TokenType.STRING
        if token.text.upper() == "DECIMAL" and is_string and _FRACTION.fullmatch(follower.text):
            pieces += [text[position : token.start], follower.text]
            position = follower.end + 1
    return "".join([*pieces, text[position:]])


def _flatten_joins(select: Node) -> None:
    """Remove the brackets that Trino puts around joins: `((a JOIN b) JOIN c)` is `a JOIN b JOIN c`.

    Brackets at the right of a JOIN stay; `portable_query` refuses them.
    """
    source = select.args.get("from_")
    while source and isinstance(source.this, exp.Subquery) and not source.this.alias:
        brackets, first = source.this, source.this.this
        if not isinstance(first, exp.Table | exp.Subquery):
            return
        levels = (first, brackets, select)
        joins = [join for level in levels for join in level.args.get("joins") or ()]
        first.set("joins", None)
        source.set("this", first)
        select.set("joins", joins)


class _Spark(Spark):
    """sqlglot's Spark, whose texts keep each CTE in its own query, where its name is visible."""

    class Generator(Spark.Generator):  # type: ignore[valid-type, misc] # a variable to mypy
        """How a tree is written."""

        EXPRESSIONS_WITHOUT_NESTED_CTES: ClassVar[set[type[Node]]] = set()


def _sql(tree: Node, dialect: str | type[Spark]) -> str:
    try:
        text: str = tree.sql(dialect, comments=False, unsupported_level=ErrorLevel.RAISE)
    except (SqlglotError, RecursionError) as cause:
        raise UnsupportedError("it can't be written in the other dialect") from cause
    return text


def normalize_tree(tree: Node) -> Node:
    """Return a tree in which names are quoted, and a cast of a literal to DATE is a DATE literal.

    Neither changes a meaning: both engines ignore the case of quoted columns too, and
    `portable_query` refuses literals that are no day, with which the two casts differ.
    """
    tree = tree.copy()
    for node in list(tree.walk()):
        node.comments = None
        if isinstance(node, exp.Identifier):
            node.set("quoted", True)
        elif type(node) is exp.TryCast and _is_date(node):
            node.replace(exp.Cast(this=node.this.copy(), to=node.to.copy()))
    return tree


def _is_date(node: Node) -> bool:
    return bool(node.this.is_string) and node.to.this == exp.DataType.Type.DATE


def _check_folding(outputs: Outputs, columns: Sequence[str]) -> None:
    """Refuse names whose lower case depends on the language."""
    for name in (*columns, *(output.name for output in outputs)):
        if not name.isascii() and name != name.lower():
            raise UnsupportedError(f"column {name} has upper case letters outside ASCII")


def _parts(table: Node) -> tuple[str, ...]:
    return tuple(part.name for part in table.parts)


def _named(tree: Node, outputs: Outputs, columns: Sequence[str]) -> Node:
    """Return a query whose result has these names: Trino refuses a view with others."""
    if [x.name.lower() for x in outputs] == [name.lower() for name in columns]:
        return tree
    names = [exp.to_identifier(name, quoted=True) for name in columns]
    alias = exp.TableAlias(this=exp.to_identifier(_ALIAS, quoted=True), columns=names)
    return exp.select("*").from_(exp.Subquery(this=tree, alias=alias), dialect="spark")


def check_names(parts: Sequence[str]) -> None:
    """Raise UnsupportedError for names of tables and namespaces that Trino reads otherwise."""
    for part in parts:
        if part != part.lower():
            raise UnsupportedError(f"Trino reads the name {part} in lower case")
        if "." in part:
            raise UnsupportedError(f"the name {part} has a dot")
