"""The statements that Spark runs itself in an enabled classic session with Iceberg catalogs."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import SparkSession
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.catalog.registry import LOCAL_CATALOG
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.adapt.builder_state import FORMAT_NAME
from iceberg_spark.spark.catalyst.spark_catalog import (
    has_class,
    register_catalog,
    registered_catalogs,
)
from iceberg_spark.spark.session.session_catalogs import (
    described_names,
    is_ours,
    spark_catalog_class,
)
from iceberg_spark.spark.session.session_dialect import session_dialect
from iceberg_spark.spark.sql.catalog_provider import SessionCatalog
from iceberg_spark.spark.sql.current_namespace import current_namespace
from iceberg_spark.spark.sql.statements.cursor import script_tokens
from iceberg_spark.spark.sql.statements.read import EXPLAIN_MODES, QUERY_WORDS

_SPARKS_OWN = "spark_catalog"
_CHANGES = frozenset({"INSERT", "MERGE", "UPDATE", "DELETE"})
_FUNCTIONS = "SYSTEM"


def register_catalogs(spark: SparkSession, text: str = "") -> bool:
    """Register new catalogs in Spark; return whether Spark resolves the tables of all catalogs.

    The catalog `local`, which needs no settings, is registered if a statement mentions it. Returns
    False unless the session is enabled and classic. Also returns False for a statement about a
    catalog of Java's runtime if the JVM has that: its data source needs the catalog's own class.
    """
    registered = registered_catalogs(spark)
    if registered is None:
        return False
    names = described_names(spark) | ({LOCAL_CATALOG} if LOCAL_CATALOG in text else set())
    for name in names - registered - {_SPARKS_OWN}:
        if not is_ours(spark, name):
            continue
        kind = spark_catalog_class(spark, name)
        if kind is not None and has_class(spark, kind):
            if name in text or (current_namespace(spark) or ("",))[0] == name:
                return False
        elif not register_catalog(spark, name, SessionCatalog(spark, name)):
            return False
    return True


def is_sparks_statement(spark: SparkSession, text: str) -> bool:
    """Return whether Spark's own parser and analyzer run a statement about Iceberg tables.

    These are queries, scripts, and statements about temporary views, caches and functions. They
    are not if they use what Spark's grammar or a classic session lacks: functions of a catalog
    (`cat.system.bucket(...)`), locations in place of names, read options (`FROM t WITH (...)`).
    """
    try:
        tokens = script_tokens(text, session_dialect(spark))
    except InvalidInputError:
        return True  # Spark's parser says where the error is
    if not _is_run_by_spark(_outer_words(tokens)):
        return False
    return not any(_is_beyond_spark(tokens, index) for index in range(len(tokens)))


def _is_run_by_spark(words: Sequence[str]) -> bool:
    """Return whether a statement is of a kind that Spark runs, by its words outside brackets."""
    match words:
        case ["EXPLAIN", *rest]:
            query = rest[1:] if rest and rest[0] in EXPLAIN_MODES else rest
            return _is_query(query)
        case ["DESCRIBE" | "DESC", "QUERY", *query]:
            return _is_query(query)
        case ["DESCRIBE" | "DESC", "SELECT" | "WITH" | "VALUES", *_]:
            return _is_query(words[1:])
        case ["CACHE" | "UNCACHE", *_] | ["CLEAR", "CACHE"]:
            return True
        case ["BEGIN", *script]:
            return not _CHANGES.intersection(script)
        case ["CREATE", *rest]:
            return _is_temporary([word for word in rest if word not in ("OR", "REPLACE", "GLOBAL")])
        case ["DROP", "TEMPORARY", *_]:
            return True
        case _:
            return _is_query(words)


def _outer_words(tokens: Sequence[Token]) -> list[str]:
    """Return the words outside brackets in upper case, with a "(" for each pair of brackets."""
    words, depth = [], 0
    for token in tokens:
        depth -= token.token_type is TokenType.R_PAREN
        if depth == 0 and token.token_type not in (TokenType.R_PAREN, TokenType.IDENTIFIER):
            words.append(token.text.upper())
        depth += token.token_type is TokenType.L_PAREN
    return words


def _is_query(words: Sequence[str]) -> bool:
    return bool(words) and words[0] in ("WITH", *QUERY_WORDS) and not _CHANGES.intersection(words)


def _is_temporary(words: Sequence[str]) -> bool:
    return bool(words) and words[0] in ("TEMPORARY", "TEMP")


def _is_beyond_spark(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    is_quoted = token.token_type is TokenType.IDENTIFIER
    if is_quoted and ("/" in token.text or token.text.lower() == FORMAT_NAME):
        return True
    word = token.text.upper()
    following = tokens[index + 1].token_type if index + 1 < len(tokens) else None
    if word == "WITH":
        return following is TokenType.L_PAREN
    return following is TokenType.DOT and word in (_FUNCTIONS, _SPARKS_OWN.upper())
