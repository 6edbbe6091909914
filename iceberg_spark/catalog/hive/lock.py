"""The lock of a table in a Hive metastore, compatible with Java's (Java: MetastoreLock)."""

from __future__ import annotations

import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from weakref import WeakValueDictionary

from iceberg_spark.catalog.hive.metastore import Metastore, Session, error_text, hive, thrift
from iceberg_spark.errors import (
    CommitFailedException,
    InvalidInputError,
    StorageError,
    UnsupportedError,
)

_EXCLUSIVE, _TABLE_LEVEL = 3, 2
_ACQUIRED, _WAITING = 1, 2
_ENABLED = "engine.hive.lock-enabled"
_TRIES = 4
"""How often to release a lock without a response."""


@dataclass(frozen=True, slots=True)
class LockTimes:
    """How long to wait for a lock and how often to renew it, in seconds (Java's defaults)."""

    timeout: float = 180.0
    first_pause: float = 0.05
    longest_pause: float = 5.0
    heartbeat: float = 240.0

    @staticmethod
    def of(properties: Mapping[str, str]) -> LockTimes:
        """Return the times in the properties `iceberg.hive.lock-*`. Raises ValueError."""
        named = {
            "timeout": "iceberg.hive.lock-timeout-ms",
            "first_pause": "iceberg.hive.lock-check-min-wait-ms",
            "longest_pause": "iceberg.hive.lock-check-max-wait-ms",
            "heartbeat": "iceberg.hive.lock-heartbeat-interval-ms",
        }
        texts = {name: properties[key] for name, key in named.items() if key in properties}
        return LockTimes(**{name: int(text) / 1000 for name, text in texts.items()})


class HeldLock:
    """A lock of this process, until it is released or the metastore lets it expire."""

    __slots__ = ("_failed", "_metastore", "_over", "number")

    def __init__(self, metastore: Metastore, number: int, every: float) -> None:
        self.number = number
        self._metastore = metastore
        self._failed: BaseException | None = None
        self._over = threading.Event()
        threading.Thread(target=self._beat, args=(every,), daemon=True).start()

    def _beat(self, every: float) -> None:
        pause = every / 2
        while not self._over.wait(pause):
            pause = every
            try:
                with self._metastore.session() as session:
                    session.once("heartbeat", hive.HeartbeatRequest(lockid=self.number))
            except Exception as error:  # noqa: BLE001 (`check` raises it)
                self._failed = error
                return

    def check(self) -> None:
        """Raise StorageError if the lock may have expired."""
        if self._failed is not None:
            raise StorageError(f"The lock's heartbeat failed: {error_text(self._failed)}")

    def end(self) -> None:
        """Stop the heartbeat."""
        self._over.set()


_within: WeakValueDictionary[tuple[str, str], _InProcess] = WeakValueDictionary()
_making = threading.Lock()


class _InProcess:
    """A lock between threads of this process, so that they do not queue at the metastore."""

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = threading.Lock()


@contextmanager
def hold_lock(
    metastore: Metastore, session: Session, table: tuple[str, str], times: LockTimes
) -> Iterator[HeldLock]:
    """Hold the metastore's exclusive lock of a table (database, name) while the block runs.

    Raises:
        CommitFailedException: others hold it for too long; the message names them.
        UnsupportedError: the metastore has no locks.
    """
    with _making:
        among_threads = _within.setdefault(table, _InProcess())
    with among_threads.lock:
        agent = f"Iceberg-{uuid.uuid4()}"
        number: int | None = None
        held: HeldLock | None = None
        try:
            number, state = _ask(metastore, session, table, agent, times)
            _await(session, table, number, state, times)
            held = HeldLock(metastore, number, times.heartbeat)
            yield held
        finally:
            if held is not None:
                held.end()
            _give_back(session, table, agent, number)


def _ask(
    metastore: Metastore,
    session: Session,
    table: tuple[str, str],
    agent: str,
    times: LockTimes,
) -> tuple[int, int]:
    """Request the lock once; after a lost response, find it by its unique name."""
    part = hive.LockComponent(
        type=_EXCLUSIVE, level=_TABLE_LEVEL, dbname=table[0], tablename=table[1]
    )
    request = hive.LockRequest(
        component=[part], user=metastore.user, hostname=socket.gethostname(), agentInfo=agent
    )
    until = time.monotonic() + times.timeout
    while True:
        try:
            answer = session.once("lock", request)
        except StorageError:
            lock = _find(session, table, agent)
            if lock is not None:
                return lock.lockid, lock.state
            if time.monotonic() > until:
                raise
            time.sleep(times.first_pause)
        except thrift.TException as error:
            raise UnsupportedError(
                f"The Hive metastore gives no lock of {'.'.join(table)}: {error_text(error)}. If "
                "all writers and the metastore (2.3.10, 4.0 and later) can do without, set the "
                "table property engine.hive.lock-enabled=false"
            ) from error
        else:
            return answer.lockid, answer.state


def _await(
    session: Session, table: tuple[str, str], number: int, state: int, times: LockTimes
) -> None:
    began = time.monotonic()
    pause = times.first_pause
    while state == _WAITING:
        if time.monotonic() - began > times.timeout:
            raise CommitFailedException(
                f"Waited {times.timeout:.0f} s for the lock of {'.'.join(table)} in the Hive "
                f"metastore (iceberg.hive.lock-timeout-ms); {_holders(session, table)}"
            )
        time.sleep(pause)
        pause = min(pause * 1.5, times.longest_pause)
        try:
            state = session.once("check_lock", hive.CheckLockRequest(lockid=number)).state
        except StorageError:
            continue  # requested again until the timeout
        except thrift.TException as error:
            raise CommitFailedException(
                f"The lock of {'.'.join(table)} was lost while it was waited for: "
                f"{error_text(error)}"
            ) from error
    if state != _ACQUIRED:
        raise CommitFailedException(
            f"The Hive metastore refused the lock of {'.'.join(table)} (state {state})"
        )


def _locks(session: Session, table: tuple[str, str]) -> list[Any]:
    request = hive.ShowLocksRequest(dbname=table[0], tablename=table[1])
    return session.read("show_locks", request).locks or []


def _find(session: Session, table: tuple[str, str], agent: str) -> Any | None:
    return next((lock for lock in _locks(session, table) if lock.agentInfo == agent), None)


def _holders(session: Session, table: tuple[str, str]) -> str:
    with suppress(Exception):
        held = [lock for lock in _locks(session, table) if lock.state == _ACQUIRED]
        return "it is held by " + "; ".join(
            f"lock {lock.lockid} of {lock.user} on {lock.hostname} ({lock.agentInfo}), taken "
            f"{_moment(lock.acquiredat)}, last heard of {_moment(lock.lastheartbeat)}"
            for lock in held
        )
    return "who holds it is not known"


def _moment(milliseconds: int | None) -> str:
    if not milliseconds:
        return "at an unknown time"
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


def _give_back(session: Session, table: tuple[str, str], agent: str, number: int | None) -> None:
    """Release the lock in every case; a lock that cannot be released expires without heartbeats."""
    for _ in range(_TRIES):
        try:
            if number is None:
                lock = _find(session, table, agent)
                if lock is None:
                    return
                number = lock.lockid
            session.once("unlock", hive.UnlockRequest(lockid=number))
        except StorageError:
            continue
        except thrift.TException:
            return  # the lock is gone
        return


@dataclass(frozen=True, slots=True)
class Locks:
    """Locks of one catalog's tables and views; `enabled` is the default for each."""

    metastore: Metastore
    times: LockTimes
    enabled: bool

    @classmethod
    def by(cls, metastore: Metastore, properties: Mapping[str, str]) -> Locks:
        """Return the locks that a catalog's properties configure. Raises InvalidInputError."""
        enabled = properties.get(f"iceberg.{_ENABLED}", "true").lower() != "false"
        try:
            return cls(metastore, LockTimes.of(properties), enabled)
        except ValueError as error:
            raise InvalidInputError(f"A property iceberg.hive.lock-* is {error}") from error

    @contextmanager
    def of(
        self, session: Session, table: tuple[str, str], properties: Mapping[str, str]
    ) -> Iterator[HeldLock | None]:
        """Hold the lock of a table (database, name) with these properties, unless disabled."""
        setting = properties.get(_ENABLED)
        if not (self.enabled if setting is None else setting.lower() != "false"):
            yield None
            return
        with self.held(session, table) as held:
            yield held

    def held(self, session: Session, table: tuple[str, str]) -> AbstractContextManager[HeldLock]:
        """Hold the lock of a table, even if it is disabled."""
        return hold_lock(self.metastore, session, table, self.times)
