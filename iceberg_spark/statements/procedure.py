"""What a procedure is: its parameters in Java's order, its columns, and what it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql.types import DataType

from iceberg_spark.api.table import Table
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.error_conditions import (
    ARGUMENT_COUNT,
    POSITIONAL_AND_NAMED,
    REQUIRED_PARAMETER,
    UNKNOWN_PARAMETER,
    with_condition,
)
from iceberg_spark.spark.session.session_catalogs import has_spark_catalog, is_ours
from iceberg_spark.spark.sql.current_namespace import current_namespace
from iceberg_spark.spark.sql.statements.cursor import Cursor, tokens_of
from iceberg_spark.statements.target import Name, Target, is_location, target

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
            too_many = InvalidInputError(
                f"{name} takes {len(self.parameters)} arguments at most: {self._signature}"
            )
            raise with_condition(too_many, ARGUMENT_COUNT)
        texts = dict(zip(self.parameters, positional, strict=False))
        for parameter, text in named:
            if parameter not in self.parameters:
                unknown = InvalidInputError(
                    f"{name} has no parameter '{parameter}'; it has: {self._signature}"
                )
                raise with_condition(unknown, UNKNOWN_PARAMETER)
            if parameter in texts:
                twice = InvalidInputError(f"{name}: '{parameter}' is given twice")
                raise with_condition(twice, POSITIONAL_AND_NAMED)
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


_SPARKS = "spark_catalog"


def named_table(spark: SparkSession, catalog: str, text: str) -> Target:
    """Return the table or branch that a text names in the catalog of a procedure.

    A name without a namespace is in the namespace that USE chose, if that is in this catalog.
    Raises InvalidInputError for a table of another catalog.
    """
    if not text:
        raise InvalidInputError("A procedure's table has an empty name")
    name = (text,) if "/" in text and "`" not in text else _parts(text)
    return target(spark, name if is_location(name) else _whole_name(spark, catalog, name))


def _parts(text: str) -> Name:
    if "`" not in text:
        return tuple(part.strip() for part in text.split("."))
    cursor = Cursor(text, tokens_of(text))
    name = cursor.name()
    cursor.done()
    return name


def _whole_name(spark: SparkSession, catalog: str, name: Name) -> Name:
    current = current_namespace(spark)
    if len(name) == 1:
        return (*current, *name) if current and current[0] == catalog else (catalog, *name)
    if name[0] == catalog:
        return name
    if len(name) > 2 and _is_catalog(spark, name[0]):
        raise InvalidInputError(
            f"{'.'.join(name)} is in catalog '{name[0]}', the procedure that is called in "
            f"'{catalog}': use CALL {name[0]}.system. ..."
        )
    return (catalog, *name)


def _is_catalog(spark: SparkSession, name: str) -> bool:
    return name == _SPARKS or is_ours(spark, name) or has_spark_catalog(spark, name)
