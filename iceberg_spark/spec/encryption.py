"""Encrypted tables, which are not read or written here (specification, "Table Encryption")."""

from __future__ import annotations

from iceberg_spark.errors import UnsupportedError
from iceberg_spark.spec.metadata import TableMetadata

TABLE_KEY = "encryption.key-id"


def check_not_encrypted(metadata: TableMetadata) -> None:
    """Raise UnsupportedError, naming the table, where its files are encrypted."""
    key = metadata.properties.get(TABLE_KEY)
    if key is None and not metadata.encryption_keys:
        return
    why = "it has encryption keys" if key is None else f"property '{TABLE_KEY}' is '{key}'"
    raise UnsupportedError(
        f"Table {metadata.location} is encrypted ({why}): this library can't read or write its "
        "files; use the engine that wrote them"
    )
