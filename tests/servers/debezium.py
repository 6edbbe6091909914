"""Debezium's embedded engine on a database of the tests: the messages that Kafka would get."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

from tests.servers.java_jars import jars, java
from tests.servers.mariadb import MariaDb
from tests.servers.postgres import Postgres
from tests.servers.processes import HOST

HERE = Path(__file__).parent
LOGICAL = {"wal_level": "logical", "max_wal_senders": "8", "max_replication_slots": "8"}
"""What Postgres needs for Debezium."""
WAIT_S = 120


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages so far."""

    path: Path
    log: Path

    def wait_for(self, table: str) -> list[dict[str, Any]]:
        """Return the messages before the first of a table, waited for a bounded time."""
        until = time.monotonic() + WAIT_S
        while time.monotonic() < until:
            messages = self._read()
            for number, message in enumerate(messages):
                if message["t"].endswith(f".{table}"):
                    return messages[:number]
            time.sleep(0.2)
        raise AssertionError(self.log.read_text()[-3000:])

    def _read(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        *lines, _ = self.path.read_text(encoding="utf-8").split("\n")
        return [{**json.loads(line), "n": number} for number, line in enumerate(lines)]


def postgres_source(server: Postgres, name: str) -> dict[str, str]:
    """Return the settings of the connector of a Postgres; `name` is that of its slot."""
    return {
        "slot.name": name,
        "slot.drop.on.stop": "true",
        "publication.name": name,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "plugin.name": "pgoutput",
        "database.port": str(server.port),
        "database.user": server.user,
        "database.password": "x",
        "database.dbname": "postgres",
        "schema.include.list": "public",
    }


def mariadb_source(server: MariaDb, database: str) -> dict[str, str]:
    """Return the settings of the connector of a MariaDB's database."""
    return {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "schema.history.internal": "io.debezium.relational.history.MemorySchemaHistory",
        "database.port": str(server.port),
        "database.user": "root",
        "database.password": "",
        "database.server.id": "99",
        "database.include.list": database,
    }


@contextmanager
def debezium_engine(
    folder: Path, name: str, source: Mapping[str, str], options: Mapping[str, str]
) -> Iterator[Messages]:
    """Run the engine while the block runs; it snapshots the tables of the source first."""
    properties = {
        "name": name,
        "topic.prefix": name,
        "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
        "database.hostname": HOST,
        **source,
        **options,
    }
    file = folder / f"{name}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    messages = Messages(folder / f"{name}.jsonl", folder / f"{name}.log")
    command = [java("java"), "-Xmx256m", "-cp", _class_path(), "DebeziumFeed"]
    with messages.log.open("w") as log:
        process = subprocess.Popen(
            [*command, str(file), str(messages.path)],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            yield messages
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _class_path() -> str:
    """Return the main's classes, compiled once, and all that they need."""
    folder = jars(HERE / "debezium.xml")
    source = HERE / "DebeziumFeed.java"
    classes = folder / f"classes-{source.stat().st_mtime_ns}"
    with (folder / "classes.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not (classes / "DebeziumFeed.class").exists():
            compiler = [java("javac"), "-cp", f"{folder}/*", "-d", str(classes), str(source)]
            subprocess.run(compiler, check=True, capture_output=True, timeout=120)
    return f"{classes}:{folder}/*"
