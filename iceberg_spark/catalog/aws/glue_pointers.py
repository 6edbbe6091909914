"""Pointers to tables in AWS Glue, moved by the version of Glue's table (Java: GlueCatalog)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iceberg_spark.catalog.aws.aws_errors import as_ours, botocore, code_of, is_final
from iceberg_spark.catalog.aws.namespaces import (
    WAREHOUSE,
    Theirs,
    default_location,
    split_name,
)
from iceberg_spark.catalog.catalog import LoadedTable, one_table_only
from iceberg_spark.catalog.hive.hive_table import hive_type
from iceberg_spark.catalog.pointer_catalog import Move
from iceberg_spark.catalog.table_name import has_two_parts
from iceberg_spark.errors import (
    CommitFailedException,
    NoSuchTableError,
    StorageError,
    TableAlreadyExistsError,
)
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.types import NestedField

_LOCATION, _FORMER = "metadata_location", "previous_metadata_location"
_TABLE_TYPE, _ICEBERG = "table_type", "ICEBERG"
_MISSING, _TAKEN = "EntityNotFoundException", "AlreadyExistsException"
_CHANGED = "ConcurrentModificationException"
_INPUT = (
    "Name",
    "Description",
    "Owner",
    "Retention",
    "StorageDescriptor",
    "PartitionKeys",
    "TableType",
    "Parameters",
)
"""The fields of Glue's table that an update can set."""


class GlueCatalog:
    """Glue's table has the location of an Iceberg table's newest metadata file."""

    __slots__ = ("_skip_archive", "_theirs", "_warehouse")

    def __init__(self, theirs: Theirs, properties: dict[str, str]) -> None:
        self._theirs = theirs
        self._warehouse = properties.get(WAREHOUSE)
        self._skip_archive = properties.get("glue.skip-archive", "true").lower() == "true"

    @property
    def _glue(self) -> Any:
        return self._theirs.catalog.glue

    def find(self, identifier: str) -> str | None:
        """Return the location of a table's newest metadata file, None if there is no table."""
        return _pointer(self._table(identifier)) if has_two_parts(identifier) else None

    def _table(self, identifier: str) -> dict[str, Any] | None:
        database, name = split_name(identifier)
        with as_ours():
            try:
                response: dict[str, Any] = self._glue.get_table(DatabaseName=database, Name=name)
            except botocore.ClientError as error:
                if code_of(error) == _MISSING:
                    return None
                raise
        table: dict[str, Any] = response["Table"]
        return table

    def insert(self, created: LoadedTable) -> bool:
        """Add a table; False if the name is taken."""
        if self._table(created.identifier) is not None:
            return False
        database, name = split_name(created.identifier)
        table = {"Name": name, **_described(created, {})}
        with as_ours():
            return self._created(database, table)

    def _created(self, database: str, table: dict[str, Any]) -> bool:
        try:
            self._glue.create_table(DatabaseName=database, TableInput=table)
        except botocore.ClientError as error:
            if code_of(error) == _TAKEN and is_final(error):
                return False
            raise
        return True

    def move(self, base: LoadedTable, created: LoadedTable) -> bool:
        """Move a table's pointer; False if it is not at `base`."""
        table = self._table(created.identifier)
        if table is None or _pointer(table) != base.metadata_location:
            return False
        database, _ = split_name(created.identifier)
        former = {**table.get("Parameters", {}), _FORMER: base.metadata_location}
        changed = {key: table[key] for key in _INPUT if key in table}
        return self._updated(database, changed | _described(created, former), table["VersionId"])

    def move_all(self, moves: Sequence[Move]) -> bool:
        """Raise UnsupportedError: Glue changes one table at a time."""
        raise one_table_only(self._theirs.name, [move.created.identifier for move in moves])

    def remove(self, identifier: str, expected: str | None = None) -> bool:
        """Remove a table; False if there is none, or it is not at `expected` (None: any)."""
        table = self._table(identifier)
        pointer = _pointer(table)
        if table is None or pointer is None or pointer != (expected or pointer):
            return False
        if expected is not None and not self._is_reserved(identifier, table):
            return False
        database, name = split_name(identifier)
        with as_ours():
            try:
                self._glue.delete_table(DatabaseName=database, Name=name)
            except botocore.ClientError as error:
                if code_of(error) == _MISSING:
                    return not is_final(error)
                raise
        return True

    def _is_reserved(self, identifier: str, table: dict[str, Any]) -> bool:
        """Reserve a table for its removal; False if it changed since it was read.

        Glue deletes without a condition, but updates with one. The update removes the pointer:
        other writers then find no Iceberg table, so none renames or changes it.
        """
        parameters = dict(table["Parameters"])
        pointer = parameters[_FORMER] = parameters.pop(_LOCATION)
        reserved = {key: table[key] for key in _INPUT if key in table} | {"Parameters": parameters}
        try:
            return self._updated(split_name(identifier)[0], reserved, table["VersionId"])
        except StorageError:  # a request sent twice is refused because the first one succeeded
            now = (self._table(identifier) or {}).get("Parameters", {})
            if _LOCATION not in now and now.get(_FORMER) == pointer:
                return True
            raise

    def _updated(self, database: str, table: dict[str, Any], version: str) -> bool:
        """Update a table that still has this version; False if it has another or was removed."""
        with as_ours():
            try:
                self._glue.update_table(
                    DatabaseName=database,
                    TableInput=table,
                    SkipArchive=self._skip_archive,
                    VersionId=version,
                )
            except botocore.ClientError as error:
                if code_of(error) in {_CHANGED, _MISSING} and is_final(error):
                    return False
                raise
        return True

    def others(self, namespace: str) -> list[str]:
        """Return the names of a database's tables that are not Iceberg tables."""
        with as_ours():
            pages = self._glue.get_paginator("get_tables").paginate(DatabaseName=namespace)
            tables = [table for page in pages for table in page["TableList"]]
        return sorted(str(listed["Name"]) for listed in tables if _pointer(listed) is None)

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Create a table with the new name and drop the old one: Glue has no rename.

        Raises NoSuchTableError, TableAlreadyExistsError, CommitFailedException (the table was
        changed since).
        """
        table = self._table(identifier)
        if table is None or _pointer(table) is None:
            raise NoSuchTableError(f"No table {identifier} in catalog '{self._theirs.name}'")
        database, name = split_name(new_identifier)
        renamed = {key: table[key] for key in _INPUT if key in table} | {"Name": name}
        with as_ours():
            if not self._created(database, renamed):
                raise TableAlreadyExistsError(
                    f"{new_identifier} is in catalog '{self._theirs.name}' already"
                )
        if not self.remove(identifier, _pointer(table)):
            self.remove(new_identifier)
            raise CommitFailedException(f"{identifier} was changed while it was renamed")

    def default_location(self, identifier: str) -> str:
        """Return the location of a new table of this name."""
        return default_location(self._theirs, identifier, self._warehouse)


def _pointer(table: dict[str, Any] | None) -> str | None:
    parameters = (table or {}).get("Parameters", {})
    if parameters.get(_TABLE_TYPE, "").upper() != _ICEBERG:
        return None
    pointer: str | None = parameters.get(_LOCATION)
    return pointer


def _described(created: LoadedTable, parameters: dict[str, str]) -> dict[str, Any]:
    """Return Glue's table for a table version (Java: IcebergToGlueConverter)."""
    pointer = {_TABLE_TYPE: _ICEBERG, _LOCATION: created.metadata_location}
    return {
        "TableType": "EXTERNAL_TABLE",
        "Parameters": parameters | pointer,
        "StorageDescriptor": {
            "Columns": _columns(created.metadata),
            "Location": created.metadata.location,
        },
    }


def _columns(metadata: TableMetadata) -> list[dict[str, Any]]:
    """Return the columns of the current schema, and of earlier ones, as Glue shows them."""
    shown = {field.name: _column(field, current=True) for field in metadata.schema.fields}
    for schema in metadata.schemas.values():
        for field in schema.fields:
            shown.setdefault(field.name, _column(field, current=False))
    return list(shown.values())


def _column(field: NestedField, *, current: bool) -> dict[str, Any]:
    return {
        "Name": field.name,
        "Type": hive_type(field.field_type),
        "Parameters": {
            "iceberg.field.id": str(field.field_id),
            "iceberg.field.optional": str(not field.required).lower(),
            "iceberg.field.current": str(current).lower(),
        },
        **({"Comment": field.doc[:255]} if field.doc else {}),
    }
