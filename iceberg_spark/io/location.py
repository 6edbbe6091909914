"""Locations as table metadata spells them: split, joined, normalised and compared as text.

A location is kept as it was written; it is never percent-decoded, as Java keeps it.
"""

from __future__ import annotations

import os
import re

LOCAL = "file"
MEMORY = "memory"

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.\-]*):")

_SAME_STORE = {
    "s3a": "s3",
    "s3n": "s3",
    "abfss": "abfs",
    "wasb": "abfs",
    "wasbs": "abfs",
    "gcs": "gs",
    "local": LOCAL,
}
"""Schemes that name one store, and the one they are compared and opened by."""


def scheme(location: str) -> str:
    """Return the scheme of a location, `file` where it has none."""
    found = _SCHEME.match(location)
    return found.group(1).lower() if found else LOCAL


def store_of(location: str) -> str:
    """Return the scheme by which a location's store is known: `s3` for `s3a`, and so on."""
    kind = scheme(location)
    return _SAME_STORE.get(kind, kind)


def is_local(location: str) -> bool:
    """Return whether a location is on the local file system."""
    return store_of(location) == LOCAL


def strip_scheme(location: str) -> str:
    """Return a location without its scheme and, for a local one, without an empty authority."""
    found = _SCHEME.match(location)
    if not found:
        return location
    rest = location[found.end() :]
    if store_of(location) == LOCAL:
        return _local_rest(rest)
    return rest.removeprefix("//")


def _local_rest(rest: str) -> str:
    """`///a`, `//localhost/a`, `/a` -> `/a`."""
    if rest.startswith("//"):
        _, slash, path = rest[2:].partition("/")
        return slash + path
    return rest


def normalise(location: str) -> str:
    """Return one spelling for all spellings of a location: no `//`, no slash at the end.

    `/a`, `file:/a` and `file:///a/` all give `file:/a`; `s3a://b//c` gives `s3://b/c`.
    """
    rest = re.sub(r"/{2,}", "/", strip_scheme(location)).rstrip("/")
    if is_local(location):
        return f"{LOCAL}:{rest or '/'}"
    return f"{store_of(location)}://{rest.lstrip('/')}"


def same_file(left: str, right: str) -> bool:
    """Return whether two locations name one file, however they are spelt."""
    return left == right or normalise(left) == normalise(right)


def join(base: str, *parts: str) -> str:
    """Return the location of something below a folder."""
    inner = [part.strip("/") for part in parts]
    root = base.rstrip("/")
    return "/".join([root, *(part for part in inner if part)])


def parent(location: str) -> str:
    """Return the folder that holds a location."""
    return location.rstrip("/").rpartition("/")[0]


def name(location: str) -> str:
    """Return the last part of a location."""
    return location.rstrip("/").rpartition("/")[2]


def is_absolute(location: str) -> bool:
    """Return whether a location stands for itself: it has a scheme or starts with a slash."""
    return location.startswith("/") or _SCHEME.match(location) is not None


def absolute(location: str) -> str:
    """Return a location that does not depend on the current folder."""
    return location if is_absolute(location) else os.path.abspath(location)
