"""Which server has a location's bucket: the same name may stand for different files elsewhere."""

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
    """Return all that says which server has a location's bucket, and by which client.

    It may hold secrets: never print it. A lasting key counts, since some servers have buckets of
    one name for each of their tenants; a key for a time does not: it is another one each hour.
    """
    kind = location.store_of(where)
    if kind in (location.LOCAL, location.MEMORY):
        return (kind,)
    bucket = location.strip_scheme(where).partition("/")[0]
    lasting = () if any(map(properties.get, _FOR_A_TIME)) else map(properties.get, _KEY)
    settings = map(properties.get, _SERVERS)
    return kind, bucket, *settings, *map(os.environ.get, _IN_ENVIRONMENT), *lasting


def stored_at(io: FileIO, path: str) -> Server:
    """Return what tells a file from another of the same path, for those who keep what they read.

    A local path stands for itself.
    """
    return () if location.is_local(path) else server_of(path, io.properties)
