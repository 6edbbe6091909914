"""What a catalog's server may decide for its client (`docs/security.md`).

Every property that a server sends, for the catalog or for a table, passes through here. The user's
own properties do not: the user decides everything. A server decides how to use its own credentials.
It may not direct the user's secrets to other hosts, sign requests with the user's keys, or access
this machine.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import urlsplit

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.io import location
from iceberg_spark.io.allowed_places import ALLOWED_SCHEMES, is_provider_host, places_by_user
from iceberg_spark.spec.secrets import is_secret


class Ruling(Enum):
    """Who may set a property."""

    HARMLESS = "anybody"
    OWN = "a server, for its own credentials"
    ADDRESS = "the user, or a server that names its own host"
    USER = "the user alone"


_RULINGS: Mapping[str, Ruling] = {
    # a name, or the beginning of names (with a dot or a hyphen at its end)
    "header.host": Ruling.USER,
    "header.authorization": Ruling.USER,
    "header.cookie": Ruling.USER,
    "header.proxy-": Ruling.USER,
    "header.x-amz-": Ruling.USER,
    "header.": Ruling.HARMLESS,
    "rest.sigv4-": Ruling.USER,
    "rest.signing-": Ruling.USER,
    "rest.auth.": Ruling.USER,
    "rest.access-key-id": Ruling.USER,
    "rest.secret-access-key": Ruling.USER,
    "rest.session-token": Ruling.USER,
    "rest.client.": Ruling.HARMLESS,
    "rest-": Ruling.HARMLESS,
    "auth": Ruling.USER,
    "auth.": Ruling.USER,
    "ssl.": Ruling.USER,
    "io.": Ruling.USER,
    "credential": Ruling.USER,
    "tasks.allow-credential": Ruling.USER,
    "view.allow-code": Ruling.USER,
    "s3.proxy-uri": Ruling.USER,
    "s3.profile-name": Ruling.USER,
    "s3.role-": Ruling.USER,
    "client.profile-name": Ruling.USER,
    "client.role-": Ruling.USER,
    "gcs.session-kwargs": Ruling.USER,
    "uri": Ruling.ADDRESS,
    "oauth2-server-uri": Ruling.ADDRESS,
    "client.refresh-credentials-endpoint": Ruling.ADDRESS,
    "s3.signer.uri": Ruling.ADDRESS,
    "s3.signer.endpoint": Ruling.ADDRESS,
    "signer.uri": Ruling.ADDRESS,
    "signer.endpoint": Ruling.ADDRESS,
    "scan-planning-mode": Ruling.HARMLESS,
    "token": Ruling.OWN,
    "token-": Ruling.OWN,
    "urn:": Ruling.OWN,
    "expiration-time": Ruling.OWN,
    "s3.access-key-id": Ruling.OWN,
    "s3.secret-access-key": Ruling.OWN,
    "s3.session-token": Ruling.OWN,
    "s3.session-token-": Ruling.OWN,
    "client.access-key-id": Ruling.OWN,
    "client.secret-access-key": Ruling.OWN,
    "client.session-token": Ruling.OWN,
    "gcs.oauth2.": Ruling.OWN,
    "adls.sas-token": Ruling.OWN,
    "adls.sas-token.": Ruling.OWN,
    "adls.sas-token-": Ruling.OWN,
    "adls.account-key": Ruling.OWN,
    "adls.token": Ruling.OWN,
    "adls.connection-string": Ruling.OWN,
    "adls.credential": Ruling.OWN,
    "adls.client-": Ruling.OWN,
    "adls.tenant-id": Ruling.OWN,
    "s3.": Ruling.HARMLESS,
    "gcs.": Ruling.HARMLESS,
    "adls.": Ruling.HARMLESS,
    "client.": Ruling.HARMLESS,
    "client-": Ruling.USER,
    "hdfs.": Ruling.USER,
    "prefix": Ruling.HARMLESS,
    "warehouse": Ruling.HARMLESS,
    "scope": Ruling.HARMLESS,
    "audience": Ruling.HARMLESS,
    "resource": Ruling.HARMLESS,
    "namespace-separator": Ruling.HARMLESS,
    "view-endpoints-supported": Ruling.HARMLESS,
    "py-io-impl": Ruling.HARMLESS,
    "io-impl": Ruling.HARMLESS,
}
_STORE_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    "gcs.service.host": ("gcs.oauth2.token",),
    "adls.account-host": ("adls.sas-token", "adls.token", "adls.account-key"),
    "adls.connection-string": ("adls.connection-string",),
}
"""Properties with the host of a store, and prefixes of the secrets that it receives."""
_WITHOUT_SECRETS = ("gcs.anonymous", "adls.anon")
_S3_ENDPOINT = "s3.endpoint"


def ruling_of(name: str) -> Ruling | None:
    """Return who may set a property, None for a name that this library does not read."""
    name = name.lower()
    if name in _RULINGS:
        return _RULINGS[name]
    starts = [start for start in _RULINGS if start[-1] in ".-" and name.startswith(start)]
    return _RULINGS[max(starts, key=len)] if starts else None


def gets_secrets(name: str) -> bool:
    """Return whether a property names a host that receives bearer secrets."""
    return ruling_of(name) is Ruling.ADDRESS or name in _STORE_ADDRESSES


@dataclass(frozen=True, slots=True)
class Trust:
    """Decides for one catalog; `user` are the properties that the user set, with its `uri`."""

    catalog: str
    user: Mapping[str, str] = field(repr=False)

    def accepted(self, server: Mapping[str, str], source: str) -> dict[str, str]:
        """Return the accepted properties of a server: those that the user did not set.

        `source` names their origin in an error. Raises UnsupportedError for a property that only
        the user may set.
        """
        accepted: dict[str, str] = {}
        for name, value in server.items():
            if self.user.get(name) == value:
                accepted[name] = value
                continue
            ruling = ruling_of(name)
            if ruling is Ruling.USER:
                raise self._refused(name, source, "only you may set it")
            if ruling is Ruling.ADDRESS and self._has_secrets and not self._is_own_address(value):
                raise self._refused(name, source, "it would get your secrets, and is another host")
            if name == _S3_ENDPOINT and _is_plain_provider(value):
                raise self._refused(name, source, "it is a provider's host without TLS")
            accepted[name] = value
        return accepted

    def check_stores(self, server: Mapping[str, str], source: str) -> None:
        """Refuse store addresses that would get secrets which the server does not own.

        A signature of S3 cannot be used at another host, so the server may choose its endpoint.
        """
        for name, secrets in _STORE_ADDRESSES.items():
            address = server.get(name)
            if address is None or self.user.get(name) == address or _is_provider(address):
                continue
            has_own = any(key.startswith(secrets) for key in server)
            is_open = any(server.get(key, "").lower() == "true" for key in _WITHOUT_SECRETS)
            if not has_own and not is_open:
                raise self._refused(name, source, "it would get your secrets, and is another host")

    def check_local(self, path: str) -> None:
        """Refuse a path on this machine that the catalog of another machine names.

        The user allows such paths by `io.allowed-schemes`. Raises UnsupportedError.
        """
        if not location.is_local(path) or is_this_machine(self.user.get("uri", "")):
            return
        if location.LOCAL not in places_by_user(self.user):
            raise UnsupportedError(
                f"Catalog '{self.catalog}' is on another machine and names the local path {path}; "
                f"if both machines mount it, set the property {ALLOWED_SCHEMES} to 'file'"
            )

    @property
    def _has_secrets(self) -> bool:
        """Whether the user set anything that another host could misuse."""
        signs = self.user.get("rest.sigv4-enabled", "").lower() == "true"
        return signs or any(is_secret(name, value) for name, value in self.user.items())

    def _is_own_address(self, address: str) -> bool:
        """Return whether an address is the catalog's host, or one that the user named, with TLS."""
        parts = urlsplit(address)
        if not parts.scheme and not parts.netloc:
            return True  # a path on the catalog's server
        named = [self.user[name] for name in _ADDRESSES if name in self.user]
        return any(
            _host(address) == _host(other) and not (_has_tls(other) and not _has_tls(address))
            for other in named
        )

    def _refused(self, name: str, source: str, reason: str) -> UnsupportedError:
        return UnsupportedError(
            f"{source} sets '{name}', and {reason}. If you trust the server in this, set '{name}' "
            f"yourself for catalog '{self.catalog}': in load_catalog, its configuration or "
            "the session's"
        )


_ADDRESSES = tuple(name for name, ruling in _RULINGS.items() if ruling is Ruling.ADDRESS)


def is_this_machine(uri: str) -> bool:
    """Return whether addresses, separated by commas, are this machine's; a file has no host."""
    hosts = (_host(address.strip().removeprefix("jdbc:")) for address in uri.split(","))
    return all(host in ("", "localhost") for host in hosts)


def _host(address: str) -> str:
    """Return the host of an address in lower case; all names of this machine are one host."""
    host = (urlsplit(address).hostname or "").lower().rstrip(".")
    try:
        return "localhost" if ipaddress.ip_address(host).is_loopback else host
    except ValueError:
        return host


def _has_tls(address: str) -> bool:
    return urlsplit(address).scheme.lower() == "https"


def _is_provider(address: str) -> bool:
    """Return whether an address is a provider's own, with TLS; Azure's are hosts alone."""
    if "://" not in address:
        return is_provider_host(address.partition("/")[0])
    return _has_tls(address) and is_provider_host(_host(address))


def _is_plain_provider(address: str) -> bool:
    return "://" in address and not _has_tls(address) and is_provider_host(_host(address))
