"""Load and create tables by what users call them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from iceberg_spark.api.new_table import create
from iceberg_spark.api.schema_input import SchemaInput
from iceberg_spark.api.table import Table
from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.catalog.registry import resolve, with_settings
from iceberg_spark.catalog.table_name import TableName, property_texts
from iceberg_spark.engines.at_hand import session_settings
from iceberg_spark.errors import InvalidTypeError
from iceberg_spark.spec.nearest import nearest

_MADE_WITH = ("table", "schema", "partition_by", "sort_order", "properties")
_SCANNED_WITH = ("snapshot_id", "branch", "tag", "as_of_timestamp_ms", "row_filter", "limit")


def load_table(table: TableName, **properties: object) -> Table:
    """Load a table by location, metadata.json (read-only) or identifier "cat.db.tbl".

    `properties` are storage or catalog properties, as PyIceberg's. Raises NoSuchTableError.
    """
    for name in properties:
        if name in _SCANNED_WITH:
            raise InvalidTypeError(
                f"load_table() takes no {name}: load the table, then t.scan({name}=...)"
            )
    _check_storage("load_table", properties, ("table",))
    catalog, identifier = _resolved(table, properties)
    return Table(catalog, catalog.load(identifier))


def create_table(
    table: TableName,
    schema: SchemaInput,
    *,
    partition_by: Sequence[str] | str | None = (),
    sort_order: Sequence[str] | str | None = (),
    properties: Mapping[str, object] | None = None,
    **storage: object,
) -> Table:
    """Create an empty table: format v2 (or property `format-version`), Parquet, zstd.

    `partition_by` holds texts like "days(ts)", "bucket(16, id)", "truncate(4, s)", "region";
    `sort_order` like "id desc nulls last". Raises TableAlreadyExistsError.
    """
    _check_storage("create_table", storage, _MADE_WITH)
    catalog, identifier = _resolved(table, storage)
    return create(catalog, identifier, schema, partition_by, sort_order, properties or {})


def _resolved(table: TableName, properties: Mapping[str, object]) -> tuple[Catalog, str]:
    """Return the table's catalog, which the active session may have, and its name there."""
    return resolve(table, with_settings(table, property_texts(properties), session_settings))


def _check_storage(function: str, given: Iterable[str], arguments: Sequence[str]) -> None:
    """Refuse a misspelt argument, which would else be taken for a storage property."""
    for name in given:
        meant = nearest(name, arguments)
        if meant is not None or "_" in name:
            raise InvalidTypeError(
                f"{function}() has no argument '{name}'"
                + (f"; did you mean '{meant}'?" if meant else ".")
                + " Storage properties have names like s3.endpoint: **{'s3.endpoint': '...'}"
            )
