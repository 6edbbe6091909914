"""A query's text as a tree, with the tables that it names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.pushdown import QueryTree
from iceberg_spark.spark.sql.references import (
    TableReference,
    is_rewritten,
    parse_query,
    selecting,
    table_references,
)


@dataclass(frozen=True, slots=True, eq=False)
class ParsedQuery:
    """A query and its syntax tree, which nobody changes.

    In `text`, `TABLE t` is replaced by a SELECT. `references` are its tables in the order of the
    text. `is_rewritten`: Spark may read the query differently from the tree.
    """

    text: str
    dialect: Dialect
    tree: QueryTree
    references: tuple[TableReference, ...]
    is_rewritten: bool

    @classmethod
    def of(cls, text: str, dialect: Dialect) -> Self:
        """Parse a query. Raises InvalidInputError for anything else."""
        read = selecting(text, dialect)
        root = parse_query(read, dialect)
        references = tuple(table_references(root, read, dialect))
        is_other = is_rewritten(read, dialect, references)
        return cls(read, dialect, QueryTree.of(root, read), references, is_other)


# Names that PySpark's methods take as one text: "cat.db.t", with or without backticks.
#
# After USE, a name that begins with no catalog belongs to the namespace that USE chose.
