"""Work that is given up after some time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T]) -> T:
    """Return what `work` does, or raise TimeoutError; it is left behind then, not stopped.

    Drivers have no common way to bound the time of a call, and some wait for minutes.
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
