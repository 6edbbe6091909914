"""Pointers to tables in DynamoDB, moved by the version of their item (Java: DynamoDbCatalog)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from iceberg_spark.catalog.aws.aws_errors import as_ours, botocore, code_of, is_final
from iceberg_spark.catalog.aws.namespaces import (
    WAREHOUSE,
    Theirs,
    default_location,
    split_name,
)
from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.catalog.pointer_catalog import Move
from iceberg_spark.catalog.table_name import has_two_parts
from iceberg_spark.errors import NoSuchTableError, TableAlreadyExistsError

_LOCATION, _FORMER = "p.metadata_location", "p.previous_metadata_location"
_TABLE_TYPE, _ICEBERG = "p.table_type", "ICEBERG"
_VERSION = "v"
_NEW, _SAME = f"attribute_not_exists({_VERSION})", f"{_VERSION} = :v"
_OTHERWISE = {"ConditionalCheckFailedException", "TransactionConflictException"}
_NEITHER = "TransactionCanceledException"


class DynamoDbCatalog:
    """An item per table has the location of its newest metadata file."""

    __slots__ = ("_theirs", "_warehouse")

    def __init__(self, theirs: Theirs, properties: dict[str, str]) -> None:
        self._theirs = theirs
        self._warehouse = properties.get(WAREHOUSE)

    @property
    def _table(self) -> str:
        name: str = self._theirs.catalog.dynamodb_table_name
        return name

    @property
    def _items(self) -> Any:
        return self._theirs.catalog.dynamodb

    def find(self, identifier: str) -> str | None:
        """Return the location of a table's newest metadata file, None if there is no table."""
        return _pointer(self._item(identifier)) if has_two_parts(identifier) else None

    def _item(self, identifier: str) -> dict[str, Any] | None:
        with as_ours():
            answer = self._items.get_item(
                TableName=self._table, ConsistentRead=True, Key=_key(identifier)
            )
        item: dict[str, Any] | None = answer.get("Item")
        return item

    def insert(self, created: LoadedTable) -> bool:
        """Add a table; False if the name is taken."""
        if self._item(created.identifier) is not None:
            return False
        item = {
            **_key(created.identifier),
            **_stamped(created=True),
            _TABLE_TYPE: {"S": _ICEBERG},
            _LOCATION: {"S": created.metadata_location},
            _FORMER: {"S": ""},
        }
        return self._put(item, _NEW, {})

    def move(self, base: LoadedTable, created: LoadedTable) -> bool:
        """Move a table's pointer; False if it is not at `base`."""
        changed = self._changed(Move(base, created))
        if changed is None:
            return False
        return self._put(changed["Item"], _SAME, changed["ExpressionAttributeValues"])

    def move_all(self, moves: Sequence[Move]) -> bool:
        """Move pointers in one transaction; False, without any move, if one is not at its base.

        Raises UnsupportedError for more tables than a transaction allows (100).
        """
        puts = [changed for changed in map(self._changed, moves) if changed is not None]
        if len(puts) < len(moves):
            return False
        with as_ours():
            try:
                self._items.transact_write_items(TransactItems=[{"Put": put} for put in puts])
            except botocore.ClientError as error:
                if code_of(error) == _NEITHER and is_final(error):
                    return False
                raise
        return True

    def _changed(self, move: Move) -> dict[str, Any] | None:
        """Return the put that moves a pointer; None if it is not at the move's base."""
        base, created = move
        item = self._item(created.identifier)
        if item is None or _pointer(item) != base.metadata_location:
            return None
        pointer = {
            _LOCATION: {"S": created.metadata_location},
            _FORMER: {"S": base.metadata_location},
        }
        return {
            "TableName": self._table,
            "Item": item | _stamped() | pointer,
            "ConditionExpression": _SAME,
            "ExpressionAttributeValues": {":v": item[_VERSION]},
        }

    def _put(self, item: dict[str, Any], condition: str, values: dict[str, Any]) -> bool:
        options = {"ExpressionAttributeValues": values} if values else {}
        with as_ours():
            try:
                self._items.put_item(
                    TableName=self._table, Item=item, ConditionExpression=condition, **options
                )
            except botocore.ClientError as error:
                if code_of(error) in _OTHERWISE and is_final(error):
                    return False
                raise
        return True

    def remove(self, identifier: str, expected: str | None = None) -> bool:
        """Remove a table's item; False if there is none, or it is not at `expected`."""
        item = self._item(identifier)
        pointer = _pointer(item)
        if item is None or pointer is None or pointer != (expected or pointer):
            return False
        same = {
            "ConditionExpression": _SAME,
            "ExpressionAttributeValues": {":v": item[_VERSION]},
        }
        with as_ours():
            try:
                self._items.delete_item(
                    TableName=self._table, Key=_key(identifier), **(same if expected else {})
                )
            except botocore.ClientError as error:
                if code_of(error) in _OTHERWISE and is_final(error):
                    return False
                if code_of(error) in _OTHERWISE and self._item(identifier) is None:
                    return True  # the request was sent again after it had been carried out
                raise
        return True

    def others(self, namespace: str) -> list[str]:  # noqa: ARG002 (of all the same)
        """Return nothing: DynamoDB has Iceberg tables only."""
        return []

    def rename(self, identifier: str, new_identifier: str) -> None:
        """Rename a table: both items in one transaction.

        Raises NoSuchTableError, TableAlreadyExistsError (or the table was changed since).
        """
        item = self._item(identifier)
        if item is None or _pointer(item) is None:
            raise NoSuchTableError(f"No table {identifier} in catalog '{self._theirs.name}'")
        renamed = {**item, **_key(new_identifier), **_stamped()}
        put = {"TableName": self._table, "Item": renamed, "ConditionExpression": _NEW}
        gone = {
            "TableName": self._table,
            "Key": _key(identifier),
            "ConditionExpression": _SAME,
            "ExpressionAttributeValues": {":v": item[_VERSION]},
        }
        with as_ours():
            try:
                self._items.transact_write_items(TransactItems=[{"Put": put}, {"Delete": gone}])
            except botocore.ClientError as error:
                if code_of(error) == _NEITHER:
                    if self.find(new_identifier) == _pointer(item):
                        return  # the request was sent again after it had been carried out
                    raise TableAlreadyExistsError(
                        f"{new_identifier} is in catalog '{self._theirs.name}' already, or "
                        f"{identifier} was changed while it was renamed"
                    ) from error
                raise

    def default_location(self, identifier: str) -> str:
        """Return the location of a new table of this name."""
        return default_location(self._theirs, identifier, self._warehouse)


def _key(identifier: str) -> dict[str, Any]:
    namespace, _ = split_name(identifier)
    return {"identifier": {"S": identifier}, "namespace": {"S": namespace}}


def _stamped(*, created: bool = False) -> dict[str, Any]:
    now = {"N": str(int(time.time() * 1000))}
    stamps = {_VERSION: {"S": str(uuid.uuid4())}, "updated_at": now}
    return {**stamps, "created_at": now} if created else stamps


def _pointer(item: dict[str, Any] | None) -> str | None:
    if item is None or item.get(_TABLE_TYPE, {}).get("S", "").upper() != _ICEBERG:
        return None
    pointer: str | None = item.get(_LOCATION, {}).get("S")
    return pointer
