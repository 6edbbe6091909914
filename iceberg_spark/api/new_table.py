"""Create a table from what users say: schema, partitioning and order as texts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from iceberg_spark.api.schema_input import SchemaInput, as_schema
from iceberg_spark.api.table import Table
from iceberg_spark.catalog.catalog import Catalog
from iceberg_spark.catalog.chosen_location import chosen_location, new_table_properties
from iceberg_spark.catalog.foreign_folder import check_free
from iceberg_spark.catalog.table_name import property_texts
from iceberg_spark.commits.commit import CleanupOnFailure, commit
from iceberg_spark.commits.create_table import DropOnFailure
from iceberg_spark.errors import InvalidTypeError
from iceberg_spark.spec.format_version import check_writable_version
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.properties import property_warnings
from iceberg_spark.spec.transform_text import parse_partition_spec, parse_sort_order
from iceberg_spark.spec.updates import TableUpdate


def create(
    catalog: Catalog,
    identifier: str,
    schema: SchemaInput,
    partition_by: Sequence[str] | str | None,
    sort_order: Sequence[str] | str | None,
    properties: Mapping[str, object],
    *,
    location: str | None = None,
    case_sensitive: bool = True,
) -> Table:
    """Create an empty table. Raises TableAlreadyExistsError, InvalidSchemaError.

    `location` is its location, by default the catalog's choice; a catalog of folders cannot have
    another (UnsupportedError). `case_sensitive` applies to the columns that partitioning and order
    name.
    """
    texts = new_table_properties(catalog.properties, property_texts(properties))
    table_schema = as_schema(schema, format_version=check_writable_version(texts))
    for message in property_warnings(texts):
        warnings.warn(message, stacklevel=3)
    spec = parse_partition_spec(_texts("partition_by", partition_by), table_schema, case_sensitive)
    order = parse_sort_order(_texts("sort_order", sort_order), table_schema, case_sensitive)

    chosen = None if location is None else chosen_location(catalog, identifier, location)

    def creation(default_location: str) -> tuple[TableUpdate, ...]:
        return new_table_updates(
            table_schema, spec, order, location=chosen or default_location, properties=texts
        )

    new = catalog.stage(identifier, creation)
    with (
        CleanupOnFailure(new.io, ()) as commit_state,
        DropOnFailure(catalog, identifier, new.ours, commit_state),
    ):
        check_free(new.io, new.location, requested=True)
        loaded = commit(catalog, identifier, (), None, creation=new, commit_state=commit_state)
    return Table(catalog, loaded)


def _texts(argument: str, value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    texts = (value,) if isinstance(value, str) else value
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise InvalidTypeError(
            f"{argument} must be a list of texts like 'days(ts)', or one, not {value!r}"
        )
    return tuple(texts)
