"""Local folders with links followed; each folder is resolved once, since tables have thousands."""

from __future__ import annotations

import os


class RealPaths:
    """Caches resolved folders: use an instance for one pass over a table."""

    __slots__ = ("_real_paths",)

    def __init__(self) -> None:
        self._real_paths: dict[str, str] = {}

    def of(self, path: str) -> str:
        """Return `os.path.realpath` of a path; cached unless it contains `.`, `..` or `//`."""
        if not path.startswith("/"):
            return os.path.realpath(path)
        real = self._real_paths.get(path)
        if real is None:
            real = self._real_paths[path] = self._followed(path)
        return real

    def _followed(self, path: str) -> str:
        above, _, name = path.rstrip("/").rpartition("/")
        if name in ("", ".", ".."):
            return os.path.realpath(path)
        child = f"{self.of(above or '/').rstrip('/')}/{name}"
        return os.path.realpath(child) if os.path.islink(child) else child
