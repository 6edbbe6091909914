"""Sort orders as values (specification: "Sorting")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from iceberg_spark.spec.shown import html_table
from iceberg_spark.spec.transforms import Transform

UNSORTED_ORDER_ID = 0


class SortDirection(StrEnum):
    """Ascending or descending, as written in JSON."""

    ASC = "asc"
    DESC = "desc"


class NullOrder(StrEnum):
    """The order of nulls, as stored in JSON."""

    NULLS_FIRST = "nulls-first"
    NULLS_LAST = "nulls-last"


@dataclass(frozen=True, slots=True)
class SortField:
    """One key of a sort order."""

    source_ids: tuple[int, ...]
    transform: Transform
    direction: SortDirection
    null_order: NullOrder
    extra: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def source_id(self) -> int:
        """The first (nearly always the only) source column id."""
        return self.source_ids[0]

    def __str__(self) -> str:
        return f"{self.transform}({self.source_id}) {self.direction} {self.null_order}"


@dataclass(frozen=True, slots=True, repr=False)
class SortOrder:
    """Sort keys, most significant first; order id 0 is reserved for unsorted."""

    order_id: int = UNSORTED_ORDER_ID
    fields: tuple[SortField, ...] = ()
    extra: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def is_unsorted(self) -> bool:
        """True when there is no key."""
        return not self.fields

    def __repr__(self) -> str:
        lines = "".join(f"\n  {key}" for key in self.fields)
        return f"SortOrder {self.order_id}{lines or ', unsorted'}"

    def _repr_html_(self) -> str:
        rows = [
            (key.transform, key.source_id, key.direction, key.null_order) for key in self.fields
        ]
        columns = ("transform", "of column id", "direction", "nulls")
        return html_table("Sort order", columns, rows, "unsorted")

    def __str__(self) -> str:
        return "[" + ", ".join(str(key) for key in self.fields) + "]"


UNSORTED = SortOrder()
