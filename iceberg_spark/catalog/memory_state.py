"""The contents of catalogs in this process's memory, by catalog name; guarded by `swap`."""

from __future__ import annotations

import threading

from iceberg_spark.catalog.catalog import Name

tables: dict[tuple[str, str], str] = {}
"""The newest metadata file of a table, by catalog and identifier."""
views: dict[tuple[str, str], str] = {}
"""The newest metadata file of a view, by catalog and identifier."""
namespaces: dict[tuple[str, Name], dict[str, str]] = {}
"""Properties of the namespaces that were created."""
swap = threading.Lock()


def is_taken(catalog: str, identifier: str) -> bool:
    """Return whether a table or view has a name."""
    return (catalog, identifier) in tables or (catalog, identifier) in views
