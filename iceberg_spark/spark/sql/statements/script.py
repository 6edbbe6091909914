"""Scripts (`BEGIN ... END`): their statements, variables, conditions, loops and handlers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import Dialect
from iceberg_spark.spark.sql.statements.cursor import (
    Cursor,
    begins_script,
    place_in,
    script_tokens,
)

_VARIABLE_WORDS = ("VARIABLE", "VAR")
_LABELED = ("BEGIN", "WHILE", "REPEAT", "LOOP", "FOR")


@dataclass(frozen=True, slots=True)
class ScriptStatement:
    """A statement as written; an assignment of a variable begins with SET VARIABLE."""

    text: str


@dataclass(frozen=True, slots=True)
class Declaration:
    """Variables of a block, and the text behind their names: a type, a default value or both."""

    names: tuple[str, ...]
    definition: str


@dataclass(frozen=True, slots=True)
class Handler:
    """What to run if a statement of a block fails; without `continues` the block ends then.

    `conditions` are Spark's error conditions in upper case, `states` SQLSTATEs.
    """

    conditions: frozenset[str]
    states: frozenset[str]
    catches_errors: bool
    catches_not_found: bool
    continues: bool
    body: Step


@dataclass(frozen=True, slots=True)
class Block:
    """The statements from BEGIN to END, in which its variables exist and its handlers apply."""

    body: Body
    handlers: tuple[Handler, ...] = ()
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """IF or CASE: conditions with what is run for the first true one, and statements of ELSE.

    With `value` the conditions are values that are compared with it.
    """

    branches: tuple[tuple[str, Body], ...]
    otherwise: Body
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Repetition:
    """WHILE, REPEAT or LOOP: a condition before each pass, one that ends the loop after it."""

    body: Body
    condition: str | None = None
    until: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class ForEach:
    """FOR: statements to run for each row of a query, whose columns are variables in them."""

    query: str
    body: Body
    variable: str | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Jump:
    """LEAVE or ITERATE with the label of the block or loop."""

    label: str
    leaves: bool


Step: TypeAlias = ScriptStatement | Declaration | Block | Choice | Repetition | ForEach | Jump
Body: TypeAlias = tuple[Step, ...]


def read_script(text: str, dialect: Dialect) -> Block | None:
    """Return the script that a text is; None for another statement, or one without tokens.

    Names of labels and of FOR are in lower case. Raises InvalidInputError for cursors, and for a
    text that is not a script. What Spark's parser checks, such as labels, is not checked here.
    """
    try:
        tokens = script_tokens(text, dialect)
    except InvalidInputError:
        return None
    if not begins_script(tokens):
        return None
    cursor = Cursor(text, tokens, dialect)
    cursor.needs("BEGIN")
    block = _block(cursor, None)
    cursor.done()
    return block


def with_session_names(text: str, names: Mapping[tuple[str, str], str], dialect: Dialect) -> str:
    """Return a statement with variables of the session in place of `label.variable`.

    A label that is another name in the statement, such as a table's alias, stays.

    Examples:
        >>> from iceberg_spark.expr.dialect import SPARK
        >>> names = {("r", "id"): "id"}
        >>> with_session_names("DELETE FROM t WHERE id = r.id", names, SPARK)
        'DELETE FROM t WHERE id = session.`id`'
        >>> with_session_names("SELECT r.id FROM t AS r", names, SPARK)
        'SELECT r.id FROM t AS r'
    """
    if not any(label in text.lower() for label, _ in names):
        return text
    tokens = script_tokens(text, dialect)
    aliases = {
        token.text.lower()
        for index, token in enumerate(tokens)
        if not _is_dot(tokens, index + 1)
        and not _is_dot(tokens, index - 1)
        and token.token_type is not TokenType.STRING
    }
    parts, end = [], 0
    for index in range(len(tokens) - 2):
        label, variable = tokens[index], tokens[index + 2]
        session_name = names.get((label.text.lower(), variable.text.lower()))
        is_first = not _is_dot(tokens, index - 1) or tokens[index - 2].text.lower() == "system"
        is_pair = _is_dot(tokens, index + 1) and is_first
        if session_name is not None and is_pair and label.text.lower() not in aliases:
            parts += [text[end : label.start], f"session.`{session_name}`"]
            end = variable.end + 1
    return "".join([*parts, text[end:]])


def _is_dot(tokens: list[Token], index: int) -> bool:
    return 0 <= index < len(tokens) and tokens[index].token_type is TokenType.DOT


def _block(cursor: Cursor, label: str | None) -> Block:
    handlers: list[Handler] = []
    body = _body(cursor, "END", handlers=handlers)
    cursor.needs("END")
    _end_label(cursor, label)
    return Block(body, tuple(handlers), label)


def _body(cursor: Cursor, *ends: str, handlers: list[Handler] | None = None) -> Body:
    steps: list[Step] = []
    while not any(cursor.sees(end) for end in ends):
        if cursor.at_end:
            raise cursor.error(f"{ends[0]} is needed")
        handler = _handler(cursor)
        if handler is not None and handlers is not None:
            handlers.append(handler)
        elif handler is None and not _is_condition(cursor):
            steps.append(_step(cursor))
        if not cursor.at_end:
            cursor.needs(";")
    return tuple(steps)


def _step(cursor: Cursor) -> Step:
    label = _label(cursor)
    if cursor.takes("BEGIN"):
        return _block(cursor, label)
    if cursor.takes("IF"):
        return _if(cursor)
    if cursor.takes("CASE"):
        return _case(cursor)
    if cursor.takes("FOR"):
        return _for(cursor, label)
    loop = cursor.takes_one_of("WHILE", "REPEAT", "LOOP")
    if loop is not None:
        return _loop(cursor, loop, label)
    jump = cursor.takes_one_of("LEAVE", "ITERATE")
    if jump is not None:
        return Jump(cursor.identifier().lower(), leaves=jump == "LEAVE")
    if cursor.takes("DECLARE"):
        return _declaration(cursor)
    if cursor.takes("SET"):
        cursor.takes_one_of(*_VARIABLE_WORDS)
        return ScriptStatement(f"SET VARIABLE {cursor.until((';',))}")
    return ScriptStatement(cursor.until((";",)))


def _label(cursor: Cursor) -> str | None:
    probe = cursor.fresh()
    probe.word()
    if not probe.takes(":") or not any(probe.sees(word) for word in _LABELED):
        return None
    label = cursor.identifier().lower()
    cursor.needs(":")
    return label


def _end_label(cursor: Cursor, label: str | None) -> None:
    if label is not None and not cursor.at_end and not cursor.sees(";"):
        cursor.identifier()


def _if(cursor: Cursor) -> Choice:
    branches = [_branch(cursor, "END", "ELSEIF", "ELSE")]
    while cursor.takes("ELSEIF"):
        branches.append(_branch(cursor, "END", "ELSEIF", "ELSE"))
    otherwise = _body(cursor, "END") if cursor.takes("ELSE") else ()
    cursor.needs("END", "IF")
    return Choice(tuple(branches), otherwise)


def _case(cursor: Cursor) -> Choice:
    value = None if cursor.sees("WHEN") else cursor.until(("WHEN",))
    branches = []
    while cursor.takes("WHEN"):
        branches.append(_branch(cursor, "END", "WHEN", "ELSE"))
    otherwise = _body(cursor, "END") if cursor.takes("ELSE") else ()
    cursor.needs("END", "CASE")
    return Choice(tuple(branches), otherwise, value)


def _branch(cursor: Cursor, *ends: str) -> tuple[str, Body]:
    condition = cursor.until(("THEN",))
    cursor.needs("THEN")
    return condition, _body(cursor, *ends)


def _loop(cursor: Cursor, word: str, label: str | None) -> Repetition:
    condition = until = None
    if word == "WHILE":
        condition = cursor.until(("DO",))
        cursor.needs("DO")
    body = _body(cursor, "UNTIL" if word == "REPEAT" else "END")
    if word == "REPEAT":
        cursor.needs("UNTIL")
        until = cursor.until(("END", "REPEAT"))
    cursor.needs("END", word)
    _end_label(cursor, label)
    return Repetition(body, condition, until, label)


def _for(cursor: Cursor, label: str | None) -> ForEach:
    variable = None
    probe = cursor.fresh()
    probe.word()
    if probe.sees("AS"):
        variable = cursor.identifier().lower()
        cursor.needs("AS")
    query = cursor.until(("DO",))
    cursor.needs("DO")
    body = _body(cursor, "END")
    cursor.needs("END", "FOR")
    _end_label(cursor, label)
    return ForEach(query, body, variable, label)


def _declaration(cursor: Cursor) -> Declaration:
    start = cursor.position
    cursor.takes_one_of(*_VARIABLE_WORDS)
    names = [cursor.identifier()]
    while cursor.takes(","):
        names.append(cursor.identifier())
    if cursor.sees("CURSOR"):
        raise InvalidInputError(
            f"{place_in(cursor.text, start)}: a script (BEGIN ... END) that changes Iceberg tables "
            "can't have cursors: use FOR"
        )
    return Declaration(tuple(names), cursor.until((";",)))


def _is_condition(cursor: Cursor) -> bool:
    """Read the declaration of a condition, which only SIGNAL could raise, and return whether it is.

    Spark 4.1 to 4.3 have no SIGNAL. Their handlers do not use the SQLSTATE of the declaration.
    """
    probe = cursor.fresh()
    if not probe.takes("DECLARE"):
        return False
    probe.word()
    if not probe.sees("CONDITION"):
        return False
    cursor.until((";",))
    return True


def _handler(cursor: Cursor) -> Handler | None:
    probe = cursor.fresh()
    if not probe.takes("DECLARE") or not any(
        probe.sees(word, "HANDLER") for word in ("EXIT", "CONTINUE")
    ):
        return None
    cursor.needs("DECLARE")
    continues = cursor.word().upper() == "CONTINUE"
    cursor.needs("HANDLER", "FOR")
    conditions, states = set(), set()
    while True:
        if cursor.takes("SQLSTATE"):
            cursor.takes("VALUE")
            states.add(cursor.string().upper())
        elif cursor.takes("NOT", "FOUND"):
            conditions.add("NOT FOUND")
        else:
            conditions.add(".".join(cursor.name()).upper())
        if not cursor.takes(","):
            break
    return Handler(
        frozenset(conditions - {"SQLEXCEPTION", "NOT FOUND"}), frozenset(states),
        "SQLEXCEPTION" in conditions, "NOT FOUND" in conditions, continues, _step(cursor),
    )  # fmt: skip
