"""A MariaDB of its own for tests, on loopback; `scripts/mariadb.sh` finds it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.processes import HOST, ROOT, free_port, running

SHOWN_VERSION = "5.7.19-log"
"""Debezium's connector of MySQL takes 10.11 for a newer MySQL, and sends statements it lacks."""


@dataclass(frozen=True, slots=True)
class MariaDb:
    """A running MariaDB, with a user `root` that needs no password."""

    port: int

    def run(self, script: str, database: str = "") -> list[str]:
        """Run statements in one session of the client; returns the lines that they print."""
        client = [
            "mariadb",
            "--no-defaults",
            "--batch",
            "--raw",
            "--skip-column-names",
            "--user=root",
        ]
        options = [f"--host={HOST}", f"--port={self.port}", "--default-character-set=utf8mb4"]
        done = subprocess.run(
            [*client, *options, database], input=script, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def ready(self) -> bool:
        """Whether it takes statements."""
        try:
            return self.run("SELECT 1") == ["1"]
        except AssertionError:
            return False


@contextmanager
def mariadb_server() -> Iterator[MariaDb]:
    """Serve a new MariaDB with a log of rows while the block runs."""
    script = [ROOT / "scripts" / "mariadb.sh"]
    program = subprocess.run(script, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    home = Path(tempfile.mkdtemp(prefix="mariadb-"))
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        shutil.chown(home, user)
    server = MariaDb(free_port())
    own = [f"--user={user}"] if user else []
    try:
        make = ["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal"]
        place = f"--datadir={home}/data"
        subprocess.run([*make, place, *own], check=True, stdout=subprocess.DEVNULL)
        command = [program, "--no-defaults", place, *own, f"--bind-address={HOST}"]
        command += [f"--port={server.port}", f"--socket={home}/socket", "--skip-name-resolve"]
        command += ["--server-id=7", "--log-bin=log", "--binlog-format=ROW"]
        command += [f"--version={SHOWN_VERSION}", "--innodb-flush-log-at-trx-commit=0"]
        with running(command, home / "log", server.ready):
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)
