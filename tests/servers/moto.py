"""AWS Glue, DynamoDB and S3 by moto, on loopback.

moto takes every update of a Glue table, whatever version it is for, and looks for an object, or at
an item of DynamoDB, before it writes it while others do the same: in one of 400 rounds two of eight
threads put an item for the same version. Glue refuses updates of a former version, S3 and DynamoDB
let one of many win, and commits rest on that: so this server does, too.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from tests.servers.processes import HOST, ROOT, accepts, free_port, running


@dataclass(frozen=True, slots=True)
class Moto:
    """A running moto."""

    port: int

    @property
    def uri(self) -> str:
        return f"http://{HOST}:{self.port}"

    def properties(self, kind: str, warehouse: Path) -> dict[str, str]:
        """A catalog's of type `glue` or `dynamodb`."""
        return {
            "type": kind,
            "warehouse": str(warehouse),
            f"{kind}.endpoint": self.uri,
            "client.region": "us-east-1",
            "client.access-key-id": "access",
            "client.secret-access-key": "secret",
        }


@contextmanager
def moto_server() -> Iterator[Moto]:
    """Serve a new moto while the block runs."""
    server = Moto(free_port())
    with tempfile.TemporaryDirectory(prefix="moto-") as home:
        command = [sys.executable, "-m", "tests.servers.moto", str(server.port)]
        path = f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"
        log, ready = Path(home) / "log", lambda: accepts(server.port)
        with running(command, log, ready, env={"PYTHONPATH": path}):
            yield server


def compare_versions() -> None:
    """Let moto refuse an update of a Glue table that is not for its newest version."""
    from moto.glue.exceptions import JsonRESTError  # noqa: PLC0415 (only here is moto needed)
    from moto.glue.responses import GlueResponse  # noqa: PLC0415

    update, one = GlueResponse.update_table, threading.Lock()

    def compared(self: Any) -> Any:
        given = self.parameters
        with one:
            table = self.glue_backend.get_table(given["DatabaseName"], given["TableInput"]["Name"])
            newest = table.as_dict()["VersionId"]
            if given.get("VersionId", newest) != newest:
                raise JsonRESTError("ConcurrentModificationException", "Update table failed")
            return update(self)

    GlueResponse.update_table = compared


def write_one_by_one() -> None:
    """Let nobody write between another's look, at an object or an item, and its write."""
    from moto.dynamodb.responses import DynamoHandler  # noqa: PLC0415
    from moto.s3.responses import S3Response  # noqa: PLC0415

    items = ("put_item", "update_item", "delete_item", "transact_write_items")
    for kind, names in ((S3Response, ("put_object",)), (DynamoHandler, items)):
        one = threading.Lock()
        for name in names:
            setattr(kind, name, _alone(getattr(kind, name), one))


def _alone(write: Callable[[Any], Any], one: threading.Lock) -> Callable[[Any], Any]:
    @wraps(write)
    def alone(self: Any) -> Any:
        with one:
            return write(self)

    return alone


def main(port: int) -> None:
    """Serve until whoever started this ends it, or is gone."""
    from moto.server import DomainDispatcherApplication, create_backend_app  # noqa: PLC0415
    from werkzeug.serving import run_simple  # noqa: PLC0415

    compare_versions()
    write_one_by_one()
    app = DomainDispatcherApplication(create_backend_app)
    serve = threading.Thread(
        target=run_simple, args=(HOST, port, app), kwargs={"threaded": True}, daemon=True
    )
    serve.start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
