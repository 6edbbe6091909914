"""A Postgres of its own for tests, on loopback; `scripts/postgres.sh` finds it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from iceberg_spark.lazy import LazyModule
from tests.servers.processes import HOST, ROOT, free_port, running

psycopg = LazyModule("psycopg")

_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "16MB",
    "max_connections": "60",
}


@dataclass(frozen=True, slots=True)
class Postgres:
    """A running Postgres; `uri` is a database's for SQLAlchemy and psycopg, `jdbc` for Java."""

    port: int
    user: str = "tests"

    @property
    def uri(self) -> str:
        return f"postgresql://{self.user}@{HOST}:{self.port}/postgres"

    @property
    def jdbc(self) -> str:
        return f"jdbc:postgresql://{HOST}:{self.port}/postgres"

    def ran(self, text: str) -> None:
        """Carry out a statement on a connection of its own."""
        with psycopg.connect(self.uri, autocommit=True, connect_timeout=30) as connection:
            connection.execute(text)

    def ready(self) -> bool:
        try:
            self.ran("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def postgres_server(more_settings: Mapping[str, str] | None = None) -> Iterator[Postgres]:
    """Serve a new Postgres while the block runs. It refuses to run as root, so nobody runs it."""
    found = subprocess.run(
        [ROOT / "scripts" / "postgres.sh"], check=True, stdout=subprocess.PIPE, text=True
    )
    programs = found.stdout.strip()
    home = Path(tempfile.mkdtemp(prefix="postgres-"))
    user = "nobody" if os.geteuid() == 0 else None
    if user:
        shutil.chown(home, user)
    server = Postgres(free_port())
    try:
        make = f"{programs}/initdb -D data -U tests -A trust -E UTF8 --locale=C --no-sync".split()
        as_user = {"user": user, "group": "nogroup", "extra_groups": []} if user else {}
        subprocess.run(make, check=True, cwd=home, stdout=subprocess.DEVNULL, **as_user)  # type: ignore[call-overload]
        every = {**_SETTINGS, **(more_settings or {})}
        settings = [part for key, value in every.items() for part in ("-c", f"{key}={value}")]
        command = [f"{programs}/postgres", "-D", "data", "-h", HOST, "-p", str(server.port)]
        with running(
            [*command, "-k", "", *settings],
            home / "log",
            server.ready,
            user=user,
            stop=signal.SIGQUIT,
        ):
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)
