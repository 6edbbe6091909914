"""Files by keys that are equal wherever two locations may name one file.

A key is the place without its store, percent-decoded and without `//`; beside it stands the store
(scheme and authority), whose spellings only the user can say to be one. Source: Java's FileURI,
which compares paths, then schemes and authorities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from iceberg_spark.io import location
from iceberg_spark.io.places import Places

Column: TypeAlias = Any  # pyarrow ships no types

KEYS = pa.schema([("file_path", pa.string()), ("store", pa.string()), ("place", pa.string())])
"""A file: its location as it is spelt, its store, and its place in that."""

_STORE = r"^(?:file:|[A-Za-z][A-Za-z0-9+.\-]*://[^/]*)"
"""The store at the head of a key of `io/places`."""


@dataclass(frozen=True, slots=True)
class Equal:
    """Schemes and authorities that stand for others, as a user says (Java: equalSchemes, ...)."""

    schemes: Mapping[str, str]
    authorities: Mapping[str, str]

    @classmethod
    def of(cls, schemes: Mapping[str, str] | None, authorities: Mapping[str, str] | None) -> Equal:
        """Read maps as the procedure takes them: `{"s3n,s3a": "s3"}` names two at once."""
        return cls(_flat(schemes), _flat(authorities))

    def store(self, folder: str) -> str:
        """Return a location's scheme and authority, by the names that stand for them."""
        scheme = location.scheme(folder)
        scheme = self.schemes.get(scheme, scheme)
        kind = location.store_of(f"{scheme}:")
        if location.is_local(folder):
            return f"{kind}:"
        authority = location.strip_scheme(folder).partition("/")[0]
        return f"{kind}://{self.authorities.get(authority, authority).lower()}"


class FileKeys:
    """Makes keys of columns of locations; links are followed, each folder is looked at once."""

    __slots__ = ("_equal", "_known", "_places")

    def __init__(self, equal: Equal) -> None:
        self._equal = equal
        self._places = Places()
        self._known: dict[str, str] = {}

    def table(self, paths: Column) -> Any:
        """Return locations with their keys (KEYS)."""
        folders = pc.replace_substring_regex(paths, "(?s)/[^/]*$", "").dictionary_encode()
        known = [self._store(each) for each in folders.dictionary.to_pylist()]
        stores = pa.array(known, pa.string()).take(folders.indices)
        places = pc.replace_substring_regex(self._places.keys(paths), _STORE, "")
        return pa.table([paths, stores, _decoded(places)], schema=KEYS)

    def _store(self, folder: str) -> str:
        known = self._known.get(folder)
        if known is None:
            known = self._known[folder] = self._equal.store(folder)
        return known


def is_same_store(named: str, listed: str) -> bool:
    """Return whether metadata's store may be the listed one: one without a host may be any."""
    return named == listed or (named.endswith("://") and listed.startswith(named))


def _decoded(places: Column) -> Column:
    """Return places percent-decoded: drivers differ in what they quote."""
    quoted = pc.match_substring(places, "%")
    if not pc.any(quoted).as_py():
        return places
    plain = [unquote(each) for each in places.filter(quoted).to_pylist()]
    return pc.replace_with_mask(places, quoted, pa.array(plain, pa.string()))


def _flat(given: Mapping[str, str] | None) -> dict[str, str]:
    return {
        name.strip(): str(stands_for).strip()
        for names, stands_for in (given or {}).items()
        for name in names.split(",")
    }
