"""azurite, which speaks Azure's Blob service."""

from __future__ import annotations

import base64
import hmac
import http.client
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fcntl import LOCK_EX, flock
from pathlib import Path

from tests.servers.processes import HOST, accepts, free_port, running

_VERSION = "3.37.0"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""azurite's own, which everybody knows."""
_INSTALL_S = 600


def program() -> Path:
    """azurite's program of the blob service; one process installs it."""
    home = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "iceberg-spark-tests"
    folder = home / f"azurite-{_VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    main = folder / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    with (folder / "lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if not main.exists():
            options = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
            done = subprocess.run(
                ["npm", "install", *options, f"azurite@{_VERSION}"],
                capture_output=True,
                text=True,
                timeout=_INSTALL_S,
                check=False,
            )
            assert done.returncode == 0, f"azurite can't be installed: {done.stderr[-3000:]}"
    return main


@contextmanager
def azure_server() -> Iterator[dict[str, str]]:
    """Serve Azure's store with an empty container `bucket`; gives the storage properties."""
    port = free_port()
    url = f"http://{HOST}:{port}/{ACCOUNT}"
    command = [
        "node", str(program()), "--blobHost", HOST, "--blobPort", str(port),
        "--inMemoryPersistence", "--silent", "--skipApiVersionCheck", "--disableTelemetry",
    ]  # fmt: skip
    with (
        tempfile.TemporaryDirectory(prefix="azurite-") as home,
        running(command, Path(home) / "log", lambda: accepts(port)),
    ):
        _make_container(port)
        yield {
            "adls.connection-string": f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};"
            f"AccountKey={KEY};BlobEndpoint={url}"
        }


def _make_container(port: int) -> None:
    """Create the container, by a request that is signed as Azure's "Shared Key" says."""
    now = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    headers = {"x-ms-date": now, "x-ms-version": "2021-12-02"}
    named = "".join(f"{key}:{value}\n" for key, value in headers.items())
    text = "PUT" + "\n" * 12 + named + f"/{ACCOUNT}/{ACCOUNT}/bucket\nrestype:container"
    digest = hmac.digest(base64.b64decode(KEY), text.encode(), "sha256")
    headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(digest).decode()}"
    server = http.client.HTTPConnection(HOST, port, timeout=30)
    server.request("PUT", f"/{ACCOUNT}/bucket?restype=container", headers=headers)
    answer = server.getresponse()
    assert answer.status == http.client.CREATED, answer.read()
    server.close()
