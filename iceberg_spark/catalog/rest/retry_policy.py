"""How often, and after which pauses, a request is repeated."""

from __future__ import annotations

from dataclasses import dataclass

from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_random_exponential

from iceberg_spark.catalog.rest.answers import LostAnswerError, NotSentError
from iceberg_spark.errors import ServiceUnavailableError

LONGEST_RETRY_AFTER_S = 120.0
"""The longest pause that a server can ask for; beyond it the request fails."""
_SHORTEST_S, _LONGEST_S = 0.1, 5.0


class BusyError(ServiceUnavailableError):
    """The server is busy; `retry_after_s` is the pause that it asks for."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Attempts of one request: `retries` after the first, begun within `budget_s` seconds."""

    retries: int
    budget_s: float

    def retrying(self) -> Retrying:
        """Return the retry loop; the last error is raised unchanged."""
        return Retrying(
            retry=retry_if_exception_type((BusyError, LostAnswerError, NotSentError)),
            stop=self._is_over,
            wait=pause,
            reraise=True,
        )

    def _is_over(self, state: RetryCallState) -> bool:
        over = state.attempt_number > self.retries
        late = (state.seconds_since_start or 0.0) > self.budget_s
        return over or late or (asked_pause(state) or 0.0) > LONGEST_RETRY_AFTER_S


_spread = wait_random_exponential(multiplier=_SHORTEST_S, max=_LONGEST_S, min=_SHORTEST_S / 2)


def asked_pause(state: RetryCallState) -> float | None:
    """Return the pause that the server asked for, None without one."""
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after_s if isinstance(error, BusyError) else None


def pause(state: RetryCallState) -> float:
    """Return the pause before the next attempt: the server's, else a random one that doubles."""
    requested = asked_pause(state)
    return _spread(state) if requested is None else requested
