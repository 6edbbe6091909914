"""What catalogs in this process's memory hold, by their names; changed under `swap`."""

from __future__ import annotations

import threading

from iceberg_spark.catalog.catalog import Name

tables: dict[tuple[str, str], str] = {}
"""Where the newest metadata file of a table is, by catalog and identifier."""
views: dict[tuple[str, str], str] = {}
"""The same of views."""
namespaces: dict[tuple[str, Name], dict[str, str]] = {}
"""Properties of the namespaces that were created."""
swap = threading.Lock()


def is_taken(catalog: str, identifier: str) -> bool:
    """Return whether a table or view has a name."""
    return (catalog, identifier) in tables or (catalog, identifier) in views
