"""Whether Hadoop would access the same store with the same credentials as a table's FileIO."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

Setting = Callable[[str], str | None]
"""A setting of Hadoop's by its name; None where it has none."""

_ENDPOINT = "s3.endpoint"
_KEYS = {
    "access-key-id": "access.key",
    "secret-access-key": "secret.key",
    "session-token": "session.token",
}
_PROVIDER = "aws.credentials.provider"
_OF_KEYS = ("SimpleAWSCredentialsProvider", "TemporaryAWSCredentialsProvider")
_SAY_NOTHING = frozenset({
    "s3.region", "client.region", "s3.connect-timeout", "s3.request-timeout",
    "s3.path-style-access", "s3.force-virtual-addressing", "s3.server-side-encryption",
    "s3.sse-kms-key-id", "s3.sse.type", "s3.sse.key",
})  # fmt: skip
"""Properties that change neither whose objects are read nor with whose rights."""


def foreign_s3_property(properties: Mapping[str, str], bucket: str, setting: Setting) -> str | None:
    """Return a storage property that differs from Hadoop's S3A settings; None if all agree.

    Settings of one bucket (`fs.s3a.bucket.NAME.*`) take precedence, as in S3A.
    """

    def of_s3a(name: str) -> str | None:
        return setting(f"fs.s3a.bucket.{bucket}.{name}") or setting(f"fs.s3a.{name}") or None

    remaining = {
        key: value
        for key, value in properties.items()
        if key.startswith(("s3.", "client.")) and value and key not in _SAY_NOTHING
    }
    keys = {
        name: remaining.pop(f"s3.{name}", None) or remaining.get(f"client.{name}") for name in _KEYS
    }
    for name in _KEYS:
        remaining.pop(f"client.{name}", None)
    endpoint = remaining.pop(_ENDPOINT, None)
    if remaining:
        return min(remaining)
    if endpoint is not None and _address(endpoint, of_s3a) != _address(of_s3a("endpoint"), of_s3a):
        return _ENDPOINT
    return _foreign_key(keys, of_s3a) if any(keys.values()) else None


def _foreign_key(keys: Mapping[str, str | None], of_s3a: Setting) -> str | None:
    for name, key in _KEYS.items():
        if keys[name] != of_s3a(key):
            return f"s3.{name}"
    provider = of_s3a(_PROVIDER)
    uses_keys = provider is None or any(name in provider for name in _OF_KEYS)
    return None if uses_keys else "s3.access-key-id"


def _address(endpoint: str | None, of_s3a: Setting) -> tuple[str, str] | None:
    """Return the scheme and host of an endpoint. Hadoop's may lack the scheme."""
    if endpoint is None:
        return None
    text = endpoint.strip()
    if "://" not in text:
        is_plain = (of_s3a("connection.ssl.enabled") or "true").strip().lower() == "false"
        text = f"{'http' if is_plain else 'https'}://{text}"
    parts = urlsplit(text.rstrip("/"))
    return parts.scheme.lower(), f"{parts.netloc.lower()}{parts.path}"
