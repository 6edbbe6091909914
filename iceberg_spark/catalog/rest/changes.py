"""Changes that a server is asked for, and what is done where the answer is no or gets lost.

The same request goes out again, with the same Idempotency-Key where the server takes keys, unless
the server may have made the change: then a look tells. 503 is repeated where Retry-After asks for
it, or a key makes that safe (specification: ServiceUnavailableResponse).
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
from iceberg_spark.catalog.rest.patience import LONGEST_RETRY_AFTER_S, BusyError, Patience
from iceberg_spark.catalog.rest.session import Meaning, RestSession
from iceberg_spark.catalog.rest.transport import Request
from iceberg_spark.errors import IcebergError

_TRIES = 4
_PATIENCE_S = 300.0
KEY = "Idempotency-Key"


@dataclass(frozen=True, slots=True)
class Change:
    """A change: its request, what refusals mean, and `is_made`, which looks whether it was made."""

    request: Request
    meaning: Meaning
    what: str
    is_made: Callable[[], bool]


def change_request(
    session: RestSession, method: str, path: str, body: Mapping[str, Any] | None = None,
    query: Mapping[str, str] | None = None,
) -> Request:  # fmt: skip
    """Return the request of a change, with a key of its own where the server takes keys."""
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if session.config.takes_keys:
        headers[KEY] = new_key()
    data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
    return Request(method, path, query or {}, data, headers)


def new_key() -> str:
    """Return a UUID of version 7, as the specification wants keys."""
    stamp = int(time.time() * 1000) & ((1 << 48) - 1)
    bits = (stamp << 80) | (0x7 << 76) | (secrets.randbits(12) << 64)
    return str(uuid.UUID(int=bits | (0b10 << 62) | secrets.randbits(62)))


def make(session: RestSession, change: Change) -> Answer | None:
    """Have a change made; None: it was made, and the server's answer to it got lost.

    Raises what the refusal means; ServiceUnavailableError where it isn't made, or nobody can tell.
    """
    doubts: list[IcebergError] = []
    again = Patience(_TRIES - 1, _PATIENCE_S).retrying()
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
    raise error  # a refusal, or 503 without Retry-After: and it isn't made


def is_asked_back(answer: Answer) -> bool:
    """Return whether the server has not done it and asks to be asked later."""
    if answer.status == TOO_MANY:
        return True
    after = answer.retry_after_s
    return answer.status == UNAVAILABLE and after is not None and after <= LONGEST_RETRY_AFTER_S
