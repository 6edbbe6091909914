"""Iceberg's reference of a REST catalog (Java, over SQLite) on a free port of this machine."""

import queue
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fcntl import LOCK_EX, flock
from pathlib import Path

from tests.servers.java_jars import SPARK_JARS, jars, java

HERE = Path(__file__).parent
QUIET_LOG = HERE.parents[1] / "conf" / "log4j2.properties"
START_S = 120
OF_SPARK = ("hadoop-client-api", "hadoop-client-runtime", "log4j-", "commons-logging")


@dataclass(frozen=True, slots=True)
class RestServer:
    """Where the server is, and where its tables' files go."""

    uri: str
    warehouse: str


@contextmanager
def rest_server(
    folder: Path, on_s3: tuple[str, Mapping[str, str]] | None = None
) -> Iterator[RestServer]:
    """Run the server; it ends with this process in any case, for it ends with its input.

    `on_s3` is a warehouse there and how it is reached; the server writes by Java's S3FileIO then.
    """
    place, storage = on_s3 or (str(folder / "warehouse"), {})
    path = class_path() + (f":{jars(HERE / 'rest_server_s3.xml')}/*" if on_s3 else "")
    if on_s3:
        storage = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", **storage}
    command = [
        java("java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m",
        f"-Dlog4j2.configurationFile=file:{QUIET_LOG}", "-cp", path, "RestServer",
        str(folder / "catalog.db"), place, *(f"{key}={value}" for key, value in storage.items()),
    ]  # fmt: skip
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            port = first_line(process).removeprefix("PORT ")
            assert port.isdecimal(), (folder / "server.log").read_text()[-3000:]
            yield RestServer(f"http://127.0.0.1:{port}", place)
        finally:
            process.kill()
            process.communicate()


def first_line(process: subprocess.Popen[str]) -> str:
    """What the server says first, waited for a bounded time."""
    said: queue.Queue[str] = queue.Queue()
    out = process.stdout
    assert out is not None
    threading.Thread(target=lambda: said.put(out.readline()), daemon=True).start()
    try:
        return said.get(timeout=START_S).strip()
    except queue.Empty:
        return ""


def class_path() -> str:
    """The server's classes, compiled once, and all that they need."""
    folder = jars(HERE / "rest_server.xml")
    of_spark = [str(jar) for name in OF_SPARK for jar in sorted(SPARK_JARS.glob(f"{name}*.jar"))]
    source = HERE / "RestServer.java"
    path = ":".join([f"{folder}/*", *of_spark])
    classes = folder / f"classes-{source.stat().st_mtime_ns}"
    with (folder / "classes.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not (classes / "RestServer.class").exists():
            compiled = [java("javac"), "-cp", path, "-d", str(classes), str(source)]
            subprocess.run(compiled, check=True, timeout=START_S, capture_output=True)
    return f"{classes}:{path}"
