"""A predicate tree as SQL text, for people (plans, messages)."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any, assert_never

from iceberg_spark.expr.literals import DateLiteral, TimeLiteral, TimestampLiteral
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
    StartsWith,
    Term,
    Unbound,
)
from iceberg_spark.spec.calendar_text import date_text, time_text, timestamp_text
from iceberg_spark.spec.types import (
    DateType,
    TimestampNanoType,
    TimestampType,
    TimestamptzNanoType,
    TimestamptzType,
    TimeType,
)

SHOWN_VALUES = 10  # of an IN; the rest is counted


def to_text(node: Unbound | Bound) -> str:
    """Return SQL text of a bound or unbound tree; long IN lists are cut."""
    match node:
        case Constant(value=value):
            return "true" if value else "false"
        case And(children=children):
            return " AND ".join(_nested(child) for child in children)
        case Or(children=children):
            return " OR ".join(_nested(child) for child in children)
        case Not(child=child):
            return f"NOT ({to_text(child)})"
        case _:
            return _leaf(node)


def _leaf(leaf: Leaf) -> str:
    match leaf:
        case IsNull(term=term, negated=negated):
            return f"{term.name} IS {'NOT ' if negated else ''}NULL"
        case IsNaN(term=term, negated=negated):
            test = f"isnan({term.name})"
            return f"{term.name} IS NOT NULL AND NOT {test}" if negated else test
        case Comparison(op=op, term=term, value=value):
            return f"{term.name} {op} {_literal(term, value)}"
        case In(values=(), negated=negated):
            return "true" if negated else "false"
        case In(term=term, values=values, negated=negated):
            shown = [_literal(term, value) for value in values[:SHOWN_VALUES]]
            if len(values) > SHOWN_VALUES:
                shown.append(f"... {len(values) - SHOWN_VALUES} more")
            return f"{term.name} {'NOT ' if negated else ''}IN ({', '.join(shown)})"
        case StartsWith(term=term, prefix=prefix, negated=negated):
            return f"{term.name} {'NOT ' if negated else ''}LIKE {_quoted(_escaped(prefix) + '%')}"
        case _:
            assert_never(leaf)


def _nested(node: Unbound | Bound) -> str:
    several = isinstance(node, And | Or) or (isinstance(node, IsNaN) and node.negated)
    return f"({to_text(node)})" if several else to_text(node)


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _escaped(prefix: str) -> str:
    return prefix.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def _literal(term: Term, value: Any) -> str:
    if isinstance(term, BoundReference) and isinstance(value, int) and not isinstance(value, bool):
        return _canonical(term, value)
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case str() | uuid.UUID():
            return _quoted(str(value))
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
            return f"TIMESTAMP '{_stamp(nanos, 9)}{'' if zone is None else ' ' + zone}'"
        case dt.datetime():
            return f"TIMESTAMP '{value.isoformat(' ')}'"
        case dt.date():
            return f"DATE '{value.isoformat()}'"
        case _:
            return str(value)


def _canonical(term: BoundReference, value: int) -> str:
    """Return a bound whole number as the date, time or timestamp that it stands for."""
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
