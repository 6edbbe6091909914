"""Changes at a server, and what follows a refusal or a lost response.

The same request is sent again, with the same Idempotency-Key if the server accepts keys, unless the
server may have made the change: then a read shows it. 503 is repeated if Retry-After asks for it,
or a key makes that safe (specification: ServiceUnavailableResponse).
"""

from __future__ import annotations

import json
import secrets
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from iceberg_spark.catalog.rest.answers import (
    TOO_MANY,
    UNAVAILABLE,
    Answer,
    LostAnswerError,
)
from iceberg_spark.catalog.rest.retry_policy import LONGEST_RETRY_AFTER_S, BusyError, RetryPolicy
from iceberg_spark.catalog.rest.session import Meaning, RestSession
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.errors import IcebergError

_TRIES = 4
_BUDGET_S = 300.0
KEY = "Idempotency-Key"


@dataclass(frozen=True, slots=True)
class Change:
    """A change: its request, its refusals as errors, and `is_made`, which reads the outcome."""

    request: Request
    meaning: Meaning
    what: str
    is_made: Callable[[], bool]


def change_request(
    session: RestSession, method: str, path: str, body: Mapping[str, Any] | None = None,
    query: Mapping[str, str] | None = None,
) -> Request:  # fmt: skip
    """Return the request of a change, with its own key if the server accepts keys."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if session.config.takes_keys:
        headers[KEY] = new_key()
    data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
    return Request(method, path, query or {}, data, headers)


def new_key() -> str:
    """Return a UUID of version 7, which the specification requires of keys."""
    stamp = int(time.time() * 1000) & ((1 << 48) - 1)
    bits = (stamp << 80) | (0x7 << 76) | (secrets.randbits(12) << 64)
    return str(uuid.UUID(int=bits | (0b10 << 62) | secrets.randbits(62)))


def make(session: RestSession, change: Change) -> Answer | None:
    """Make a change; None: it was made, but the server's response is lost.

    Raises the error of the refusal, or ServiceUnavailableError if it was not made or that is
    unknown.
    """
    doubts: list[IcebergError] = []
    again = RetryPolicy(_TRIES - 1, _BUDGET_S).retrying()
    return again(_once, session, change, doubts)


def _once(session: RestSession, change: Change, doubts: list[IcebergError]) -> Answer | None:
    is_lost = True
    error: IcebergError
    try:
        answer = session.exchange(change.request)
    except LostAnswerError as lost:
        error = lost
    else:
        if answer.is_ok:
            return answer
        error = session.error(answer, change.meaning, change.what)
        if is_asked_back(answer):
            raise BusyError(str(error), answer.retry_after_s)
        is_lost = answer.is_doubtful
        if not (is_lost or doubts or answer.status == UNAVAILABLE):
            raise error
    doubts.append(error)
    if change.is_made():
        return None
    if is_lost or session.config.takes_keys:
        raise BusyError(str(error))
    raise error  # a refusal, or 503 without Retry-After, and the change is not made


def is_asked_back(answer: Answer) -> bool:
    """Return whether the server has not made the change and asks for a later retry."""
    if answer.status == TOO_MANY:
        return True
    after = answer.retry_after_s
    return answer.status == UNAVAILABLE and after is not None and after <= LONGEST_RETRY_AFTER_S
