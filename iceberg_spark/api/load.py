"""Load and create tables by what users call them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from iceberg_spark.api import deferred
from iceberg_spark.api.table import Table
from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.catalog.registry import resolve, with_settings
from iceberg_spark.catalog.table_name import TableName, property_texts
from iceberg_spark.engines.spark_presence import session_settings
from iceberg_spark.errors import InvalidTypeError
from iceberg_spark.lazy import LazyFunction
from iceberg_spark.spec.nearest import nearest

create: Callable[..., Table] = LazyFunction("iceberg_spark.api.new_table", "create")

_MADE_WITH = ("table", "schema", "partition_by", "sort_order", "properties")
_SCANNED_WITH = ("snapshot_id", "branch", "tag", "as_of_timestamp_ms", "row_filter", "limit")


def load_table(table: TableName, **properties: object) -> Table:
    """Load a table by its location, its metadata.json (read-only) or its name "cat.db.tbl".

    Args:
        table: The location or name.
        **properties: Storage or catalog properties, with PyIceberg's names.

    Raises:
        NoSuchTableError: There is no table; the message says what was found instead.

    Examples:
        >>> ice.load_table("prod.shop.orders").scan("id < 10").to_arrow()
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
    schema: deferred.SchemaInput,
    *,
    partition_by: Sequence[str] | str | None = (),
    sort_order: Sequence[str] | str | None = (),
    properties: Mapping[str, object] | None = None,
    **storage: object,
) -> Table:
    """Create an empty table, by default of format version 2 with Parquet files and zstd.

    Args:
        table: The location, or a name "cat.db.tbl".
        schema: DDL text, a PySpark StructType, a pyarrow.Schema or an Iceberg Schema.
        partition_by: Columns and transforms: "days(ts)", "bucket(16, id)", "truncate(4, s)".
        sort_order: Columns and transforms with directions: "id desc nulls last".
        properties: Table properties, also `format-version`.
        **storage: Storage or catalog properties.

    Raises:
        TableAlreadyExistsError: The table exists.

    Examples:
        >>> ice.create_table("prod.shop.log", "id bigint, ts timestamp", partition_by=["days(ts)"])
    """
    _check_storage("create_table", storage, _MADE_WITH)
    catalog, identifier = _resolved(table, storage)
    # Nothing follows the call: an interrupt would not say that the table is there.
    return create(catalog, identifier, schema, partition_by, sort_order, properties or {})


def _resolved(table: TableName, properties: Mapping[str, object]) -> tuple[Catalog, str]:
    """Return the table's catalog, which the active session may have, and its name there."""
    return resolve(table, with_settings(table, property_texts(properties), session_settings))


def _check_storage(function: str, names: Iterable[str], arguments: Sequence[str]) -> None:
    """Refuse a misspelt argument, which would else be taken for a storage property."""
    for name in names:
        meant = nearest(name, arguments)
        if meant is not None or "_" in name:
            raise InvalidTypeError(
                f"{function}() has no argument '{name}'"
                + (f"; did you mean '{meant}'?" if meant else ".")
                + " Storage properties have names like s3.endpoint: **{'s3.endpoint': '...'}"
            )
