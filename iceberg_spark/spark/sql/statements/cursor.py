"""The tokens of a statement, read from left to right; expressions are returned as written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ClassVar

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from iceberg_spark.errors import InvalidInputError
from iceberg_spark.expr.dialect import SPARK, Dialect
from iceberg_spark.expr.grammar import Spark4, Spark4Names, tokenize
from iceberg_spark.expr.parse_literal import string_value
from iceberg_spark.spark.sql.unreadable_text import UnreadableTextError

_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
_TEXTS = (TokenType.STRING, TokenType.RAW_STRING)
_QUOTED = (TokenType.IDENTIFIER, *_TEXTS)
_OPENS = re.compile(r"['\"`]|/\*")
_LONGEST_SHOWN, _TRIED = 60, 200


_WORDS = {word: kind for word, kind in Spark4.Tokenizer.KEYWORDS.items() if " " not in word}


class _Statements(Spark4):
    """Spark's keywords as single tokens. sqlglot reads some statements as one opaque command."""

    class Tokenizer(Spark4.Tokenizer):
        """How statements are tokenized."""

        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = _WORDS


class _StatementsNames(Spark4Names):
    """The same with names in double quotes."""

    class Tokenizer(Spark4Names.Tokenizer):
        """How statements are tokenized."""

        COMMANDS: ClassVar[set[TokenType]] = set()
        KEYWORDS: ClassVar[dict[str, TokenType]] = _WORDS


def tokens_of(text: str, dialect: Dialect = SPARK) -> list[Token]:
    """Return a text's tokens without a semicolon at the end. Raises InvalidInputError.

    Two statements in one text are an error, as in Spark.
    """
    tokens = script_tokens(text, dialect)
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            raise InvalidInputError(
                f"{place_in(text, token.start)}: one statement a call, and ';' ends one"
            )
    return tokens


def script_tokens(text: str, dialect: Dialect = SPARK) -> list[Token]:
    """Return the tokens of one or several statements. Raises InvalidInputError."""
    grammar = _StatementsNames if dialect.quoted_names else _Statements
    try:
        tokens = list(tokenize(text, grammar))
    except SqlglotError as cause:
        raise UnreadableTextError(_unclosed(text, grammar)) from cause
    # `5L` becomes three tokens at one position, a cast to a long: only the first counts.
    tokens = [
        token
        for before, token in zip([None, *tokens], tokens, strict=False)
        if before is None or token.start != before.start
    ]
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        tokens.pop()
    return tokens


def split_statements(text: str, dialect: Dialect = SPARK) -> list[str]:
    """Return the statements of a text, which semicolons separate; a script is one statement.

    A text that cannot be tokenized is returned as one statement.
    """
    try:
        tokens = script_tokens(text, dialect)
    except UnreadableTextError:
        return [text]
    if begins_script(tokens):
        return [text]
    statements, start, is_empty = [], 0, True
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            is_empty = False
            continue
        if not is_empty:
            statements.append(text[start : token.start])
        start, is_empty = token.end + 1, True
    return [*statements, text[start:]]


def begins_script(tokens: Sequence[Token]) -> bool:
    """Return whether tokens are those of a script (BEGIN ... END), which is one statement."""
    words = [token.text.upper() for token in tokens[:3]]
    return words[:1] == ["BEGIN"] or words[1:] == [":", "BEGIN"]  # a script may have a label


def _unclosed(text: str, grammar: type[Spark4]) -> str:
    """Return why a text cannot be tokenized: the last quote or comment that is never closed."""
    opened = [match.start() for match in _OPENS.finditer(text)]
    for start in reversed(opened[-_TRIED:]):
        try:
            tokenize(text[:start], grammar)
        except SqlglotError:
            continue
        return (
            f"{place_in(text, start)}: {_shortened(text[start:])} can't be read: it is never closed"
        )
    return f"The statement can't be read: {_shortened(text)}"


def place_in(text: str, position: int) -> str:
    """Return line and column, counted from 1, of a position in a text."""
    before = text[:position]
    return f"Line {before.count(chr(10)) + 1}, column {position - before.rfind(chr(10))}"


class Cursor:
    """A position in a statement. Methods that read move it past what they return.

    Raises InvalidInputError with line and column if the text is not as expected.
    """

    __slots__ = ("_dialect", "_index", "_tokens", "text")

    def __init__(self, text: str, tokens: Sequence[Token], dialect: Dialect = SPARK) -> None:
        self.text = text
        self._tokens = tokens
        self._dialect = dialect
        self._index = 0

    def __repr__(self) -> str:
        return f"Cursor before {self._next_shown()}"

    @property
    def dialect(self) -> Dialect:
        """How the session reads the text."""
        return self._dialect

    @property
    def at_end(self) -> bool:
        """Whether all tokens have been read."""
        return self._index >= len(self._tokens)

    @property
    def position(self) -> int:
        """Start of the next token in the text; the length of the text at the end."""
        return len(self.text) if self.at_end else int(self._tokens[self._index].start)

    @property
    def end(self) -> int:
        """End of the last token that was read."""
        return 0 if self._index == 0 else self._tokens[self._index - 1].end + 1

    def sees(self, *words: str) -> bool:
        """Return whether these words come next, without reading them."""
        return all(self._is_word(self._index + offset, word) for offset, word in enumerate(words))

    def takes(self, *words: str) -> bool:
        """Read these words if they come next, and return whether they did."""
        is_next = self.sees(*words)
        if is_next:
            self._index += len(words)
        return is_next

    def takes_one_of(self, *words: str) -> str | None:
        """Read one of these words if it comes next, and return it."""
        return next((word for word in words if self.takes(word)), None)

    def needs(self, *words: str) -> None:
        """Read these words. Raises InvalidInputError."""
        for word in words:
            if not self.takes(word):
                raise self.error(f"{word} is needed")

    def sees_string(self) -> bool:
        """Return whether a string literal comes next."""
        return any(self._is(self._index, kind) for kind in _TEXTS)

    def sees_open(self) -> bool:
        """Return whether an opening bracket comes next."""
        return self._is(self._index, TokenType.L_PAREN)

    def string(self) -> str:
        """Read the value of a string literal. Raises InvalidInputError."""
        if not self.sees_string():
            raise self.error("a text in quotes is needed")
        return string_value(self._text(self._taken()), raw_texts=self._dialect.raw_texts)

    def integer(self) -> int:
        """Read an integer, with or without the suffix `L`. Raises InvalidInputError."""
        negative = self.takes("-")
        if self.at_end:
            raise self.error("a whole number is needed")
        start = self.position
        text = self._joined_number()
        digits = text.rstrip("lL")
        if not digits.isdigit():
            self._back_to(start)
            raise self.error("a whole number is needed")
        return -int(digits) if negative else int(digits)

    def word(self) -> str:
        """Read the next token, and return it as written."""
        token = self._taken()
        return self._text(token)

    def identifier(self) -> str:
        """Read one name, with or without backticks. Raises InvalidInputError."""
        if self.at_end or not self._may_be_name(self._tokens[self._index]):
            raise self.error("a name is needed")
        token = self._taken()
        if token.token_type is TokenType.IDENTIFIER:
            return token.text
        while self._goes_on():
            self._taken()  # a name such as 1a or a2024 may be two tokens
        return self.text[token.start : self.end]

    def name(self) -> tuple[str, ...]:
        """Read a name of parts with dots between them. Raises InvalidInputError."""
        parts = [self.identifier()]
        while self.takes("."):
            parts.append(self.identifier())
        return tuple(parts)

    def names(self) -> tuple[tuple[str, ...], ...]:
        """Read names with commas between them. Raises InvalidInputError."""
        names = [self.name()]
        while self.takes(","):
            names.append(self.name())
        return tuple(names)

    def brackets(self) -> Cursor:
        """Read brackets, and return a cursor over their content. Raises InvalidInputError."""
        if not self.sees_open():
            raise self.error("'(' is needed")
        first = self._index + 1
        self._index = self._past_brackets(self._index)
        return self._over(first, self._index - 1)

    def fresh(self) -> Cursor:
        """Return another cursor at the same position."""
        return self._over(self._index, len(self._tokens))

    def items(self) -> list[Cursor]:
        """Read the rest, split at commas outside brackets."""
        items = []
        while not self.at_end:
            items.append(self._piece(lambda cursor: cursor.sees(",")))
            if self.takes(",") and self.at_end:
                raise self.error("something is needed behind ','")
        return items

    def until(self, *stops: tuple[str, ...]) -> str:
        """Read up to the first of these word sequences outside brackets; return the text.

        Raises InvalidInputError if the text is empty.
        """
        return self.before(*stops).needed()

    def before(self, *stops: tuple[str, ...]) -> Cursor:
        """Read up to the first of these word sequences outside brackets, and return that part."""
        return self._piece(lambda cursor: any(cursor.sees(*words) for words in stops))

    def clauses(self, *heads: tuple[str, ...]) -> list[Cursor]:
        """Read the rest, split before each of these word sequences outside brackets."""
        clauses = []
        while not self.at_end:
            first = self._index
            self._index += 1
            self.before(*heads)
            clauses.append(self._over(first, self._index))
        return clauses

    def term(self, *stops: tuple[str, ...]) -> str:
        """Read as `until` does, and return the text with a blank for each comment in it.

        Raises InvalidInputError if the text is empty.
        """
        piece = self.before(*stops)
        piece.needed()
        return piece._without_comments()

    def rest(self) -> str:
        """Read the rest; return its text. Raises InvalidInputError if it is empty."""
        return self.until()

    def needed(self) -> str:
        """Return the text of the rest without reading it. Raises InvalidInputError without one."""
        if self.at_end:
            raise self.error("something is needed")
        return self.text[self.position : self._tokens[-1].end + 1]

    def done(self) -> None:
        """Raise InvalidInputError, which names the next token, unless all tokens have been read."""
        if not self.at_end:
            raise self.error("the statement should end")

    def error(self, needed: str) -> UnreadableTextError:
        """Return an error about the next token, which names what is needed instead."""
        if self.at_end:
            shown = "after the end" if not self._tokens else "at the end"
            where = place_in(self.text, len(self.text))
            return UnreadableTextError(f"{where}: {needed} {shown} of {_shortened(self.text)}")
        return UnreadableTextError(
            f"{place_in(self.text, self.position)}: {needed}, not {self._next_shown()}"
        )

    def fault(self, message: str) -> InvalidInputError:
        """Return an error about the last token that was read."""
        last = self._tokens[self._index - 1].start if self._index else self.position
        return InvalidInputError(f"{place_in(self.text, last)}: {message}")

    def _without_comments(self) -> str:
        parts: list[str] = []
        end = self.position
        for token in self._tokens:
            between = self.text[end : token.start]
            is_comment = between.strip().startswith(("--", "/*"))
            parts += [" " if is_comment else between, self._text(token)]
            end = token.end + 1
        return "".join(parts)

    def _piece(self, stops: Callable[[Cursor], bool]) -> Cursor:
        first = self._index
        while not self.at_end and (self._goes_with_what_is_before() or not stops(self)):
            if self._tokens[self._index].token_type in _OPENING:
                self._index = self._past_brackets(self._index)
            elif self._is_word(self._index, "<") and self._behind_type():
                self._index = self._past_angles(self._index)
            elif self.sees("CASE") and not self._is_field(self._index):
                self._index = self._past_case(self._index)
            else:
                self._index += 1
        return self._over(first, self._index)

    def _over(self, first: int, end: int) -> Cursor:
        """Return a cursor over some of the tokens; its text ends with them."""
        tokens = self._tokens[first:end]
        text = self.text[: tokens[-1].end + 1] if tokens else self.text[: self.position]
        return Cursor(text, tokens, self._dialect)

    def _past_brackets(self, start: int) -> int:
        depth = 0
        for index in range(start, len(self._tokens)):
            kind = self._tokens[index].token_type
            depth += (kind in _OPENING) - (kind in _CLOSING)
            if depth == 0:
                return index + 1
        raise self.error("a bracket is never closed; ')' is needed somewhere after this")

    def _behind_type(self) -> bool:
        return any(self._is_word(self._index - 1, word) for word in ("ARRAY", "MAP", "STRUCT"))

    def _past_angles(self, start: int) -> int:
        """Return the index after a type's closing angle bracket, after the first one without it."""
        depth = 0
        for index in range(start, len(self._tokens)):
            text = self._text(self._tokens[index])
            depth += (text == "<") - (text.count(">") if set(text) == {">"} else 0)
            if depth <= 0:
                return index + 1
        return start + 1

    def _past_case(self, start: int) -> int:
        """Return the index after the END of a CASE; after the word CASE without it."""
        depth = 0
        for index in range(start, len(self._tokens)):
            if not self._is_field(index):
                depth += self._is_word(index, "CASE") - self._is_word(index, "END")
            if depth == 0:
                return index + 1
        return start + 1

    def _is_word(self, index: int, word: str) -> bool:
        if index >= len(self._tokens):
            return False
        token = self._tokens[index]
        return token.token_type not in _QUOTED and token.text.upper() == word

    def _is_field(self, index: int) -> bool:
        """Return whether a token follows a dot: then it is a name, even if it is a keyword."""
        return index > 0 and self._is(index - 1, TokenType.DOT)

    def _goes_with_what_is_before(self) -> bool:
        """Return whether the next word is a field's name, or the FROM of IS DISTINCT FROM."""
        is_distinct = (
            self.sees("FROM") and self._index > 0 and self._is_word(self._index - 1, "DISTINCT")
        )
        return is_distinct or self._is_field(self._index)

    def _is(self, index: int, kind: TokenType) -> bool:
        return index < len(self._tokens) and self._tokens[index].token_type is kind

    def _taken(self) -> Token:
        self._index += 1
        return self._tokens[self._index - 1]

    def _goes_on(self) -> bool:
        """Return whether the next token continues the word that the last one begins."""
        if self._index >= len(self._tokens) or self._tokens[self._index].start != self.end:
            return False
        token = self._tokens[self._index]
        return token.token_type not in _QUOTED and _is_bare(self._text(token))

    def _joined_number(self) -> str:
        first = self._taken()
        while self._goes_on():
            self._taken()
        return self.text[first.start : self.end]

    def _may_be_name(self, token: Token) -> bool:
        if token.token_type is TokenType.IDENTIFIER:
            return True
        return token.token_type not in _TEXTS and _is_bare(self._text(token))

    def _text(self, token: Token) -> str:
        return self.text[token.start : token.end + 1]

    def _back_to(self, position: int) -> None:
        while self._index and self.position > position:
            self._index -= 1

    def _next_shown(self) -> str:
        return (
            "the end" if self.at_end else f"'{_shortened(self._text(self._tokens[self._index]))}'"
        )


def _is_bare(text: str) -> bool:
    return bool(text) and all(char.isalnum() or char == "_" for char in text)


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST_SHOWN else f"{flat[:_LONGEST_SHOWN]}..."
