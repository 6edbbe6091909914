"""Servers that tests start on this machine: a free port, a bounded wait, an end by process id."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

HOST = "127.0.0.1"
ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_S = 120
"""Longer than any start on a busy machine; a server that is not there by then is a failure."""


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        return int(listening.getsockname()[1])


def accepts(port: int) -> bool:
    """Whether somebody listens there."""
    try:
        with socket.create_connection((HOST, port), timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def running(
    command: Sequence[str],
    log: Path,
    ready: Callable[[], bool],
    *,
    env: dict[str, str] | None = None,
    user: str | None = None,
    stop: signal.Signals = signal.SIGTERM,
) -> Iterator[int]:
    """Run a server while the block runs; gives its process id once it is ready."""
    as_user = {"user": user, "group": "nogroup", "extra_groups": []} if user else {}
    with log.open("wb") as written:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,  # ends when we do
            stdout=written,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            cwd=log.parent,
            **as_user,  # type: ignore[call-overload]
        )
    try:
        _wait(process, log, ready)
        yield process.pid
    finally:
        if process.stdin is not None:
            process.stdin.close()
        process.send_signal(stop)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[bytes], log: Path, ready: Callable[[], bool]) -> None:
    until = time.monotonic() + _PATIENCE_S
    while not ready():
        if process.poll() is not None or time.monotonic() > until:
            raise AssertionError(f"{process.args} did not start:\n{log.read_text()[-4000:]}")
        time.sleep(0.1)
