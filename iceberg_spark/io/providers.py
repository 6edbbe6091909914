"""The domains in which the providers of object stores answer themselves."""

from __future__ import annotations

from collections.abc import Mapping

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io import location

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
