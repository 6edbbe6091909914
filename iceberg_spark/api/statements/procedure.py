"""What a procedure is: its parameters in Java's order, its columns, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from iceberg_spark.api.statements.procedure_tables import named_table
from iceberg_spark.api.statements.target import Target
from iceberg_spark.api.table import Table
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.error_conditions import (
    REQUIRED_PARAMETER,
    UNKNOWN_PARAMETER,
    with_condition,
)

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
        """Return what an argument names, maybe a branch; the catalog may be left out (`db.t`)."""
        return named_table(self.spark, self.catalog, self.values[name])

    def table(self) -> Table:
        """Load the table that the call is about. Raises InvalidInputError for a branch of it."""
        return self.place().whole_table()

    def given(self, *names: str) -> dict[str, Any]:
        """Return those of some arguments that were given and are not NULL."""
        return {name: self.values[name] for name in names if self.values.get(name) is not None}

    def check_threads(self) -> None:
        """Refuse `parallelism` below one; how many threads read footers changes nothing else."""
        threads = self.values.get("parallelism")
        if threads is not None and threads < 1:
            raise InvalidInputError(f"parallelism must be at least 1, not {threads}")

    def texts(self, name: str) -> dict[str, str]:
        """Return an argument that is a map of texts, empty where it is not given."""
        found = self.values.get(name)
        pairs = found.items() if isinstance(found, Mapping) else found or ()
        return {str(key): str(value) for key, value in pairs}


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure; the first `required` of its parameters must be given. `columns` is DDL."""

    parameters: Mapping[str, DataType]
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
                unknown = InvalidInputError(
                    f"{name} has no parameter '{parameter}'; it has: {self._signature}"
                )
                raise with_condition(unknown, UNKNOWN_PARAMETER)
            if parameter in found:
                raise InvalidInputError(f"{name}: '{parameter}' is given twice")
            found[parameter] = text
        missing = [each for each in self._needed if each not in found]
        if missing:
            error = InvalidInputError(f"{name} needs '{missing[0]}': {self._signature}")
            raise with_condition(error, REQUIRED_PARAMETER)
        return found

    def check(self, name: str, values: Values) -> None:
        """Refuse NULL for what must be given. Raises InvalidInputError."""
        for each in self._needed:
            if values[each] is None:
                raise InvalidInputError(f"{name} needs '{each}', which is NULL")

    @property
    def _needed(self) -> tuple[str, ...]:
        return tuple(self.parameters)[: self.required]

    @property
    def _signature(self) -> str:
        return ", ".join(self.parameters)
