"""Whether a statement may refer to Iceberg tables; all others go to Spark unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from pyspark.sql import SparkSession
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.catalog.registry import LOCAL_CATALOG
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME
from iceberg_spark.spark.session.session_catalogs import (
    described_names,
    is_ours,
    load_session_catalog,
)
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.current_namespace import current_namespace
from iceberg_spark.spark.sql.statements.cursor import script_tokens

_BEFORE_CATALOGS = (
    "IN", "FROM", "USE", "CATALOG", "NAMESPACE", "DATABASE", "SCHEMA", "EXISTS", "EXTENDED",
)  # fmt: skip


def references_iceberg(spark: SparkSession, text: str) -> bool:
    """Return whether a text has a name in an Iceberg catalog, or a location in backticks.

    It takes one or two round trips if a name has dots, and for each catalog. After USE every name
    may be in the Iceberg catalog. A script of several statements counts too: it is refused later,
    since Spark would not find the tables.
    """
    if current_namespace(spark) is not None:
        return True
    names = catalogs_in(text, session_dialect(spark))
    if not names:
        return names is None
    described = {LOCAL_CATALOG, *map(str.lower, described_names(spark))}
    return any(name.lower() in described and is_ours(spark, name) for name in names)


def names_no_table(spark: SparkSession, text: str) -> bool:
    """Return whether no word of a text can name an Iceberg table or view.

    Words after AS are aliases. Lists the tables and views of the current namespace.
    """
    dialect, current = session_dialect(spark), current_namespace(spark)
    names = catalogs_in(text, dialect)
    if names is None or current is None:
        return False
    words = {
        token.text.lower()
        for before, token in pairwise(script_tokens(text, dialect))
        if before.text.upper() != "AS"
    }
    if "identifier" in words:  # IDENTIFIER(...) may compute the name of a table
        return False
    catalog, *namespace = current
    loaded = load_session_catalog(spark, catalog)
    parents = {catalog, LOCAL_CATALOG, *described_names(spark)}
    tables: set[str] = set()
    if loaded.namespaces is not None:
        parents.update(name[0] for name in loaded.namespaces.list_namespaces(()))
        tables.update(name[-1] for name in loaded.namespaces.list_tables(tuple(namespace)))
    if loaded.views is not None:
        tables.update(name[-1] for name in loaded.views.list_views(tuple(namespace)))
    return words.isdisjoint(map(str.lower, tables)) and not (
        {*map(str.lower, names)} & {*map(str.lower, parents)}
    )


def catalogs_in(text: str, dialect: Dialect) -> list[str] | None:
    """Return the possible catalog names of a text; None if it has a location in backticks.

    A text that cannot be read has none: Spark raises the error.
    """
    try:
        tokens = script_tokens(text, dialect)
    except InvalidInputError:
        return []
    if any(_is_place(token) for token in tokens):
        return None
    return list(dict.fromkeys(_names(text, tokens)))


def _is_place(token: Token) -> bool:
    quoted = token.token_type is TokenType.IDENTIFIER
    return quoted and ("/" in token.text or token.text.lower() == FORMAT_NAME)


def _names(text: str, tokens: list[Token]) -> Iterator[str]:
    """Yield the first parts of names with dots, and words at positions where a catalog may be."""
    for index, token in enumerate(tokens):
        is_inner = index > 0 and _is_dot(tokens, index - 1)
        has_dots = _is_dot(tokens, index + 1)
        before = tokens[index - 1].text.upper() if index > 0 else ""
        if token.token_type is TokenType.STRING:
            if before == "CATALOG":  # SET CATALOG 'prod'
                yield token.text
        elif not is_inner and (has_dots or before in _BEFORE_CATALOGS):
            is_quoted = token.token_type is TokenType.IDENTIFIER
            yield token.text if is_quoted else text[token.start : token.end + 1]


def _is_dot(tokens: list[Token], index: int) -> bool:
    return index < len(tokens) and tokens[index].token_type is TokenType.DOT
