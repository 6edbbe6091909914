"""Programs of Go's module proxy, built once and kept in the user's cache folder."""

from __future__ import annotations

import os
import subprocess
from fcntl import LOCK_EX, flock
from pathlib import Path

_BUILD_S = 900


def go_program(package: str, version: str) -> Path:
    """The program of a package at a version; one process builds it."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "iceberg-spark-tests"
    folder = home / f"{package.rpartition('/')[2]}-{version}"
    program = folder / package.rpartition("/")[2]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not program.exists():
            _build(f"{package}@{version}", folder)
    return program


def _build(module: str, folder: Path) -> None:
    done = subprocess.run(
        ["go", "install", "-ldflags=-s -w", module],
        env={**os.environ, "GOBIN": str(folder)},
        capture_output=True,
        text=True,
        timeout=_BUILD_S,
        check=False,
    )
    assert done.returncode == 0, f"{module} can't be built: {done.stderr[-3000:]}"
