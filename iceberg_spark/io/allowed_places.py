"""The stores and buckets that a table's metadata may name.

Files in other buckets of the table's own store may be read: `add_files` adds files from there, and
a signed S3 request is useless to the owner of such a bucket. New files are only written to the
table's own bucket: the owner of any other bucket could read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.io import location

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
