"""A folder on the local disk for data that does not fit in memory."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path


class SpillFolder:
    """A folder of its own for spilled data; it is removed with its last reference."""

    __slots__ = ("__weakref__", "_number", "path")

    def __init__(self, prefix: str = "iceberg-deletes-") -> None:
        self.path = Path(tempfile.mkdtemp(prefix=prefix))
        self._number = 0
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def next(self, suffix: str) -> str:
        """Return the path of a new file."""
        self._number += 1
        return str(self.path / f"{self._number}{suffix}")
