"""Keys of files, by which every deletion decides whether metadata still refers to a file.

`FileKeys` splits a location into its store (scheme and authority), whose equal spellings only the
user knows, and its path in that store, percent-decoded and without `//`. Source: Java's FileURI,
which compares paths, then schemes and authorities. `fold_paths` also drops everything that any
store may ignore.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.io import location
from iceberg_spark.io.places import Places

Column: TypeAlias = Any  # pyarrow ships no types

KEYS = pa.schema([("file_path", pa.string()), ("store", pa.string()), ("place", pa.string())])
"""A file: its location as written, its store, and its path in the store."""

_STORE = r"^(?:file:|[A-Za-z][A-Za-z0-9+.\-]*://[^/]*)"
"""The store at the start of a key of `io/places`."""
_DBFS_MOUNT = "/dbfs/"


@dataclass(frozen=True, slots=True)
class Equal:
    """Schemes and authorities that are equal for the user (Java: equalSchemes, ...)."""

    schemes: Mapping[str, str]
    authorities: Mapping[str, str]

    @classmethod
    def of(cls, schemes: Mapping[str, str] | None, authorities: Mapping[str, str] | None) -> Equal:
        """Parse maps in the procedure's form: `{"s3n,s3a": "s3"}` has two names for one."""
        return cls(_flat(schemes), _flat(authorities))

    def store(self, folder: str) -> str:
        """Return a location's scheme and authority, each replaced by its equal name."""
        scheme = location.scheme(folder)
        kind = location.store_of(f"{self.schemes.get(scheme, scheme)}:")
        if kind == location.LOCAL:
            return f"{kind}:"
        authority = location.authority(folder)
        return f"{kind}://{self._authorities_in_lower_case().get(authority, authority)}"

    def _authorities_in_lower_case(self) -> dict[str, str]:
        return {name.lower(): equal.lower() for name, equal in self.authorities.items()}


class FileKeys:
    """Computes keys of columns of locations; follows links, reading each folder once."""

    __slots__ = ("_equal", "_places", "_stores")

    def __init__(self, equal: Equal) -> None:
        self._equal = equal
        self._places = Places()
        self._stores: dict[str, str] = {}

    def table(self, paths: Column) -> Any:
        """Return locations with their keys (KEYS)."""
        folders = pc.replace_substring_regex(paths, "(?s)/[^/]*$", "").dictionary_encode()
        stores_of_folders = [self._store(folder) for folder in folders.dictionary.to_pylist()]
        stores = pa.array(stores_of_folders, pa.string()).take(folders.indices)
        keys = pc.replace_substring_regex(self._places.keys(paths), _STORE, "")
        return pa.table([paths, stores, _without_mount(_decoded(keys))], schema=KEYS)

    def _store(self, folder: str) -> str:
        store = self._stores.get(folder)
        if store is None:
            store = self._stores[folder] = self._equal.store(folder)
        return store


def fold_paths(places: Column) -> Column:
    """Return paths without what some store ignores: case, and dots or spaces at a name's end.

    Equal results may still be two files: `may_be_same_file` compares a pair. Windows and macOS have
    case-insensitive file systems; Azure and Windows drop dots and spaces at the end.
    """
    lower = pc.utf8_lower(places)
    dotted = pc.or_(
        pc.match_substring_regex(lower, r"[. ]$"), pc.match_substring_regex(lower, r"[. ]/")
    )
    if not pc.any(dotted).as_py():
        return lower
    return pc.replace_substring_regex(lower, r"[. ]+(/|$)", r"\1")


def used_keys(paths: Column, places: Places) -> Column:
    """Return keys that are equal whenever two locations may be one file in any store.

    An expiry keeps each file whose key is the key of a file in use. A file kept by mistake is an
    orphan, which orphan removal deletes. Percent signs are decoded in object stores only: local
    file systems and Hadoop's treat them literally.
    """
    keys = places.keys(paths)
    in_bucket = pc.match_substring_regex(keys, r"^(?:s3|gs|abfs|https?)://")
    places_in_store = pc.replace_substring_regex(keys, _STORE, "")
    if pc.any(in_bucket).as_py():
        decoded = _decoded(places_in_store)
        places_in_store = pc.if_else(in_bucket, decoded, places_in_store)
    return fold_paths(_without_mount(places_in_store))


def may_be_same_file(listed: str, named: str) -> bool:
    """Return whether two locations of one store with equal folded paths may be one file."""
    if location.is_local(listed) and location.is_local(named):
        try:
            return Path(location.strip_scheme(listed)).samefile(location.strip_scheme(named))
        except FileNotFoundError:
            return False
        except OSError:
            return True
    return listed.lower() != named.lower()  # dots or spaces at the end of a name, not its case


def _without_mount(places: Column) -> Column:
    """Return paths in the form of Databricks' `dbfs:`, which is mounted locally at `/dbfs`."""
    if not pc.any(pc.starts_with(places, _DBFS_MOUNT)).as_py():
        return places
    return pc.replace_substring_regex(places, f"^{_DBFS_MOUNT}", "/")


def is_same_store(named: str, listed: str) -> bool:
    """Return whether metadata's store may be the listed one; one without a host may be any."""
    return named == listed or (named.endswith("://") and listed.startswith(named))


def _decoded(keys: Column) -> Column:
    """Return paths percent-decoded: drivers differ in what they encode."""
    quoted = pc.match_substring(keys, "%")
    if not pc.any(quoted).as_py():
        return keys
    plain = [unquote(quoted_key) for quoted_key in keys.filter(quoted).to_pylist()]
    return pc.replace_with_mask(keys, quoted, pa.array(plain, pa.string()))


def _flat(equal_names: Mapping[str, str] | None) -> dict[str, str]:
    return {
        name.strip(): str(stands_for).strip()
        for names, stands_for in (equal_names or {}).items()
        for name in names.split(",")
    }
