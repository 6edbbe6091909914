"""Entries of table metadata that a former version of it had as well, taken over as they are.

A new version of a table repeats nearly all snapshots and log entries of the one before, and to
find an entry by its bytes takes a small part of the time that checking it and making it does.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any, TypeAlias

from iceberg_spark.spec.json_node import each

Kept: TypeAlias = Mapping[tuple[int, str], Mapping[bytes, Any]]
"""Values by the bytes of their JSON, by format version and list."""

_PLAIN = 0  # marshal's version that writes equal objects as equal bytes, whoever holds them
_NONE: Mapping[bytes, Any] = {}


class FormerEntries:
    """What is known of a former version, and what the one being read has."""

    __slots__ = ("_former", "_seen")

    def __init__(self, former: Kept) -> None:
        self._former = former
        self._seen: dict[tuple[int, str], dict[bytes, Any]] = {}

    @property
    def seen(self) -> Kept:
        """The entries of the version that was read."""
        return self._seen

    @property
    def nbytes(self) -> int:
        """Bytes of all entries as JSON, roughly; values take some four times as many."""
        return sum(len(key) for entries in self._seen.values() for key in entries)

    def each(
        self, version: int, key: str, nodes: list[Any], read: Callable[[Any], Any]
    ) -> tuple[Any, ...]:
        """Read a list as `json_node.each` does, but for the entries that are known.

        Bytes tell 1 from 1.0 and true, which `==` does not.
        """
        what = f"'{key}'"
        try:
            exact = list(map(marshal.dumps, nodes, repeat(_PLAIN)))
        except ValueError:  # nested too deeply
            return each(nodes, what, read)
        former = self._former.get((version, key), _NONE)
        found = list(map(former.get, exact))
        if not former:
            values = each(nodes, what, read)
        elif None in found:
            pairs = list(zip(nodes, found, strict=True))
            values = each(pairs, what, lambda pair: read(pair[0]) if pair[1] is None else pair[1])
        else:
            values = tuple(found)
        self._seen[version, key] = dict(zip(exact, values, strict=True))
        return values
