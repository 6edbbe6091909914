"""Local folders with links followed, each folder looked at once: tables have thousands of them."""

from __future__ import annotations

import os


class RealPaths:
    """Remembers what folders lead to; so one serves one look at a table."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return `os.path.realpath` of a path; one without `.`, `..` and `//` is asked once."""
        if not path.startswith("/"):
            return os.path.realpath(path)
        known = self._known.get(path)
        if known is None:
            known = self._known[path] = self._followed(path)
        return known

    def _followed(self, path: str) -> str:
        above, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return os.path.realpath(path)
        at = f"{self.of(above or '/').rstrip('/')}/{name}"
        return os.path.realpath(at) if os.path.islink(at) else at
