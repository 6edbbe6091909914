"""What a test writes to `memory://` is let go at its end.

fsspec keeps it for the whole process, and looks through all of its names for each file that is
asked for: after a thousand tests that was most of their time.
"""

from collections.abc import Iterator

import pytest
from fsspec.implementations.memory import MemoryFileSystem


@pytest.fixture(autouse=True)
def memory_is_let_go() -> Iterator[None]:
    """Remove the files that a test adds; those of a module's fixtures stay."""
    before = frozenset(MemoryFileSystem.store)
    yield
    for name in MemoryFileSystem.store.keys() - before:
        del MemoryFileSystem.store[name]
