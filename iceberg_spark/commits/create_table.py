"""Create a table, alone or together with its first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iceberg_spark.catalog.catalog import Catalog, LoadedTable, NewTable
from iceberg_spark.commits.action import Action
from iceberg_spark.commits.commit import commit
from iceberg_spark.spec.new_table import new_table_updates
from iceberg_spark.spec.partition import UNPARTITIONED, PartitionSpec
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import UNSORTED, SortOrder


def create_table(  # noqa: PLR0913 (a table has that many parts)
    catalog: Catalog,
    identifier: str,
    schema: Schema,
    spec: PartitionSpec = UNPARTITIONED,
    order: SortOrder = UNSORTED,
    *,
    location: str,
    properties: Mapping[str, str] | None = None,
    format_version: int | None = None,
    actions: Sequence[Action] = (),
) -> LoadedTable:
    """Create a table by one commit, together with `actions` (a first append).

    Assigns new ids, as `spec.new_table` does. Raises TableAlreadyExistsError, after it removed the
    files that the actions wrote.
    """
    creation = new_table_updates(
        schema,
        spec,
        order,
        location=location,
        properties=properties,
        format_version=format_version,
    )
    new = NewTable(creation, catalog.io(location))
    return commit(catalog, identifier, actions, None, creation=new)
