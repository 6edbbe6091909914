"""Reuse decoded entries of the previous version of a table's metadata.

A new version repeats nearly all snapshots and log entries of the previous one. To find an entry by
its bytes takes a small part of the time that it takes to check and decode it.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any, TypeAlias

from iceberg_spark.spec.json_node import parse_array

DecodedEntries: TypeAlias = Mapping[tuple[int, str], Mapping[bytes, Any]]
"""Values by the bytes of their JSON, by format version and list."""

_PLAIN = 0  # marshal version without references: equal objects become equal bytes
_NONE: Mapping[bytes, Any] = {}


class FormerEntries:
    """Decoded entries of the previous version, and those of the version being read."""

    __slots__ = ("_former", "_seen")

    def __init__(self, former: DecodedEntries) -> None:
        self._former = former
        self._seen: dict[tuple[int, str], dict[bytes, Any]] = {}

    @property
    def seen(self) -> DecodedEntries:
        """The entries of the version that was read."""
        return self._seen

    @property
    def nbytes(self) -> int:
        """Bytes of all entries as JSON, roughly; values take some four times as many."""
        return sum(len(key) for entries in self._seen.values() for key in entries)

    def parse_array(
        self, version: int, key: str, nodes: list[Any], read: Callable[[Any], Any]
    ) -> tuple[Any, ...]:
        """Read a list as `json_node.parse_array` does, but decode only entries that are new.

        Keys are bytes: they distinguish 1 from 1.0 and true, which `==` does not.
        """
        what = f"'{key}'"
        try:
            exact = list(map(marshal.dumps, nodes, repeat(_PLAIN)))
        except ValueError:  # nested too deeply
            return parse_array(nodes, what, read)
        former = self._former.get((version, key), _NONE)
        former_values = list(map(former.get, exact))
        if not former:
            values = parse_array(nodes, what, read)
        elif None in former_values:
            pairs = list(zip(nodes, former_values, strict=True))
            values = parse_array(
                pairs, what, lambda pair: read(pair[0]) if pair[1] is None else pair[1]
            )
        else:
            values = tuple(former_values)
        self._seen[version, key] = dict(zip(exact, values, strict=True))
        return values
