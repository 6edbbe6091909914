"""Locations as in table metadata: split, joined, normalised and compared as text.

A location is kept unchanged. Like in Java it is never percent-decoded, except for http: Hadoop's
Path quotes a `%`, S3FileIO uses the key unchanged.
"""

from __future__ import annotations

import os
import re
from urllib.parse import unquote

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
    """Return the scheme of a location, `file` if it has none."""
    match = _SCHEME.match(location)
    return match.group(1).lower() if match else LOCAL


def store_of(location: str) -> str:
    """Return the canonical scheme of a location's store: `s3` for `s3a`, and so on."""
    if location.startswith("/"):  # a fast path: called for each of very many files
        return LOCAL
    kind = scheme(location)
    return _SAME_STORE.get(kind, kind)


def is_local(location: str) -> bool:
    """Return whether a location is on the local file system."""
    return store_of(location) == LOCAL


HADOOP = frozenset({"hdfs", "webhdfs", "viewfs", "dbfs"})
"""Stores whose locations name a host, often left out, and a path that Hadoop normalises."""
_BUCKETS = frozenset({"s3", "gs", "abfs", "http", "https", MEMORY})
"""Stores whose locations begin with a bucket, container or host, however many slashes precede it.

Any other scheme (`hdfs`, `viewfs`, `dbfs`, one that no library here opens) is read as Hadoop's Path
reads it: an authority only after `//`, often left out, and a path that is normalised.
"""
_ENCODED = frozenset({"http", "https"})
_ODD = re.compile(r"//|/\.{1,2}(?:/|$)")


def strip_scheme(location: str) -> str:
    """Return a location without its scheme and, for a local one, without an empty authority.

    `..` in a local path is resolved as text, like Java does (Hadoop's Path).
    """
    match = _SCHEME.match(location)
    if store_of(location) == LOCAL:
        rest = _local_rest(location[match.end() :]) if match else location
        return _resolved(rest) if rest.startswith("/") and "/.." in rest else rest
    return location[match.end() :].removeprefix("//") if match else location


def is_hadoop(location: str) -> bool:
    """Return whether a location has a path separate from its authority, as in Hadoop."""
    kind = store_of(location)
    return kind != LOCAL and kind not in _BUCKETS


def authority(location: str) -> str:
    """Return the bucket or host of a location in lower case; empty where it names none."""
    if is_local(location):
        return ""
    rest = strip_scheme(location)
    return (rest if is_hadoop(location) else rest.lstrip("/")).partition("/")[0].lower()


def _local_rest(rest: str) -> str:
    """`///a`, `//localhost/a`, `/a` -> `/a`."""
    if rest.startswith("//"):
        _, slash, path = rest[2:].partition("/")
        return slash + path
    return rest


def normalise(location: str) -> str:
    """Return one spelling for all that may spell one location; two files may share it.

    Without `//`, `.`, `..` and a slash at the end, with one name for each store: `/a`, `file:/a`,
    `file:///a/` and `/b/../a` give `file:/a`; `s3a://b//c` gives `s3://b/c`, since Hadoop's S3A
    opens the one by the other, though they are two objects of the store. Links are not followed
    (`places` does).
    """
    kind = store_of(location)
    rest = strip_scheme(location)
    if kind == LOCAL:
        return f"{LOCAL}:{_resolved(rest)}"
    if is_hadoop(location):
        host, slash, path = rest.partition("/")
        return f"{kind}://{host}{_resolved(slash + path)}"
    bucket, _, path = (unquote(rest) if kind in _ENCODED else rest).lstrip("/").partition("/")
    return f"{kind}://{bucket}{_resolved('/' + path)}".rstrip("/")


def _resolved(path: str) -> str:
    """Return a path as text without `//`, `.`, `..` and a slash at its end."""
    if _ODD.search(path) is None:
        return path.rstrip("/") or "/"
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return ("/" if path.startswith("/") else "") + "/".join(parts)


def same_file(left: str, right: str) -> bool:
    """Return whether two locations name one file, however they are spelt."""
    return left == right or normalise(left) == normalise(right)


def with_scheme_of(path: str, example: str) -> str:
    """Return a local path without a scheme as another location spells it.

    In a table at `file:///t`, `/d/f` is `file:///d/f`: some readers refuse both side by side.
    """
    if not path.startswith("/") or not is_local(example) or example.startswith("/"):
        return path
    return f"{example[: len(example) - len(strip_scheme(example))]}{path}"


def join(base: str, *parts: str) -> str:
    """Return the location of something below a folder."""
    inner = [part.strip("/") for part in parts]
    root = base.rstrip("/")
    return "/".join([root, *(part for part in inner if part)])


def parent(location: str) -> str:
    """Return the parent folder of a location."""
    return location.rstrip("/").rpartition("/")[0]


def name(location: str) -> str:
    """Return the last part of a location."""
    return location.rstrip("/").rpartition("/")[2]


def is_absolute(location: str) -> bool:
    """Return whether a location is absolute: it has a scheme or starts with a slash."""
    return location.startswith("/") or _SCHEME.match(location) is not None


def absolute(location: str) -> str:
    """Return a location that does not depend on the current folder."""
    return location if is_absolute(location) else os.path.abspath(location)
