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
"""The arguments of a call by parameter, as Spark evaluated them."""


@dataclass(frozen=True, slots=True)
class Called:
    """One call: the session, the catalog that was named, and the arguments."""

    spark: SparkSession
    catalog: str
    values: Values

    def target(self, name: str = "table") -> Target:
        """Return the table, or its branch, that an argument names; it may leave the catalog out."""
        return named_table(self.spark, self.catalog, self.values[name])

    def table(self) -> Table:
        """Load the table that the call is about. Raises InvalidInputError for a branch of it."""
        return self.target().whole_table()

    def arguments(self, *names: str) -> dict[str, Any]:
        """Return those of the named arguments that the call has and that are not NULL."""
        return {name: self.values[name] for name in names if self.values.get(name) is not None}

    def check_threads(self) -> None:
        """Refuse `parallelism` below one; how many threads read footers changes nothing else."""
        threads = self.values.get("parallelism")
        if threads is not None and threads < 1:
            raise InvalidInputError(f"parallelism must be at least 1, not {threads}")

    def texts(self, name: str) -> dict[str, str]:
        """Return an argument that is a map of texts, empty if the call does not have it."""
        argument = self.values.get(name)
        pairs = argument.items() if isinstance(argument, Mapping) else argument or ()
        return {str(key): str(value) for key, value in pairs}


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure; the first `required` of its parameters are required. `columns` is DDL."""

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
        texts = dict(zip(self.parameters, positional, strict=False))
        for parameter, text in named:
            if parameter not in self.parameters:
                unknown = InvalidInputError(
                    f"{name} has no parameter '{parameter}'; it has: {self._signature}"
                )
                raise with_condition(unknown, UNKNOWN_PARAMETER)
            if parameter in texts:
                raise InvalidInputError(f"{name}: '{parameter}' is given twice")
            texts[parameter] = text
        missing = [parameter for parameter in self._needed if parameter not in texts]
        if missing:
            error = InvalidInputError(f"{name} needs '{missing[0]}': {self._signature}")
            raise with_condition(error, REQUIRED_PARAMETER)
        return texts

    def check(self, name: str, values: Values) -> None:
        """Refuse NULL for required parameters. Raises InvalidInputError."""
        for parameter in self._needed:
            if values[parameter] is None:
                raise InvalidInputError(f"{name} needs '{parameter}', which is NULL")

    @property
    def _needed(self) -> tuple[str, ...]:
        return tuple(self.parameters)[: self.required]

    @property
    def _signature(self) -> str:
        return ", ".join(self.parameters)
