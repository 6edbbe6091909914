"""The stores and buckets that a table's metadata may name.

Files in other buckets of the table's own store may be read: `add_files` adds files from there, and
a signed S3 request is useless to the owner of such a bucket. New files are only written to the
table's own bucket: the owner of any other bucket could read them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias
from urllib.parse import quote

from iceberg_spark.errors import InvalidOptionError, UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO

ALLOWED_SCHEMES = "io.allowed-schemes"
TABLE_SCHEMES = "io.table-schemes"
"""Set by `FsspecIO.limited_to` and not by users: the places of a table, so that tasks have them."""

_NAME_NODE_PORT = ":8020"  # Hadoop's default


@dataclass(frozen=True, slots=True)
class AllowedPlaces:
    """The stores and buckets of one table: its `own`, and those that the user allows.

    An entry is a store (`s3`), or a store with a bucket or host (`s3://bucket`, see `place_of`).
    `properties` are those of the storage: they name the host of an `hdfs:` location without one,
    and may contain secrets.
    """

    own: frozenset[str]
    by_user: frozenset[str]
    properties: Mapping[str, str] = field(repr=False)

    @property
    def stores(self) -> frozenset[str]:
        """The stores of all entries: `s3` for `s3://bucket`."""
        return frozenset(allowed.partition("://")[0] for allowed in self.own | self.by_user)

    def may_read(self, path: str) -> bool:
        """Return whether a file may be read: any bucket of the table's own stores is allowed."""
        store = location.store_of(path)
        if store in self.by_user or any(
            allowed.partition("://")[0] == store for allowed in self.own
        ):
            return True
        return bool(self.by_user) and place_of(path, self.properties) in self.by_user

    def may_write(self, path: str) -> bool:
        """Return whether a new file may be written: only the table's own buckets are allowed."""
        names = {location.store_of(path), place_of(path, self.properties)}
        return not names.isdisjoint(self.own | self.by_user)


def allowed_places(properties: Mapping[str, str]) -> AllowedPlaces | None:
    """Return the allowed stores and buckets, None if the storage is not limited to one table.

    Raises InvalidOptionError for an entry of `io.allowed-schemes` that names more than a bucket.
    """
    own = properties.get(TABLE_SCHEMES)
    if own is None:
        return None
    own_places = frozenset(entry for entry in own.split(",") if entry)
    return AllowedPlaces(own_places, places_by_user(properties), properties)


def places_by_user(properties: Mapping[str, str]) -> frozenset[str]:
    """Return the places that the storage property `io.allowed-schemes` names.

    `s3a, hdfs://nn:9000` -> `s3`, `hdfs://nn:9000`. Raises InvalidOptionError.
    """
    entries = (entry.strip() for entry in properties.get(ALLOWED_SCHEMES, "").split(","))
    return frozenset(_place_by_user(entry, properties) for entry in entries if entry)


def place_of(path: str, properties: Mapping[str, str]) -> str:
    """Return the store and the bucket or host of a location, in the same spelling for all names.

    `s3a://Bucket/key` -> `s3://bucket`; a local path -> `file`. Commas are escaped, because lists
    of places are separated by them.
    """
    store = location.store_of(path)
    if store == location.LOCAL:
        return store
    host = location.authority(path)
    if store == "hdfs":
        host = _name_node(host, properties)
    elif store == "abfs":  # an account has one host for each of its two protocols
        host = host.replace(".blob.", ".dfs.")
    return f"{store}://{quote(host, safe='@:')}"


def _name_node(host: str, properties: Mapping[str, str]) -> str:
    """Return the host and port that the store connects to; empty for Hadoop's default."""
    host = host or properties.get("hdfs.host", "").lower()
    port = properties.get("hdfs.port", "")
    if host and port and ":" not in host:
        host = f"{host}:{port}"
    return host.removesuffix(_NAME_NODE_PORT)


def _place_by_user(entry: str, properties: Mapping[str, str]) -> str:
    scheme, _, rest = entry.partition(":")
    bucket = rest.removeprefix("//").rstrip("/")
    if not bucket:
        return location.store_of(f"{scheme}:")
    if "/" in bucket or not rest.startswith("//"):
        raise InvalidOptionError(
            f"Storage property {ALLOWED_SCHEMES} has '{entry}': an entry is a scheme, as 's3', or "
            "one with a bucket or host, as 's3://bucket', without a path"
        )
    return place_of(f"{scheme}://{bucket}", properties)


_DOMAINS = (
    ".amazonaws.com", ".amazonaws.com.cn", ".googleapis.com", ".core.windows.net",
    ".core.chinacloudapi.cn", ".core.usgovcloudapi.net", ".storage.azure.net",
    ".fabric.microsoft.com",
)  # fmt: skip
ACCOUNT_HOST = "adls.account-host"
_CONNECTION = "adls.connection-string"


def is_provider_host(host: str) -> bool:
    """Return whether a host is in a provider's own domain."""
    return f".{host.lower().rstrip('.').partition(':')[0]}".endswith(_DOMAINS)


def check_account_host(path: str, properties: Mapping[str, str]) -> None:
    """Refuse to send Azure credentials to a host that only a path names.

    Metadata can name any path: `abfss://container@evil.example.com/x` would get the user's token.
    Raises UnsupportedError naming the property by which the user names such a host.
    """
    if location.store_of(path) != "abfs" or properties.get(_CONNECTION):
        return
    _, separator, host = location.authority(path).partition("@")
    if not separator or is_provider_host(host) or properties.get(ACCOUNT_HOST, "").lower() == host:
        return
    raise UnsupportedError(
        f"Can't open {path}: {host} is not a host of Azure, and would receive your credentials. If "
        f"it is yours, set the storage property {ACCOUNT_HOST} to '{host}'"
    )


Server: TypeAlias = tuple[str | None, ...]

_SERVERS = (
    "s3.endpoint", "s3.region", "client.region", "s3.profile-name", "client.profile-name",
    "s3.proxy-uri", "gcs.service.host", "adls.account-host", "adls.connection-string",
    "adls.account-name", "hdfs.host", "hdfs.port", "py-io-impl",
)  # fmt: skip
_IN_ENVIRONMENT = (
    "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_REGION",
    "AWS_DEFAULT_REGION", "AZURE_STORAGE_ACCOUNT_NAME", "HADOOP_CONF_DIR",
)  # fmt: skip
_KEY = ("s3.access-key-id", "client.access-key-id")
_FOR_A_TIME = ("s3.session-token", "client.session-token")


def server_of(where: str, properties: Mapping[str, str]) -> Server:
    """Return the settings that select the server of a location's bucket, and its client.

    They may contain secrets: never print them. A permanent key counts, since some servers have
    buckets of one name per tenant; a temporary key does not, because it changes every hour.
    """
    kind = location.store_of(where)
    if kind in (location.LOCAL, location.MEMORY):
        return (kind,)
    bucket = location.strip_scheme(where).partition("/")[0]
    lasting = () if any(map(properties.get, _FOR_A_TIME)) else map(properties.get, _KEY)
    settings = map(properties.get, _SERVERS)
    return kind, bucket, *settings, *map(os.environ.get, _IN_ENVIRONMENT), *lasting


def storage_server(io: FileIO, path: str) -> Server:
    """Return a cache key that distinguishes files with the same path on different servers.

    A local path is enough on its own.
    """
    return () if location.is_local(path) else server_of(path, io.properties)
