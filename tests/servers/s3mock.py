"""Adobe's S3Mock: an S3 in a JVM whose conditional PUTs are not atomic."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.servers.java_jars import jars, java
from tests.servers.processes import HOST, accepts, free_port, running
from tests.servers.s3_servers import S3Server

HERE = Path(__file__).parent
_MEMORY = "-Xmx192m"


@contextmanager
def s3mock_server() -> Iterator[S3Server]:
    """Serve S3Mock, its files in a folder of its own."""
    server = S3Server(free_port())
    with tempfile.TemporaryDirectory(prefix="s3mock-") as home:
        command = [
            java("java"), _MEMORY, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            f"-Dhttp.port={server.port}", "-Dserver.port=0", f"-Dserver.address={HOST}",
            f"-Djava.io.tmpdir={home}", "-jar", str(program()),
        ]  # fmt: skip
        env = {"COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS": "bucket"}
        with running(command, Path(home) / "log", lambda: accepts(server.port), env=env):
            yield server


def program() -> Path:
    """S3Mock's jar."""
    return next(jars(HERE / "s3mock.xml").glob("*.jar"))
