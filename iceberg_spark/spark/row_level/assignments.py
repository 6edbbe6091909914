"""SET col = expression: which columns of the table get which values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf

from iceberg_spark.errors import InvalidInputError, InvalidSchemaError, InvalidTypeError
from iceberg_spark.spark.row_level.target_frames import column
from iceberg_spark.spec.nearest import did_you_mean, listed
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType


@dataclass(frozen=True, slots=True)
class Assignments:
    """Values by top-level column: an expression, or fields inside of it by their path."""

    whole: Mapping[str, str]
    nested: Mapping[str, tuple[tuple[str, str], ...]]

    @property
    def texts(self) -> tuple[str, ...]:
        """All expressions."""
        inner = (text for fields in self.nested.values() for _, text in fields)
        return (*self.whole.values(), *inner)

    def rewritten(self, rewrite: Callable[[str], str]) -> Assignments:
        """Return the same assignments with other texts."""
        return Assignments(
            {name: rewrite(text) for name, text in self.whole.items()},
            {
                name: tuple((path, rewrite(text)) for path, text in fields)
                for name, fields in self.nested.items()
            },
        )

    @property
    def columns(self) -> frozenset[str]:
        """The top-level columns that get a value."""
        return frozenset(self.whole) | frozenset(self.nested)

    def value(self, name: str, alias: str | None = None) -> Column:
        """Return a top-level column's new value, its old one where nothing is assigned."""
        if name in self.whole:
            return sf.expr(self.whole[name])
        made = column(name, alias)
        for path, text in self.nested.get(name, ()):
            made = made.withField(path, sf.expr(text))
        return made


def assignments(
    schema: Schema, given: Mapping[str, str], what: str, *, case_sensitive: bool = True
) -> Assignments:
    """Check which columns get values and match them to the table's.

    Raises InvalidSchemaError for an unknown column and one that gets two values, InvalidTypeError
    for a value that isn't SQL text.
    """
    if not given:
        raise InvalidInputError(f"{what} needs columns to set, like {{'v': 'v + 1'}}")
    whole: dict[str, str] = {}
    nested: dict[str, list[tuple[str, str]]] = {}
    for name, text in given.items():
        if not isinstance(text, str):
            raise InvalidTypeError(f"{what} of '{name}' must be SQL text, like '5'; got {text!r}")
        first, *rest = _path(schema, name, what, case_sensitive)
        inner = ".".join(rest)
        others = [other for other, _ in nested.get(first, [])]
        if first in whole or inner in others or (others and not inner):
            raise InvalidSchemaError(f"{what}: column '{name}' gets a value twice")
        if rest:
            nested.setdefault(first, []).append((inner, text))
        else:
            whole[first] = text
    return Assignments(whole, {name: tuple(fields) for name, fields in nested.items()})


def _path(schema: Schema, name: str, what: str, case_sensitive: bool) -> list[str]:
    """Return the table's own spelling of a column, struct by struct."""
    fields: tuple[NestedField, ...] = schema.fields
    if any(_same(field.name, name, case_sensitive) for field in fields):
        return [_one(fields, name, name, what, case_sensitive).name]
    found: list[str] = []
    for part in name.split("."):
        field = _one(fields, part, name, what, case_sensitive)
        found.append(field.name)
        kind = field.field_type
        fields = kind.fields if isinstance(kind, StructType) else ()
    return found


def _one(
    fields: tuple[NestedField, ...], part: str, name: str, what: str, case_sensitive: bool
) -> NestedField:
    found = [field for field in fields if _same(field.name, part, case_sensitive)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InvalidSchemaError(f"{what}: column '{name}' is ambiguous, the case differs only")
    known = [field.name for field in fields]
    raise InvalidSchemaError(
        f"{what}: no column '{name}' in the table; there are: {listed(known)}"
        f"{did_you_mean(part, known)}"
    )


def _same(one: str, other: str, case_sensitive: bool) -> bool:
    return one == other if case_sensitive else one.lower() == other.lower()
