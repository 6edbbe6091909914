"""The catalogs and stores on which Java and the product take turns, and how each reaches them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

from tests.servers.azure_server import ACCOUNT, KEY, azure_server
from tests.servers.gcs_server import gcs_server
from tests.servers.hdfs_server import hdfs_server
from tests.servers.moto import moto_server as amazon_server
from tests.servers.nessie import nessie_server
from tests.servers.rest_server import rest_server
from tests.servers.s3_servers import S3Server, moto_server, versitygw_server

_AWS = "org.apache.iceberg.aws"
_S3_IO = f"{_AWS}.s3.S3FileIO"
_GCS_IO = "org.apache.iceberg.gcp.gcs.GCSFileIO"
_ADLS_IO = "org.apache.iceberg.azure.adlsv2.ADLSFileIO"
V3, RENAME, BRANCHES, HISTORY = "v3", "rename", "branches", "history"
PROPERTIES, PURGE = "properties of namespaces", "purge"


@dataclass(frozen=True, slots=True)
class Kind:
    """One catalog by both; `lacks` is what it has not, whoever asks."""

    ours: Mapping[str, str]
    javas: Mapping[str, str]
    lacks: frozenset[str] = frozenset()


Started = AbstractContextManager[Kind]


def _s3(server: S3Server) -> dict[str, str]:
    """What Java's S3FileIO needs."""
    return {"io-impl": _S3_IO, "client.region": "us-east-1", **server.properties}


def _in_sqlite(
    folder: Path, warehouse: str, ours: Mapping[str, str], javas: Mapping[str, str]
) -> Kind:
    """A catalog in SQLite whose tables lie in a store."""
    at = f"{folder}/catalog.db"
    return Kind(
        {"type": "sql", "uri": f"sqlite:///{at}", "warehouse": warehouse, **ours},
        {"type": "jdbc", "uri": f"jdbc:sqlite:{at}", "warehouse": warehouse,
         "jdbc.schema-version": "V1", **javas},
    )  # fmt: skip


@contextmanager
def sql_on_s3(
    server: Callable[[], AbstractContextManager[S3Server]], folder: Path
) -> Iterator[Kind]:
    with server() as s3:
        yield _in_sqlite(folder, "s3://bucket/wh", s3.properties, _s3(s3))


@contextmanager
def rest_on_s3(folder: Path) -> Iterator[Kind]:
    with moto_server() as s3:
        given = {"client.region": "us-east-1", **s3.properties}
        with rest_server(folder, ("s3://bucket/wh", given)) as rest:
            named = {"type": "rest", "uri": rest.uri}
            yield Kind({**named, **s3.properties}, {**named, **_s3(s3)})


@contextmanager
def folder_on_s3(folder: Path) -> Iterator[Kind]:
    """Tables without a catalog; Java's Hadoop catalog goes by Hadoop's S3A."""
    with versitygw_server() as s3:
        given = s3.properties
        hadoop = {
            "endpoint": given["s3.endpoint"],
            "access.key": given["s3.access-key-id"],
            "secret.key": given["s3.secret-access-key"],
            "path.style.access": "true",
            "endpoint.region": "us-east-1",
            "impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        }
        named = {"type": "hadoop", "warehouse": "s3a://bucket/wh"}
        javas = {f"hadoop.fs.s3a.{key}": value for key, value in hadoop.items()}
        yield Kind({**named, **given}, {**named, **javas}, frozenset({RENAME, PROPERTIES}))


@contextmanager
def hdfs(folder: Path) -> Iterator[Kind]:
    with hdfs_server(folder) as root:
        named = {"type": "hadoop", "warehouse": f"{root}/wh"}
        yield Kind(named, named, frozenset({RENAME, PROPERTIES}))


@contextmanager
def nessie(folder: Path) -> Iterator[Kind]:
    with nessie_server() as server:
        named = {"type": "rest", "uri": server.uri, "warehouse": "w"}
        lacks = frozenset({V3, BRANCHES, HISTORY, PURGE})
        yield Kind({**named, **server.store.properties}, {**named, **_s3(server.store)}, lacks)


@contextmanager
def amazon(kind: str, folder: Path) -> Iterator[Kind]:
    """Glue and DynamoDB, their tables in the S3 of the same moto."""
    with amazon_server() as server:
        given = dict(server.properties(kind, folder))
        make_bucket(server.port)
        given["warehouse"] = "s3://bucket/wh"
        on_s3 = S3Server(server.port).properties
        impl = {"glue": f"{_AWS}.glue.GlueCatalog", "dynamodb": f"{_AWS}.dynamodb.DynamoDbCatalog"}
        javas = {"catalog-impl": impl[kind], **given, "io-impl": _S3_IO, **on_s3}
        del javas["type"]
        yield Kind({**given, **on_s3}, javas)


def make_bucket(port: int) -> None:
    asked = Request(f"http://127.0.0.1:{port}/bucket", method="PUT")
    asked.add_header("Authorization", "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/b")
    urlopen(asked, timeout=30).close()


@contextmanager
def google(folder: Path) -> Iterator[Kind]:
    with gcs_server() as given:
        javas = {"io-impl": _GCS_IO, "gcs.service.host": given["gcs.service.host"],
                 "gcs.no-auth": "true", "gcs.project-id": "p"}  # fmt: skip
        yield _in_sqlite(folder, "gs://bucket/wh", given, javas)


@contextmanager
def azure(folder: Path) -> Iterator[Kind]:
    with azure_server() as given:
        text = given["adls.connection-string"]
        endpoint = text.rpartition("BlobEndpoint=")[2]
        javas = {
            "io-impl": _ADLS_IO,
            f"adls.connection-string.{ACCOUNT}.dfs.core.windows.net": endpoint,
            "adls.auth.shared-key.account.name": ACCOUNT,
            "adls.auth.shared-key.account.key": KEY,
        }
        where = f"abfss://bucket@{ACCOUNT}.dfs.core.windows.net/wh"
        yield _in_sqlite(folder, where, given, javas)


KINDS: dict[str, Callable[[Path], Started]] = {
    "SQL on S3 (moto)": partial(sql_on_s3, moto_server),
    "SQL on S3 (versitygw)": partial(sql_on_s3, versitygw_server),
    "REST on S3": rest_on_s3,
    "a folder on S3": folder_on_s3,
    "Nessie": nessie,
    "Glue": partial(amazon, "glue"),
    "DynamoDB": partial(amazon, "dynamodb"),
    "Google": google,
    "Azure": azure,
    "HDFS": hdfs,
}
