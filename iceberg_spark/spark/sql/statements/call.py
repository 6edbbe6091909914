"""CALL: a procedure and its arguments, whose values stay the user's text."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.spark.session.error_conditions import (
    NAMED_TWICE,
    POSITIONAL_ARGUMENT,
    with_condition,
)
from iceberg_spark.spark.sql.statements.cursor import Cursor


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a procedure: positional arguments, then named ones (lower case)."""

    procedure: tuple[str, ...]
    positional: tuple[str, ...]
    named: tuple[tuple[str, str], ...]


def read_call(cursor: Cursor) -> Call:
    """Read a statement that begins with CALL. Raises InvalidInputError."""
    cursor.needs("CALL")
    procedure = cursor.name()
    positional: list[str] = []
    named: dict[str, str] = {}
    for item in cursor.brackets().items():
        probe = item.fresh()
        name = _argument_name(probe)
        if name is None:
            if named:
                late = item.error("an argument with its name is needed behind others that have one")
                raise with_condition(late, POSITIONAL_ARGUMENT)
            positional.append(item.rest())
        elif name in named:
            raise with_condition(probe.fault(f"Argument '{name}' is there twice"), NAMED_TWICE)
        else:
            named[name] = probe.rest()
    cursor.done()
    return Call(procedure, tuple(positional), tuple(named.items()))


def _argument_name(cursor: Cursor) -> str | None:
    """Read `name =>`; None if the argument has no name."""
    try:
        name = cursor.identifier()
    except InvalidInputError:
        return None
    arrow = cursor.takes("=>") or cursor.takes("=", ">")
    return name.lower() if arrow else None
