"""A server's responses, and the errors that they stand for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from iceberg_spark.errors import (
    CommitFailedException,
    CorruptFileError,
    ForbiddenError,
    IcebergError,
    InvalidInputError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NoSuchFileError,
    NoSuchNamespaceError,
    NoSuchTableError,
    NoSuchViewError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    UnauthorizedError,
    UnsupportedError,
    ValidationException,
    ViewAlreadyExistsError,
)
from iceberg_spark.io.decoding import decoding
from iceberg_spark.spec.printable import printable

NOT_MODIFIED = 304
CONFLICT = 409
TOO_MANY = 429
UNAVAILABLE = 503
_FAILED = frozenset({408, 425, 500, 502, 504})
EXPIRED = frozenset({401, 419})
_LONGEST_TEXT = 300  # characters of a server's text in a message


def _words(text: object) -> str:
    """Return a server's text in one line: terminals execute control characters."""
    return " ".join(printable(str(text or "")[:_LONGEST_TEXT]).split())


_BY_TYPE: dict[str, type[IcebergError]] = {
    "NoSuchNamespaceException": NoSuchNamespaceError,
    "NoSuchTableException": NoSuchTableError,
    "NoSuchIcebergTableException": NoSuchTableError,
    "NoSuchViewException": NoSuchViewError,
    "NotFoundException": NoSuchFileError,
    "NamespaceNotEmptyException": NamespaceNotEmptyError,
    "ValidationException": ValidationException,
    "CommitFailedException": CommitFailedException,
}
_BY_STATUS: dict[int, type[IcebergError]] = {
    400: InvalidInputError,
    401: UnauthorizedError,
    403: ForbiddenError,
    405: UnsupportedError,
    406: UnsupportedError,
    419: UnauthorizedError,
    422: InvalidInputError,
    501: UnsupportedError,
}
_SAID_BY_CATALOGS_ONLY = frozenset({404, 409})
"""Statuses that decide about tables, unless a gateway's page has them."""

TABLE = {404: NoSuchTableError, 409: TableAlreadyExistsError}
NEW_TABLE = {404: NoSuchNamespaceError, 409: TableAlreadyExistsError}
VIEW = {404: NoSuchViewError, 409: CommitFailedException}
NEW_VIEW = {404: NoSuchNamespaceError, 409: ViewAlreadyExistsError}
RENAMED_VIEW = {404: NoSuchViewError, 409: ViewAlreadyExistsError}
NAMESPACE = {404: NoSuchNamespaceError, 409: NamespaceAlreadyExistsError}
DROPPED_NAMESPACE = {404: NoSuchNamespaceError, 409: NamespaceNotEmptyError}


class NotSentError(ServiceUnavailableError):
    """No connection: the server has not received the request."""


class LostAnswerError(ServiceUnavailableError):
    """The request was sent, but no whole response came back: it may have been executed."""


@contextmanager
def given_by_server(what: str) -> Iterator[None]:
    """Name what the server sent if it cannot be read. Raises CorruptFileError."""
    try:
        with decoding(what):
            yield
    except CorruptFileError as error:
        text = str(error)
        raise CorruptFileError(text if text.startswith(what) else f"{what}: {text}") from error


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole response of the server."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)
    url: str = field(default="", repr=False)

    @property
    def is_ok(self) -> bool:
        """Whether the server executed the request."""
        return 200 <= self.status < 300

    @property
    def is_page(self) -> bool:
        """Whether a host in front of the server responds with a page for people (a portal)."""
        return self.is_ok and self.headers.get("content-type", "").startswith("text/html")

    @property
    def may_pass(self) -> bool:
        """Whether a repeated read can succeed after this response."""
        return self.status in (TOO_MANY, UNAVAILABLE, NOT_MODIFIED) or self.status in _FAILED

    @property
    def is_doubtful(self) -> bool:
        """Whether the change may have been made despite this response."""
        failed = self.status >= 500 and self.status not in (501, UNAVAILABLE)
        return failed or self.status in (408, NOT_MODIFIED)

    @property
    def retry_after_s(self) -> float | None:
        """How long to wait according to the server, None if it does not say."""
        text = self.headers.get("retry-after", "").strip()
        if text.isdecimal():
            return float(text)
        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0.0, (moment - datetime.now(UTC)).total_seconds())

    def node(self) -> dict[str, Any]:
        """Return the JSON object of the body. Raises LostAnswerError if it has none."""
        parsed = self._parsed()
        if isinstance(parsed, dict):
            return parsed
        raise LostAnswerError(f"{self.url} answered {self.status} with {self._shown()}")

    def _parsed(self) -> Any:
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def _shown(self) -> str:
        kind = self.headers.get("content-type", "no content type")
        return f"something else than a REST catalog's answer ({kind}, {len(self.body)} bytes)"

    @property
    def own_error(self) -> tuple[str, str] | None:
        """The type and message of the catalog's error, None if the catalog did not send one."""
        parsed = self._parsed()
        error = parsed.get("error") if isinstance(parsed, dict) else None
        if isinstance(error, dict):
            return _words(error.get("type")), _words(error.get("message"))
        if isinstance(error, str):  # OAuth's form
            return _words(error), _words(parsed.get("error_description"))
        return None

    def error(self, meaning: Mapping[int, type[IcebergError]], what: str) -> IcebergError:
        """Return the error of a response that is not ok; `what` names the request."""
        if 300 <= self.status < 400 and self.status != NOT_MODIFIED:
            to = self.headers.get("location", "another address")
            return InvalidInputError(
                f"Can't {what}: {self.url} is answered with a redirect to {to}, which is not "
                "followed; give the catalog's own address as its uri"
            )
        words_of_error = self.own_error
        kind = self._kind(meaning, words_of_error)
        text = ": ".join(filter(None, words_of_error)) if words_of_error else self._shown()
        return kind(f"Can't {what}: the catalog answered {self.status}, {text}")

    def _kind(
        self, meaning: Mapping[int, type[IcebergError]], words_of_error: tuple[str, str] | None
    ) -> type[IcebergError]:
        by_status = meaning.get(self.status) or _BY_STATUS.get(self.status)
        if words_of_error is None and self.status in _SAID_BY_CATALOGS_ONLY and self.body:
            return ServiceUnavailableError
        if self.status in meaning and words_of_error and words_of_error[0] == "NotFoundException":
            return meaning[self.status]
        if words_of_error and words_of_error[0] in _BY_TYPE and 400 <= self.status < 500:
            return _BY_TYPE[words_of_error[0]]
        return by_status or ServiceUnavailableError
