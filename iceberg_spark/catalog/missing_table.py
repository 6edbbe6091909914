"""The error of a missing table: its name, where it was expected, and a similar name."""

from __future__ import annotations

from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.errors import IcebergError, NoSuchTableError
from iceberg_spark.spec.nearest import did_you_mean


def missing_table(catalog: Catalog, identifier: str, error: Exception) -> NoSuchTableError:
    """Return the error for a table, from the error of loading it.

    Example:
        >>> missing_table(catalog, "db.ordrs", error)
        NoSuchTableError("No table db.ordrs in catalog 'prod'; did you mean 'orders'?")
    """
    if "/" in identifier:
        return NoSuchTableError(str(error))
    text = str(error)
    if identifier not in text:
        text = f"No table {identifier} in catalog '{catalog.name}': {text}"
    return NoSuchTableError(f"{text}{_near_name(catalog, identifier)}")


def _near_name(catalog: Catalog, identifier: str) -> str:
    *namespace, name = identifier.split(".")
    try:
        listed = catalog.namespaces
        tables = [] if listed is None else listed.list_tables(tuple(namespace))
    except IcebergError:
        return ""
    return did_you_mean(name, (table[-1] for table in tables))
