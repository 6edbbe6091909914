"""Which spec and which sort order of a table a write's files have."""

from __future__ import annotations

from dataclasses import dataclass

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.sort import UNSORTED, SortOrder


@dataclass(frozen=True, slots=True)
class Output:
    """The spec and the sort order of a write's files by id, None for the table's own.

    Rows that are not `is_arranged` are neither distributed nor sorted.
    """

    spec_id: int | None = None
    sort_order_id: int | None = None
    is_arranged: bool = True

    def spec(self, metadata: TableMetadata) -> PartitionSpec:
        """Return the spec. Raises InvalidOptionError for an id that the table does not have."""
        if self.spec_id is None:
            return metadata.spec
        specs = metadata.partition_specs
        if self.spec_id not in specs:
            raise InvalidOptionError(
                f"Option 'output-spec-id' is {self.spec_id}, and the table's partition specs are "
                f"{', '.join(map(str, sorted(specs)))}"
            )
        return specs[self.spec_id]

    def sort_order(self, metadata: TableMetadata) -> SortOrder:
        """Return the sort order. Raises InvalidOptionError for an id that the table lacks."""
        if self.sort_order_id is None:
            return metadata.sort_order if self.is_arranged else UNSORTED
        orders = metadata.sort_orders
        if self.sort_order_id not in orders:
            raise InvalidOptionError(
                f"Option 'output-sort-order-id' is {self.sort_order_id}, and the table's sort "
                f"orders are {', '.join(map(str, sorted(orders)))}"
            )
        return orders[self.sort_order_id]


TABLE_OUTPUT = Output()
"""The spec and the sort order that the table has."""
