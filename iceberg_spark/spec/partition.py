"""Partition specs as values (specification: "Partitioning")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from iceberg_spark.spec.printable import printable
from iceberg_spark.spec.shown import html_table
from iceberg_spark.spec.transforms import Transform, VoidTransform
from iceberg_spark.spec.values import identity

FIRST_PARTITION_FIELD_ID = 1000


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One field of a spec: source column ids, its own id, transform and name."""

    source_ids: tuple[int, ...]
    field_id: int
    transform: Transform
    name: str
    extra: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def source_id(self) -> int:
        """The first (nearly always the only) source column id."""
        return self.source_ids[0]

    def __str__(self) -> str:
        sources = ", ".join(str(source) for source in self.source_ids)
        return f"{self.field_id}: {self.name}: {self.transform}({sources})"


@dataclass(frozen=True, slots=True, repr=False)
class PartitionSpec:
    """How the partition tuple of a row is computed."""

    spec_id: int = 0
    fields: tuple[PartitionField, ...] = ()
    extra: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def is_unpartitioned(self) -> bool:
        """True when there is no field or all are void."""
        return not self.live_fields

    @property
    def live_fields(self) -> tuple[PartitionField, ...]:
        """The fields that are not void: those by which rows are apart."""
        return tuple(part for part in self.fields if not isinstance(part.transform, VoidTransform))

    @property
    def last_assigned_field_id(self) -> int:
        """The highest field id, 999 for an empty spec."""
        return max((part.field_id for part in self.fields), default=FIRST_PARTITION_FIELD_ID - 1)

    def __repr__(self) -> str:
        lines = "".join(f"\n  {part}" for part in self.fields)
        return printable(f"PartitionSpec {self.spec_id}{lines or ', unpartitioned'}")

    def _repr_html_(self) -> str:
        rows = [(part.name, part.transform, part.source_id) for part in self.fields]
        columns = ("field", "transform", "of column id")
        return html_table("Partition spec", columns, rows, "unpartitioned")

    def __str__(self) -> str:
        return "[" + ", ".join(str(part) for part in self.fields) + "]"


UNPARTITIONED = PartitionSpec()


def partition_key(partition: tuple[Any, ...]) -> tuple[object, ...]:
    """Return a hashable that equals only that of the same partition tuple.

    Floats compare by their identity, where Python's tuples compare by equality.
    """
    return tuple(identity(value) for value in partition)
