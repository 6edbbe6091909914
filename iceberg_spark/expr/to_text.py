"""A predicate tree as SQL text, for people (plans, messages) and to be parsed again."""

from __future__ import annotations

import datetime as dt
import math
import re
import uuid
from dataclasses import replace
from decimal import Decimal
from typing import Any, assert_never

from iceberg_spark.expr.literals import (
    DateLiteral,
    LooseText,
    TimeLiteral,
    TimestampLiteral,
    TypedNumber,
)
from iceberg_spark.expr.nodes import (
    And,
    Bound,
    BoundReference,
    Comparison,
    Constant,
    In,
    IsNaN,
    IsNull,
    Leaf,
    Not,
    Or,
    Reference,
    StartsWith,
    Term,
    Unbound,
)
from iceberg_spark.spec.calendar_text import date_text, time_text, timestamp_text
from iceberg_spark.spec.quoted_name import quoted_parts
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import (
    DateType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
)

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
SHOWN_VALUES = 10  # of an IN; the rest is counted


def to_text(node: Unbound | Bound, shown_values: int | None = SHOWN_VALUES) -> str:
    """Return SQL text of a bound or unbound tree.

    Long IN lists are cut after `shown_values`. With None nothing is cut, and the text of an
    unbound tree parses to one with the same meaning, here and by Spark under any settings.
    """
    match node:
        case Constant(value=value):
            return "true" if value else "false"
        case And(children=children):
            return " AND ".join(_nested(child, shown_values) for child in children)
        case Or(children=children):
            return " OR ".join(_nested(child, shown_values) for child in children)
        case Not(child=child):
            return f"NOT ({to_text(child, shown_values)})"
        case _:
            return _leaf(node, shown_values)


def _leaf(leaf: Leaf, shown_values: int | None) -> str:
    name, exact = _name(leaf.term.name), shown_values is None
    match leaf:
        case IsNull(negated=negated):
            return f"{name} IS {'NOT ' if negated else ''}NULL"
        case IsNaN(negated=negated):
            test = f"isnan({name})"
            return f"{name} IS NOT NULL AND NOT {test}" if negated else test
        case Comparison(op=op, term=term, value=value):
            return f"{name} {op} {_literal(term, value, exact)}"
        case In(values=(), negated=negated):
            return "true" if negated else "false"
        case In(term=term, values=values, negated=negated):
            shown = [_literal(term, value, exact) for value in values[:shown_values]]
            if len(values) > len(shown):
                shown.append(f"... {len(values) - len(shown)} more")
            return f"{name} {'NOT ' if negated else ''}IN ({', '.join(shown)})"
        case StartsWith(prefix=prefix, negated=negated):
            return (
                f"{name} {'NOT ' if negated else ''}LIKE {_quoted(_escaped(prefix) + '%', exact)}"
            )
        case _:
            assert_never(leaf)


def _name(name: str) -> str:
    """Return a column's full name as SQL takes it: in backticks where it is no plain word."""
    return ".".join(
        part if _PLAIN.fullmatch(part) else "`" + part.replace("`", "``") + "`"
        for part in quoted_parts(name) or name.split(".")
    )


def _nested(node: Unbound | Bound, shown_values: int | None) -> str:
    several = isinstance(node, And | Or) or (isinstance(node, IsNaN) and node.negated)
    text = to_text(node, shown_values)
    return f"({text})" if several else text


def _quoted(text: str, exact: bool) -> str:
    """Return a text in quotes; an exact one as no setting of a session reads it otherwise."""
    if exact and any(sign in text for sign in ("\\", "'", "${")):
        return f"CAST(X'{text.encode().hex().upper()}' AS STRING)"
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _escaped(prefix: str) -> str:
    return prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _literal(term: Term, value: Any, exact: bool) -> str:
    if isinstance(term, BoundReference) and isinstance(value, int) and not isinstance(value, bool):
        return _canonical(term, value)
    match value:
        case None:
            return "NULL"
        case float() if isinstance(term, Reference):
            return f"{value!r}D" if math.isfinite(value) else f"DOUBLE('{value}')"
        case bool():
            return "true" if value else "false"
        case str() | uuid.UUID():
            return _quoted(str(value), exact)
        case LooseText(text=text):
            return _quoted(text, exact)
        case Decimal():
            return f"{value:f}"  # with an exponent it would be a double
        case TypedNumber():
            return f"CAST({_literal(term, value.value, exact)} AS {value.kind})"
        case bytes():
            return f"X'{value.hex().upper()}'"
        case _:
            return _temporal(value)


def _temporal(value: Any) -> str:
    match value:
        case DateLiteral(days=days):
            return f"DATE '{date_text(days)}'"
        case TimeLiteral(nanos=nanos):
            return f"TIME '{time_text(nanos, 9)}'"
        case TimestampLiteral(nanos=nanos, zone=zone):
            kind = "TIMESTAMP_NTZ" if value.is_local else "TIMESTAMP"
            return f"{kind} '{_stamp(nanos, 9)}{'' if zone is None else ' ' + zone}'"
        case dt.datetime():
            kind = "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP"
            return f"{kind} '{value.isoformat(' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case dt.time():
            return f"TIME '{value.isoformat()}'"
        case _:
            return str(value)


def _canonical(term: BoundReference, value: int) -> str:
    """Return a bound integer as the date, time or timestamp that it stands for."""
    match term.field_type:
        case DateType():
            return f"DATE '{date_text(value)}'"
        case TimeType():
            return f"TIME '{time_text(value)}'"
        case TimestampType():
            return f"TIMESTAMP '{_stamp(value, 6)}'"
        case TimestamptzType():
            return f"TIMESTAMP '{_stamp(value, 6)}+00:00'"
        case TimestampNanoType():
            return f"TIMESTAMP '{_stamp(value, 9)}'"
        case TimestamptzNanoType():
            return f"TIMESTAMP '{_stamp(value, 9)}+00:00'"
        case _:
            return str(value)


def _stamp(value: int, digits: int) -> str:
    """Return a timestamp without the zeros that end its fraction."""
    return timestamp_text(value, digits).replace("T", " ").rstrip("0").rstrip(".")


def quote_references(node: Unbound, schema: Schema, *, case_sensitive: bool = True) -> Unbound:
    """Return a predicate whose columns are quoted part by part.

    Only the schema shows whether `a.b` is a column or a field of a struct. Unknown names are
    unchanged.
    """
    match node:
        case Constant():
            return node
        case And(children=children) | Or(children=children):
            below = (
                quote_references(child, schema, case_sensitive=case_sensitive) for child in children
            )
            return type(node)(tuple(below))
        case Not(child=child):
            return Not(quote_references(child, schema, case_sensitive=case_sensitive))
        case leaf:
            return replace(leaf, term=_named(leaf.term, schema, case_sensitive))


def _named(term: Any, schema: Schema, case_sensitive: bool) -> Any:
    if not isinstance(term, Reference):
        return term
    field_id = schema.find_id(term.name, case_sensitive)
    if field_id is None:
        return term
    steps = [schema.find_field(step_id).name for step_id in schema.path_ids(field_id)]
    if all(step.isidentifier() for step in steps):
        return term
    return Reference(".".join("`" + step.replace("`", "``") + "`" for step in steps))
