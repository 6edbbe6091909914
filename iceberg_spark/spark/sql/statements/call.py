"""CALL: a procedure and its arguments, whose values stay the user's text."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_spark.errors import InvalidInputError
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
                raise item.error("an argument with its name is needed behind others that have one")
            positional.append(item.rest())
        elif name in named:
            raise probe.fault(f"Argument '{name}' is there twice")
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
