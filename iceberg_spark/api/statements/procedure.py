"""What a procedure is: its parameters in Java's order, its columns, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import SparkSession

from iceberg_spark.api.statements.target import Target, new_target
from iceberg_spark.api.table import Table
from iceberg_spark.errors import InvalidInputError

Rows: TypeAlias = list[tuple[Any, ...]]
Values: TypeAlias = Mapping[str, Any]
"""Arguments by name, as Spark worked them out; those that were not given are not there."""


@dataclass(frozen=True, slots=True)
class Called:
    """One call: the session, the catalog that was named, and the arguments."""

    spark: SparkSession
    catalog: str
    values: Values

    def place(self, name: str = "table") -> Target:
        """Return what an argument names; the catalog may be left out, as in `db.t`."""
        text = self.values[name]
        if not isinstance(text, str) or not text:
            raise InvalidInputError(f"Argument '{name}' must be the name of a table, not {text!r}")
        if "/" in text:
            return new_target(self.spark, (text,))
        parts = tuple(part.strip("`") for part in text.split("."))
        if parts[0] != self.catalog or len(parts) == 1:
            parts = (self.catalog, *parts)
        return new_target(self.spark, parts)

    def table(self) -> Table:
        """Load the table that the call is about."""
        return self.place().table()

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of some arguments that were given and are not NULL."""
        return {name: self.values[name] for name in names if self.values.get(name) is not None}

    def texts(self, name: str) -> dict[str, str]:
        """Return an argument that is a map of texts, empty where it is not given."""
        found = self.values.get(name)
        pairs = found.items() if isinstance(found, Mapping) else found or ()
        return {str(key): str(value) for key, value in pairs}


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure; the first `required` of its parameters must be given. `columns` is DDL."""

    parameters: tuple[str, ...]
    required: int
    columns: str
    run: Callable[[Called], Rows]

    def matched(
        self, name: str, positional: Sequence[str], named: Sequence[tuple[str, str]]
    ) -> dict[str, str]:
        """Return the arguments' texts by parameter.

        Raises InvalidInputError for too many, for an unknown one and for one that is missing.
        """
        if len(positional) > len(self.parameters):
            raise InvalidInputError(
                f"{name} takes {len(self.parameters)} arguments at most: {self._signature}"
            )
        found = dict(zip(self.parameters, positional, strict=False))
        for parameter, text in named:
            if parameter not in self.parameters:
                raise InvalidInputError(
                    f"{name} has no parameter '{parameter}'; it has: {self._signature}"
                )
            if parameter in found:
                raise InvalidInputError(f"{name}: '{parameter}' is given twice")
            found[parameter] = text
        missing = [each for each in self.parameters[: self.required] if each not in found]
        if missing:
            raise InvalidInputError(f"{name} needs '{missing[0]}': {self._signature}")
        return found

    @property
    def _signature(self) -> str:
        return ", ".join(self.parameters)
