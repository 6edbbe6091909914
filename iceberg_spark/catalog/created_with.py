"""Table properties that a catalog sets on its new tables (Java: CatalogProperties)."""

from __future__ import annotations

from collections.abc import Mapping

DEFAULT = "table-default."
OVERRIDE = "table-override."


def created_with(catalog: Mapping[str, str], chosen: Mapping[str, str]) -> dict[str, str]:
    """Return a new table's properties: the catalog's defaults, the caller's, the overrides."""
    return {**_under(DEFAULT, catalog), **chosen, **_under(OVERRIDE, catalog)}


def _under(prefix: str, properties: Mapping[str, str]) -> dict[str, str]:
    start = len(prefix)
    return {key[start:]: value for key, value in properties.items() if key.startswith(prefix)}
