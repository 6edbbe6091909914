"""Assignments (SET column = expression) to the columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyspark.sql import Column
from pyspark.sql import functions as sf

from iceberg_spark.errors import (
    InvalidExpressionError,
    InvalidInputError,
    InvalidSchemaError,
    InvalidTypeError,
    NoSuchColumnError,
)
from iceberg_spark.lazy import LazyModule
from iceberg_spark.spark.row_level.target_rows import column
from iceberg_spark.spark.session.error_conditions import (
    FIELD_NOT_FOUND,
    INVALID_ASSIGNMENTS,
    INVALID_EXTRACT,
    with_condition,
)
from iceberg_spark.spark.session.expressions import expression
from iceberg_spark.spec.nearest import did_you_mean, name_list
from iceberg_spark.spec.quoted_name import quoted_parts
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import NestedField, StructType

Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NestedValues:
    """New values of fields within a struct of a type, by their path."""

    kind: StructType
    by_path: Mapping[Path, str]

    def rewritten(self, rewrite: Callable[[str], str]) -> NestedValues:
        """Return the same fields with other texts."""
        return NestedValues(self.kind, {path: rewrite(text) for path, text in self.by_path.items()})

    def of(self, old: Column) -> Column:
        """Return the struct with the new values and its other fields unchanged.

        A NULL struct becomes a struct with NULL in the other fields (Java: AssignmentUtils).
        """
        return self._struct(self.kind, old, ())

    def _struct(self, kind: StructType, old: Column, above: Path) -> Column:
        fields = [
            self._field(field, old.getField(field.name), (*above, field.name)).alias(field.name)
            for field in kind.fields
        ]
        return sf.struct(*fields)

    def _field(self, field: NestedField, old: Column, path: Path) -> Column:
        text = self.by_path.get(path)
        if text is not None:
            return expression(text)
        kind = field.field_type
        if not isinstance(kind, StructType) or not any(
            _starts(assigned_path, path) for assigned_path in self.by_path
        ):
            return old
        return self._struct(kind, old, path)


def _starts(path: Path, start: Path) -> bool:
    return path[: len(start)] == start


@dataclass(frozen=True, slots=True)
class Assignments:
    """New values by top-level column: an expression, or fields within a struct by their path."""

    by_column: Mapping[str, str]
    nested: Mapping[str, NestedValues]

    @property
    def texts(self) -> tuple[str, ...]:
        """All expressions."""
        inner = (
            text
            for nested_values in self.nested.values()
            for text in nested_values.by_path.values()
        )
        return (*self.by_column.values(), *inner)

    def rewritten(self, rewrite: Callable[[str], str]) -> Assignments:
        """Return the same assignments with other texts."""
        return Assignments(
            {name: rewrite(text) for name, text in self.by_column.items()},
            {name: nested_values.rewritten(rewrite) for name, nested_values in self.nested.items()},
        )

    @property
    def columns(self) -> frozenset[str]:
        """The top-level columns that get a value."""
        return frozenset(self.by_column) | frozenset(self.nested)

    def value(self, name: str, alias: str | None = None) -> Column:
        """Return the new value of a top-level column, or its old value if nothing is assigned."""
        if name in self.by_column:
            return expression(self.by_column[name])
        old = column(name, alias)
        return self.nested[name].of(old) if name in self.nested else old


def assignments(
    schema: Schema, values: Mapping[str, str], what: str, *, case_sensitive: bool = True
) -> Assignments:
    """Match assignments to the table's columns.

    Raises InvalidSchemaError for an unknown column and one with two values, InvalidTypeError for a
    value that is not SQL text, InvalidExpressionError for a value with a star.
    """
    if not values:
        raise InvalidInputError(f"{what} needs columns to set, like {{'v': 'v + 1'}}")
    by_column: dict[str, str] = {}
    nested: dict[str, dict[Path, str]] = {}
    for name, text in values.items():
        if not isinstance(text, str):
            raise InvalidTypeError(f"{what} of '{name}' must be SQL text, like '5'; got {text!r}")
        refuse_stars(f"{what} of '{name}'", text)
        first, *rest = _path(schema, name, what, case_sensitive)
        inner = tuple(rest)
        others = nested.get(first, {})
        if first in by_column or any(
            _starts(assigned_path, inner) or _starts(inner, assigned_path)
            for assigned_path in others
        ):
            twice = InvalidSchemaError(f"{what}: column '{name}' gets a value twice")
            raise with_condition(twice, INVALID_ASSIGNMENTS)
        if rest:
            nested.setdefault(first, {})[inner] = text
        else:
            by_column[first] = text
    kinds = {field.name: field.field_type for field in schema.fields}
    structs = {name: kind for name, kind in kinds.items() if isinstance(kind, StructType)}
    return Assignments(
        by_column, {name: NestedValues(structs[name], fields) for name, fields in nested.items()}
    )


def _path(schema: Schema, name: str, what: str, case_sensitive: bool) -> list[str]:
    """Return the table's spelling of a column's path."""
    fields: tuple[NestedField, ...] = schema.fields
    if any(_same(field.name, name, case_sensitive) for field in fields):
        return [_field_named(fields, name, name, what, case_sensitive).name]
    names: list[str] = []
    for part in quoted_parts(name) or name.split("."):
        try:
            field = _field_named(fields, part, name, what, case_sensitive)
        except NoSuchColumnError as error:
            if not names:
                raise
            raise with_condition(error, FIELD_NOT_FOUND if fields else INVALID_EXTRACT) from None
        names.append(field.name)
        kind = field.field_type
        fields = kind.fields if isinstance(kind, StructType) else ()
    return names


def _field_named(
    fields: tuple[NestedField, ...], part: str, name: str, what: str, case_sensitive: bool
) -> NestedField:
    matches = [field for field in fields if _same(field.name, part, case_sensitive)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise InvalidSchemaError(f"{what}: column '{name}' is ambiguous, the case differs only")
    names = [field.name for field in fields]
    raise NoSuchColumnError(
        f"{what}: no column '{name}' in the table; there are: {name_list(names)}"
        f"{did_you_mean(part, names)}"
    )


def _same(first: str, second: str, case_sensitive: bool) -> bool:
    return first == second if case_sensitive else first.lower() == second.lower()


_grammar = LazyModule("iceberg_spark.expr.grammar")
_errors = LazyModule("sqlglot.errors")


def refuse_stars(what: str, text: str) -> None:
    """Refuse a value with `*` or `s.*` outside of a subquery, as Spark does in SET and VALUES.

    A text that is not SQL is left to Spark, which reports its error. Raises InvalidExpressionError.
    """
    if "*" not in text:
        return
    try:
        tokens = _grammar.Spark4().tokenize(text)
    except _errors.SqlglotError:
        return
    inside: list[bool] = []
    for index, part in enumerate(tokens):
        match part.token_type.name:
            case "L_PAREN":
                inside.append(False)
            case "R_PAREN" if inside:
                inside.pop()
            case "SELECT" if inside and tokens[index - 1].token_type.name != "DOT":
                inside[-1] = True
            case "STAR" if not any(inside) and _begins_a_value(tokens[:index]):
                raise InvalidExpressionError(
                    f"{what}: '*' is no value in {text!r}; name the columns, as in "
                    "named_struct('a', s.a, 'b', s.b)"
                )


def _begins_a_value(before: Sequence[Any]) -> bool:
    """Return whether a star is not a multiplication."""
    return not before or before[-1].token_type.name in ("L_PAREN", "COMMA", "DOT")
