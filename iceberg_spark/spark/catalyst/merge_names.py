"""What the columns of a merge are called in its SQL texts, however PySpark's columns name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.quoted_name import quoted, quoted_parts


@dataclass(frozen=True, slots=True, eq=False)
class MergeNames:
    """The names that the columns of a merge's two sides stand behind.

    Columns of the frame `source` itself stand behind `alias` in texts, whatever the frame is called
    (`own`). `target` is the table's whole name: its `columns`, folded, may stand behind the end of
    it, and in texts stand behind the last part. `fold` makes names one that the session takes for
    one.
    """

    source: DataFrame
    alias: str
    own: str | None
    target: tuple[str, ...]
    columns: frozenset[str]
    fold: Callable[[str], str]

    def of_source(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return the name of one of the source frame's own columns behind the alias."""
        if len(parts) > 1 and self.own is not None and self.fold(parts[0]) == self.fold(self.own):
            return (self.alias, *parts[1:])
        return (self.alias, *parts)

    def of_target(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return a column's name; one behind two parts or more of the table's name is shorter."""
        size = self._size(parts, least=2)
        return (self.target[-1], *parts[size:]) if size else tuple(parts)

    def assigned(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return what a clause sets, each column without the table's name before it.

        Raises InvalidSchemaError for a column that is there twice.
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
        return ".".join(map(quoted, parts[size:])) if size else column

    def _size(self, parts: Sequence[str], *, least: int) -> int:
        """Return how many parts are the end of the table's name, 0 where none of its columns is.

        A column of the table comes before a field of a struct that is called like the table, as in
        Spark.
        """
        folded = [self.fold(part) for part in parts]
        table = [self.fold(part) for part in self.target]
        for size in range(min(len(table), len(parts) - 1), least - 1, -1):
            if folded[:size] == table[-size:] and folded[size] in self.columns:
                return size
        return 0
