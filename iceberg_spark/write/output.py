"""Which spec and which sort order of a table a write's files have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from iceberg_spark.errors import InvalidOptionError
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.sort import UNSORTED, SortOrder

Value = TypeVar("Value")


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
        return _of_id("output-spec-id", self.spec_id, "partition specs", metadata.partition_specs)

    def sort_order(self, metadata: TableMetadata) -> SortOrder:
        """Return the sort order. Raises InvalidOptionError for an id that the table lacks."""
        if self.sort_order_id is None:
            return metadata.sort_order if self.is_arranged else UNSORTED
        name = "output-sort-order-id"
        return _of_id(name, self.sort_order_id, "sort orders", metadata.sort_orders)


def _of_id(option: str, number: int, what: str, values: Mapping[int, Value]) -> Value:
    if number not in values:
        ids = ", ".join(map(str, sorted(values)))
        raise InvalidOptionError(f"Option '{option}' is {number}, and the table's {what} are {ids}")
    return values[number]


TABLE_OUTPUT = Output()
"""The spec and the sort order that the table has."""
