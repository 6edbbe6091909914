"""A table's properties as `t.properties` gives them."""

from __future__ import annotations


class TableProperties(dict[str, str]):
    """The properties as a dict of one's own; `t.properties()` gives the same.

    PyIceberg has an attribute here and methods beside it (`t.schema()`, `t.location()`), so both
    spellings are met in notebooks.
    """

    __slots__ = ()

    def __call__(self) -> dict[str, str]:
        """Return the properties as a plain dict."""
        return dict(self)
