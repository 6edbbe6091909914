"""A REST catalog that signs requests to S3 for its tables, over the small server of unit tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from tests.servers.s3_servers import S3Server
from tests.unit.catalog.rest.small_server import SmallServer, on_network


class _WithoutBody(S3SigV4Auth):  # type: ignore[misc] (botocore ships no types)
    """Signs for any body, which the signer does not see."""

    def payload(self, _: AWSRequest) -> str:
        return "UNSIGNED-PAYLOAD"


@dataclass
class SigningCatalog:
    """Signs by the keys of an S3 server, which clients never get."""

    store: S3Server
    uri: str = ""
    cache_control: str = ""
    signed: list[dict[str, Any]] = field(default_factory=list)
    refuses: Callable[[dict[str, Any]], bool] = lambda _: False

    def answer(self, request: httpx.Request, otherwise: Callable[[], httpx.Response]) -> Any:
        if not request.url.path.endswith("/sign"):
            return otherwise()
        node = json.loads(request.content)
        self.signed.append({**node, "authorization": request.headers.get("authorization")})
        if self.refuses(node):
            error = {"message": "not yours", "type": "ForbiddenException", "code": 403}
            return httpx.Response(403, json={"error": error})
        headers = {"Cache-Control": self.cache_control} if self.cache_control else {}
        return httpx.Response(200, json=self._sign(node), headers=headers)

    def _sign(self, node: dict[str, Any]) -> dict[str, Any]:
        properties = self.store.properties
        keys = properties["s3.access-key-id"], properties["s3.secret-access-key"]
        named = {key: ", ".join(values) for key, values in node["headers"].items()}
        signed = {k: v for k, v in named.items() if k.lower().startswith(("x-amz-", "content-md5"))}
        request = AWSRequest(node["method"], node["uri"], headers=signed)
        _WithoutBody(Credentials(*keys), "s3", node["region"]).add_auth(request)
        return {"uri": node["uri"], "headers": {k: [v] for k, v in request.headers.items()}}


class _Bucket(type(Path())):  # type: ignore[misc] (a folder of tables in S3)
    def __truediv__(self, name: str) -> Any:
        return f"s3://bucket/{name}"


@contextmanager
def signing_catalog(store: S3Server, **config: str) -> Iterator[SigningCatalog]:
    """Serve a catalog with tables in the bucket of a store."""
    signing = SigningCatalog(store)
    told = {
        key: value
        for key, value in store.properties.items()
        if key not in ("s3.access-key-id", "s3.secret-access-key")
    }
    lock = threading.Lock()

    def meets(request: httpx.Request, otherwise: Callable[[], httpx.Response]) -> Any:
        if request.url.path.endswith("/sign"):
            return signing.answer(request, otherwise)
        with lock:
            return otherwise()

    server = SmallServer(_Bucket(), config={**told, "s3.remote-signing-enabled": "true", **config})
    server.meets = meets
    with on_network(server) as uri:
        signing.uri = uri
        yield signing
