"""The server of a location's bucket: elsewhere the same name may stand for different files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TypeAlias

from iceberg_spark.io import location
from iceberg_spark.io.file_io import FileIO

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


def stored_at(io: FileIO, path: str) -> Server:
    """Return a cache key that distinguishes files with the same path on different servers.

    A local path is enough on its own.
    """
    return () if location.is_local(path) else server_of(path, io.properties)
