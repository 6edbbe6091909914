"""Run work with a time limit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return the result of `work`, or raise TimeoutError; the work then continues in background.

    Drivers have no common way to limit the time of a call, and some wait for minutes.
    """
    done: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except BaseException as error:  # noqa: BLE001 (raised again by the caller)
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True, name="reach-store")
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not done:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return done[0]
