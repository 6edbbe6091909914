"""A folder on this machine's disk for what does not fit in memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class SpillFolder:
    """A folder of its own for what doesn't fit; it goes when nobody holds it any more."""

    __slots__ = ("__weakref__", "_number", "path")

    def __init__(self, prefix: str = "iceberg-deletes-") -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._number = 0
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def next(self, suffix: str) -> str:
        """Return the path of a new file."""
        self._number += 1
        return str(self.path / f"{self._number}{suffix}")
