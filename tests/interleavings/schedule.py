"""A scheduler of two writers: each call that one of them makes to the catalog is a point where the
other may run from its start to its end. The serial orders of both are the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from fsspec.implementations.memory import MemoryFile

from iceberg_spark.catalog import memory
from iceberg_spark.catalog.memory import MemoryCatalog, MemoryNamespaces
from iceberg_spark.errors import IcebergError
from iceberg_spark.io.fsspec_store import SharedMemoryFiles
from iceberg_spark.scan.plan_cache import PLAN_CACHE

NAME = "interleavings"
_PREFIX = f"/{NAME}/"
_CALLS = {
    MemoryCatalog: ("find", "insert", "move_all", "remove"),
    MemoryNamespaces: ("rename_table", "register_table"),
}

Writer = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Store:
    """The catalog's pointers and all files, to be restored before each run."""

    tables: dict[tuple[str, str], str]
    files: dict[str, bytes]

    @classmethod
    def snapshot(cls) -> Store:
        """Copy what the catalog and the store have now."""
        store = SharedMemoryFiles.store
        files = {path: store[path].getvalue() for path in store if path.startswith(_PREFIX)}
        return cls(dict(_own_tables()), files)

    def restore(self) -> None:
        """Put the catalog and the store back."""
        PLAN_CACHE.clear()
        for key in _own_tables():
            del memory.tables[key]
        memory.tables.update(self.tables)
        store, files = SharedMemoryFiles.store, SharedMemoryFiles()
        for path in [path for path in store if path.startswith(_PREFIX)]:
            del store[path]
        for path, data in self.files.items():
            store[path] = MemoryFile(files, path, data)


def _own_tables() -> dict[tuple[str, str], str]:
    return {key: path for key, path in memory.tables.items() if key[0] == NAME}


@dataclass(slots=True)
class Trace:
    """The calls that a writer made to the catalog, in order."""

    calls: list[str] = field(default_factory=list)


@contextmanager
def scheduled(before_call: int | None, other: Writer) -> Iterator[Trace]:
    """Run another writer before the writer's call of this number (None: never)."""
    trace, depth = Trace(), 0

    def intercept(name: str, method: Any) -> Any:
        def call(self: Any, *args: Any, **options: Any) -> Any:
            nonlocal depth
            if depth == 0:
                depth = 1
                try:
                    if len(trace.calls) == before_call:
                        other()
                    trace.calls.append(name)
                    return method(self, *args, **options)
                finally:
                    depth = 0
            return method(self, *args, **options)

        return call

    former = [(kind, name, getattr(kind, name)) for kind, names in _CALLS.items() for name in names]
    for kind, name, method in former:
        setattr(kind, name, intercept(name, method))
    try:
        yield trace
    finally:
        for kind, name, method in former:
            setattr(kind, name, method)


def succeeds(writer: Writer) -> bool:
    """Run a writer; False where it was refused. Any error that is not ours goes on."""
    try:
        writer()
    except IcebergError:
        return False
    return True
