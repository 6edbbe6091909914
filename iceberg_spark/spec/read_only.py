"""Immutable texts by name: all who load a table share its decoded metadata."""

from __future__ import annotations

from typing import NoReturn


class ReadOnly(dict[str, str]):
    """A dict that refuses to be changed; `dict(it)` and `it | {...}` are dicts of one's own."""

    __slots__ = ()

    def _refused(self, *_: object, **__: object) -> NoReturn:
        """Raise TypeError."""
        raise TypeError("Table metadata is not changed in place; dict(...) makes a copy")

    __setitem__ = __delitem__ = __ior__ = _refused
    clear = pop = popitem = setdefault = update = _refused

    def __reduce__(self) -> tuple[type[ReadOnly], tuple[dict[str, str]]]:
        """Pickle as a whole: item by item it would be refused."""
        return ReadOnly, (dict(self),)
