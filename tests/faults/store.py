"""A store that breaks at its N-th call: laid over `FsspecIO` in this process, whoever makes one."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Any

from iceberg_spark.errors import (
    IcebergError,
    NoSuchFileError,
    StorageError,
    StoragePermissionError,
)
from iceberg_spark.io.fsspec_io import FsspecIO


class Fault(Enum):
    """What a call does instead of what was asked."""

    ERROR_BEFORE = "fails, having done nothing"
    ERROR_AFTER = "is carried out, and fails"
    DENIED = "is denied"
    TIMEOUT = "fails, and is carried out two calls later"
    DOWN_BEFORE = "fails, having done nothing, and so does every later call"
    DOWN_AFTER = "is carried out, and fails, as does every later call"
    SHORT = "gives half of the answer"
    STALE = "answers as if what was written last were not there"
    INTERRUPT_BEFORE = "is interrupted before"
    INTERRUPT_AFTER = "is interrupted after it was carried out"


_ANY = {Fault.ERROR_BEFORE, Fault.DENIED, Fault.DOWN_BEFORE, Fault.INTERRUPT_BEFORE}
_CARRIED_OUT = {Fault.ERROR_AFTER, Fault.DOWN_AFTER, Fault.INTERRUPT_AFTER}
_DIFFERENT = {
    "exists": _ANY | {Fault.STALE},
    "size": _ANY | {Fault.STALE},
    "open": _ANY | {Fault.STALE, Fault.SHORT},
    "read_bytes": _ANY | {Fault.STALE, Fault.SHORT},
    "list": _ANY | {Fault.STALE, Fault.SHORT},
    "list_folders": _ANY,
    "arrow": _ANY,
    "create": _ANY | _CARRIED_OUT,
    "create_if_absent": _ANY | _CARRIED_OUT | {Fault.TIMEOUT},
    "replace": _ANY | _CARRIED_OUT | {Fault.TIMEOUT},
    "delete": _ANY | _CARRIED_OUT | {Fault.TIMEOUT},
}
METHODS = tuple(_DIFFERENT)


def different_faults(method: str) -> list[Fault]:
    """Return the faults that a method can have, one of those that look the same to its caller.

    What only asks is carried out or not without a trace; what only writes gives no short answer.
    """
    return [fault for fault in Fault if fault in _DIFFERENT[method]]


class Calls:
    """The calls into the store, numbered from 0, and what happens at one of them."""

    def __init__(self) -> None:
        self.made: list[tuple[str, str]] = []
        self.at: int | None = None
        self.fault: Fault | None = None
        self.broke = False
        self._late: list[tuple[int, Callable[[], Any]]] = []
        self._lock = threading.RLock()
        self._inside = threading.local()

    def arm(self, at: int | None, fault: Fault | None) -> None:
        """Count from 0 again and break at a call."""
        self.made.clear()
        self._late.clear()
        self.at, self.fault, self.broke = at, fault, False

    def call(self, method: str, path: str, work: Callable[[], Any]) -> Any:
        if getattr(self._inside, "now", False):  # delete_many calls delete, and so on
            return work()
        with self._lock:
            number = len(self.made)
            self.made.append((method, path))
        self._inside.now = True
        try:
            self._deliver(number)
            return self._answer(number, method, path, work)
        finally:
            self._inside.now = False

    def _deliver(self, number: int) -> None:
        for at, work in list(self._late):
            if at <= number:
                self._late.remove((at, work))
                try:
                    work()
                except IcebergError:
                    continue

    def _answer(self, number: int, method: str, path: str, work: Callable[[], Any]) -> Any:
        down = self.fault in {Fault.DOWN_BEFORE, Fault.DOWN_AFTER}
        if self.at is None or number < self.at or (number > self.at and not down):
            return work()
        self.broke = True
        error = StorageError(f"injected: {method} {path} {self.fault}")
        match self.fault if number == self.at else Fault.DOWN_BEFORE:
            case Fault.ERROR_BEFORE | Fault.DOWN_BEFORE:
                raise error
            case Fault.ERROR_AFTER | Fault.DOWN_AFTER:
                work()
                raise error
            case Fault.DENIED:
                raise StoragePermissionError(str(error))
            case Fault.TIMEOUT:
                self._late.append((number + 2, work))
                raise error
            case Fault.SHORT:
                return _half(method, work())
            case Fault.STALE:
                return _stale(method, path, work)
            case Fault.INTERRUPT_BEFORE:
                raise KeyboardInterrupt
            case _:
                work()
                raise KeyboardInterrupt


def _half(method: str, answer: Any) -> Any:
    match method:
        case "read_bytes":
            return answer[: len(answer) // 2]
        case "open":
            data = answer.read()
            return io.BytesIO(data[: len(data) // 2])
        case "list":
            found = list(answer)
            return iter(found[: len(found) // 2])
        case _:
            return answer


def _stale(method: str, path: str, work: Callable[[], Any]) -> Any:
    match method:
        case "exists":
            return False
        case "read_bytes" | "open" | "size":
            raise NoSuchFileError(f"injected: {method} {path}: not there yet")
        case "list":
            return iter(sorted(work(), key=lambda info: info.modified_ms)[:-1])
        case _:
            return work()


@contextmanager
def faulty_store(given: Calls | None = None) -> Iterator[Calls]:
    """Lead every call of every `FsspecIO` through the `Calls` while the block runs."""
    calls = given or Calls()
    real = {name: getattr(FsspecIO, name) for name in METHODS}

    def over(name: str) -> Callable[..., Any]:
        def method(self: FsspecIO, path: str, *rest: Any) -> Any:
            def work() -> Any:
                answer = real[name](self, path, *rest)
                return iter(list(answer)) if name in {"list", "list_folders"} else answer

            return calls.call(name, path, work)

        return method

    for name in METHODS:
        setattr(FsspecIO, name, over(name))
    try:
        yield calls
    finally:
        for name, method in real.items():
            setattr(FsspecIO, name, method)
