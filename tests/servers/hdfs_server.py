"""Hadoop's mini-cluster: a name node and a data node in one JVM, beside PySpark's own Hadoop."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.java_jars import SPARK_JARS, jars, java
from tests.servers.rest_server import QUIET_LOG, first_line

HERE = Path(__file__).parent


def program() -> Path:
    """The folder with the mini-cluster's jar."""
    return jars(HERE / "hdfs_server.xml")


@contextmanager
def hdfs_server(folder: Path) -> Iterator[str]:
    """Run HDFS below a folder; gives `hdfs://host:port`. It ends with its input."""
    parts = [f"{program()}/*", f"{SPARK_JARS}/*"]
    command = [
        java("java"), "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx300m",
        f"-Dlog4j2.configurationFile=file:{QUIET_LOG}", "-cp", ":".join(parts),
        str(HERE / "HdfsServer.java"), str(folder / "hdfs"),
    ]  # fmt: skip
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            port = first_line(process).removeprefix("PORT ")
            assert port.isdecimal(), (folder / "server.log").read_text()[-3000:]
            yield f"hdfs://127.0.0.1:{port}"
        finally:
            process.kill()
            process.communicate()
