"""The builder that changes table properties."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any

from iceberg_spark.api.commit_on_exit import CommitOnExit
from iceberg_spark.api.transaction import TableTransaction
from iceberg_spark.errors import InvalidInputError, InvalidTypeError
from iceberg_spark.spec.arguments import format_value
from iceberg_spark.spec.properties import property_warnings


class UpdateProperties(CommitOnExit):
    """Collects changes of properties; nothing happens before `commit`."""

    __slots__ = ("_removals", "_transaction", "_updates")

    def __init__(self, transaction: TableTransaction) -> None:
        super().__init__()
        self._transaction = transaction
        self._updates: dict[str, str] = {}
        self._removals: dict[str, None] = {}

    def __repr__(self) -> str:
        lines = [f"  set {key} = {value}" for key, value in self._updates.items()]
        lines += [f"  remove {key}" for key in self._removals]
        return "\n".join([f"UpdateProperties, {self._state}:", *(lines or ["  no change yet"])])

    def set(self, updates: Mapping[str, Any] | None = None, **more: Any) -> UpdateProperties:
        """Set properties. Values become text; reserved names are refused at commit.

        Args:
            updates: Values by name.
            **more: The same as keywords.

        Raises:
            InvalidInputError: A property is to be removed as well, or its value is None.
            InvalidTypeError: `updates` is not a mapping.

        Examples:
            >>> t.update_properties().set({"write.format.default": "orc"}, owner="sales").commit()
        """
        if updates is not None and not isinstance(updates, Mapping):
            raise InvalidTypeError(
                f"set() takes a dict, as in set({{'write.format.default': 'orc'}}), not "
                f"{format_value(updates)}"
            )
        for key, value in {**(updates or {}), **more}.items():
            if value is None:
                raise InvalidInputError(f"Property '{key}' can't be None; use remove('{key}')")
            self._refuse_both(key, self._removals)
            self._updates[key] = str(value)
        self._done = False
        return self

    def remove(self, *keys: str) -> UpdateProperties:
        """Remove properties. A missing one is no error.

        Args:
            *keys: Names of properties.

        Raises:
            InvalidInputError: A property is to be set as well.
            InvalidTypeError: A name is not text.

        Examples:
            >>> t.update_properties().remove("owner", "note").commit()
        """
        for key in keys:
            if not isinstance(key, str):
                raise InvalidTypeError(f"remove() takes names, as in remove('a', 'b'), not {key!r}")
            self._refuse_both(key, self._updates)
            self._removals[key] = None
        self._done = False
        return self

    def _refuse_both(self, key: str, others: Collection[str]) -> None:
        if key in others:
            raise InvalidInputError(f"Property '{key}' is to be set and removed at once")

    def commit(self) -> None:
        """Commit the changes at once.

        Examples:
            >>> t.update_properties().set(owner="sales").commit()
        """
        self._done = True
        for message in property_warnings(self._updates):
            warnings.warn(message, stacklevel=2)
        with self._transaction as tx:
            tx.set_properties(self._updates, tuple(self._removals))
