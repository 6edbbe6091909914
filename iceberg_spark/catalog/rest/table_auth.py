"""Tokens that a server gave with tables, for requests about these tables only."""

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
    """The tables of one session that have a token of their own; safe among threads."""

    __slots__ = ("_lock", "_tables")

    def __init__(self) -> None:
        self._tables: OrderedDict[str, _Own] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, identifier: str, config: Mapping[str, str], catalogs: Auth) -> None:
        """Remember what a table's configuration says; one that was renewed stays so."""
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
        """Return a table's own, None where the catalog's serves."""
        with self._lock:
            entry = self._tables.get(identifier)
        return entry.auth if entry else None

    def forget(self, identifier: str, refused: Auth) -> None:
        """Forget one that was refused for good, unless there is another by now."""
        with self._lock:
            entry = self._tables.get(identifier)
            if entry is not None and entry.auth is refused:
                del self._tables[identifier]

    def hidden(self) -> tuple[str, ...]:
        """Return what must never be shown."""
        with self._lock:
            every = list(self._tables.values())
        return tuple(
            text for entry in every for text in (*entry.auth.hidden(), *entry.config.values())
        )
