"""Tokens that a server sent with tables, for requests about these tables only."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

from iceberg_spark.catalog.rest.auth import Auth
from iceberg_spark.catalog.rest.oauth2 import own_of_table

_MOST_TABLES = 256


@dataclass(frozen=True, slots=True)
class _Own:
    config: Mapping[str, str] = field(repr=False)
    auth: Auth = field(repr=False)


class TableAuths:
    """The tables of one session with a token of their own; thread-safe."""

    __slots__ = ("_lock", "_tables")

    def __init__(self) -> None:
        self._tables: OrderedDict[str, _Own] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, identifier: str, config: Mapping[str, str], catalogs: Auth) -> None:
        """Store a table's configured token; does not replace a renewed one."""
        own = own_of_table(config)
        with self._lock:
            current = self._tables.get(identifier)
            if current is not None and current.config == own:
                return
            auth = catalogs.of_table(config) if own else None
            if auth is None:
                self._tables.pop(identifier, None)
                return
            self._tables[identifier] = _Own(own, auth)
            while len(self._tables) > _MOST_TABLES:
                self._tables.popitem(last=False)

    def find(self, identifier: str) -> Auth | None:
        """Return a table's own authentication, None to use the catalog's."""
        with self._lock:
            entry = self._tables.get(identifier)
        return entry.auth if entry else None

    def forget(self, identifier: str, refused: Auth) -> None:
        """Remove a token that was refused for good, unless it was replaced."""
        with self._lock:
            entry = self._tables.get(identifier)
            if entry is not None and entry.auth is refused:
                del self._tables[identifier]

    def hidden(self) -> tuple[str, ...]:
        """Return the texts that must never be shown."""
        with self._lock:
            every = list(self._tables.values())
        return tuple(
            text for entry in every for text in (*entry.auth.hidden(), *entry.config.values())
        )
