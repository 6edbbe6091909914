"""Keep an object store's requests at its own host, against redirects in its answers.

obstore follows redirects, and this can't be switched off. It sends another host a session token of
S3 unchanged, and a signature of Azure in the header Referer. So every host except the store's own
is reached by a proxy at an address where nobody can listen.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from iceberg_spark.io.allowed_places import is_provider_host
from iceberg_spark.lazy import LazyModule

environment = LazyModule("urllib.request")

REDIRECT_HOSTS = "io.redirect-hosts"
_NOWHERE = "127.0.0.1:0"
"""Port 0 means "any free port" to a listener, so no connection to it succeeds."""
_KNOWN_KEYS = ("skip_signature", "credential_provider", "access_key_id", "account_key", "sas_key")
"""Arguments of obstore's stores that contain keys: with them no other host provides keys."""
_KEYS_OF_ENVIRONMENT = {
    "s3": ("AWS_ACCESS_KEY_ID",),
    "abfs": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN"),
}


def pinned_host(
    store: str, arguments: Mapping[str, Any], properties: Mapping[str, str]
) -> dict[str, str]:
    """Return the client's options that refuse redirects to other hosts, {} if that is impossible.

    `arguments` are those of obstore's store. Providers redirect among their own hosts. A client
    that gets its keys from a host, or that needs a proxy, has to reach other hosts.
    """
    host = urlsplit(arguments.get("endpoint") or arguments.get("base_url") or "").hostname
    if not host or is_provider_host(host) or "proxy_url" in arguments["client_options"]:
        return {}
    if not _is_plain(host):
        return {}
    variables = _KEYS_OF_ENVIRONMENT.get(store, ())
    has_keys = any(name in arguments for name in _KNOWN_KEYS) or any(map(os.environ.get, variables))
    has_proxies = any(scheme != "no" for scheme in environment.getproxies())
    if not has_keys or (has_proxies and not environment.proxy_bypass(host)):
        return {}
    allowed = (name.strip() for name in properties.get(REDIRECT_HOSTS, "").split(","))
    hosts = ",".join((host, *filter(None, allowed)))
    return {"proxy_url": f"http://{_NOWHERE}", "proxy_excludes": hosts}


def _is_plain(host: str) -> bool:
    """Return whether a client connects to a host unchanged: `127.1` is `127.0.0.1` to it."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host.isascii() and not host.rpartition(".")[2].isdecimal()
    return True


def is_refused_redirect(error: BaseException) -> bool:
    """Return whether an error of obstore is about a redirect to another host."""
    return _NOWHERE in str(error)
