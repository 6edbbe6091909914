"""Scripts (`BEGIN ... END`): their statements, variables, conditions and loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.statements.cursor import (
    Cursor,
    begins_script,
    place_in,
    script_tokens,
)

_UNSUPPORTED = (
    "FOR",
    "LOOP",
    "REPEAT",
    "CASE",
    "LEAVE",
    "ITERATE",
    "SIGNAL",
    "RESIGNAL",
    "DECLARE",
)
_VARIABLE_WORDS = ("VARIABLE", "VAR")
_HANDLER_WORDS = ("EXIT", "CONTINUE", "OR")
_OTHER_DECLARATIONS = ("CONDITION", "CURSOR")


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """A statement as written; an assignment of a variable begins with SET VARIABLE."""

    text: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """Variables of a block, and the statement that declares them in the session."""

    names: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """The statements from BEGIN to END, in which its variables exist."""

    body: Body


@dataclass(frozen=True, slots=True)
class Choice:
    """IF: conditions with what is run for the first true one, and the statements of ELSE."""

    branches: tuple[tuple[str, Body], ...]
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Repetition:
    """WHILE: statements to run as long as the condition is true."""

    condition: str
    body: Body


Step: TypeAlias = ScriptStatement | Declaration | Block | Choice | Repetition
Body: TypeAlias = tuple[Step, ...]


def read_script(text: str, dialect: Dialect) -> Block | None:
    """Return the script that a text is; None for another statement, or one without tokens.

    Raises InvalidInputError for labels, FOR, LOOP, REPEAT, CASE, handlers, conditions and cursors.
    """
    try:
        tokens = script_tokens(text, dialect)
    except InvalidInputError:
        return None
    if not begins_script(tokens):
        return None
    cursor = Cursor(text, tokens, dialect)
    if not cursor.takes("BEGIN"):
        raise _refused(cursor)
    block = _block(cursor)
    cursor.done()
    return block


def declared_names(body: Body) -> list[str]:
    """Return the names of all variables of a script, in lower case."""
    names: list[str] = []
    for step in body:
        match step:
            case Declaration(declared):
                names += map(str.lower, declared)
            case Block(inner) | Repetition(body=inner):
                names += declared_names(inner)
            case Choice(branches, otherwise):
                for _, inner in branches:
                    names += declared_names(inner)
                names += declared_names(otherwise)
            case ScriptStatement():
                pass
    return names


def _block(cursor: Cursor) -> Block:
    body = _body(cursor, "END")
    cursor.needs("END")
    return Block(body)


def _body(cursor: Cursor, *ends: str) -> Body:
    steps: list[Step] = []
    while not any(cursor.sees(end) for end in ends):
        if cursor.at_end:
            raise cursor.error(f"{ends[0]} is needed")
        steps.append(_step(cursor))
        if not cursor.at_end:
            cursor.needs(";")
    return tuple(steps)


def _step(cursor: Cursor) -> Step:
    if cursor.takes("BEGIN"):
        return _block(cursor)
    if cursor.takes("IF"):
        return _choice(cursor)
    if cursor.takes("WHILE"):
        condition = cursor.until(("DO",))
        cursor.needs("DO")
        body = _body(cursor, "END")
        cursor.needs("END", "WHILE")
        return Repetition(condition, body)
    declaration = _declaration(cursor)
    if declaration is not None:
        return declaration
    labeled = cursor.fresh()
    labeled.word()
    if labeled.takes(":") or any(cursor.sees(word) for word in _UNSUPPORTED):
        raise _refused(cursor)
    if cursor.takes("SET"):
        cursor.takes_one_of(*_VARIABLE_WORDS)
        return ScriptStatement(f"SET VARIABLE {cursor.until((';',))}")
    return ScriptStatement(cursor.until((";",)))


def _choice(cursor: Cursor) -> Choice:
    branches = [_branch(cursor)]
    while cursor.takes("ELSEIF"):
        branches.append(_branch(cursor))
    otherwise = _body(cursor, "END") if cursor.takes("ELSE") else ()
    cursor.needs("END", "IF")
    return Choice(tuple(branches), otherwise)


def _branch(cursor: Cursor) -> tuple[str, Body]:
    condition = cursor.until(("THEN",))
    cursor.needs("THEN")
    return condition, _body(cursor, "END", "ELSEIF", "ELSE")


def _declaration(cursor: Cursor) -> Declaration | None:
    """Read DECLARE with names of variables; None for handlers, conditions and cursors."""
    probe = cursor.fresh()
    if not probe.takes("DECLARE") or any(probe.sees(word) for word in _HANDLER_WORDS):
        return None
    probe.takes_one_of(*_VARIABLE_WORDS)
    start, names = probe.position, [probe.identifier()]
    while probe.takes(","):
        names.append(probe.identifier())
    if any(probe.sees(word) for word in _OTHER_DECLARATIONS):
        return None
    cursor.until((";",))
    return Declaration(tuple(names), f"DECLARE VARIABLE {cursor.text[start : cursor.end]}")


def _refused(cursor: Cursor) -> InvalidInputError:
    start = place_in(cursor.text, cursor.position)
    words = " ".join(cursor.until((";",)).split()[:6])
    return InvalidInputError(
        f"{start}: {words} ...: a script (BEGIN ... END) that changes Iceberg tables may have "
        "statements, DECLARE, SET, IF, WHILE and BEGIN without labels: run the others' statements "
        "one by one"
    )
