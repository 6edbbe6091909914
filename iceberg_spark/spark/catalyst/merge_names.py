"""Names of the columns of a merge in its SQL texts, however PySpark's columns name them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

from iceberg_spark.errors import InvalidSchemaError
from iceberg_spark.spec.quoted_name import quoted, quoted_parts


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
        return ".".join(map(quoted, parts[size:])) if size else column

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
