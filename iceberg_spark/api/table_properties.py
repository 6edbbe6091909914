"""A table's properties as `t.properties` gives them."""

from __future__ import annotations


class TableProperties(dict[str, str]):
    """The properties as a dict; `t.properties()` returns the same.

    PyIceberg has an attribute here, next to methods (`t.schema()`, `t.location()`), so notebooks
    use both spellings.
    """

    __slots__ = ()

    def __call__(self) -> dict[str, str]:
        """Return the properties as a plain dict."""
        return dict(self)
