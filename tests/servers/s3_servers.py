"""Real servers that speak S3: moto, and versitygw, which can be made to ignore conditions."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.request import Request, urlopen

from tests.servers import moto
from tests.servers.go_program import go_program
from tests.servers.processes import HOST, accepts, free_port, running

_ACCESS, _SECRET = "access", "secret-of-tests"


@dataclass(frozen=True, slots=True)
class S3Server:
    """A server with an empty bucket `bucket`."""

    port: int

    @property
    def properties(self) -> dict[str, str]:
        """Storage properties that lead there."""
        return {
            "s3.endpoint": f"http://{HOST}:{self.port}",
            "s3.access-key-id": _ACCESS,
            "s3.secret-access-key": _SECRET,
            "s3.region": "us-east-1",
            "s3.path-style-access": "true",
        }


@contextmanager
def moto_server() -> Iterator[S3Server]:
    """Serve moto: conditional PUTs are right."""
    with moto.moto_server() as served:
        asked = Request(f"{served.uri}/bucket", method="PUT")
        asked.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/b")
        urlopen(asked, timeout=30).close()
        yield S3Server(served.port)


def program() -> Path:
    """versitygw's program."""
    return go_program("github.com/versity/versitygw/cmd/versitygw", "v1.8.0")


@contextmanager
def versitygw_server(*, obeys_conditions: bool = True) -> Iterator[S3Server]:
    """Serve versitygw over a folder; without metadata it ignores every condition."""
    server = S3Server(free_port())
    home = Path(tempfile.mkdtemp(prefix="versitygw-"))
    try:
        (home / "files" / "bucket").mkdir(parents=True)
        command = [
            str(program()), "--port", f"{HOST}:{server.port}", "--access", _ACCESS,
            "--secret", _SECRET, "--quiet", "posix", *([] if obeys_conditions else ["--nometa"]),
            "files",
        ]  # fmt: skip
        with running(command, home / "log", lambda: accepts(server.port)):
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)
