"""Plans that joins made smaller lately: reading a small table's keys again takes milliseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa

from iceberg_spark.read.bounded_cache import BoundedCache
from iceberg_spark.read.joined_keys import keys_of, with_keys
from iceberg_spark.read.limits import JOINS
from iceberg_spark.scan.context import ScanContext
from iceberg_spark.scan.plan import ScanPlan
from iceberg_spark.spec import types as t

_joined = BoundedCache(JOINS.kept_bytes)


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """A plan of a join, and which of its columns is joined by.

    Plans are the same whose tables of files are: these are kept as long as this is, and no plan has
    those of a plan by another filter. `storage` may hold secrets.
    """

    files: pa.Table
    context: ScanContext
    field_id: int
    storage: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, plan: ScanPlan, column: t.NestedField) -> Self:
        return cls(plan.files, plan.context, column.field_id, dict(plan.context.io.properties))

    def __hash__(self) -> int:
        return hash((id(self.files), self.field_id))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, _Side)
            and self.files is other.files
            and self.field_id == other.field_id
            and self.storage == other.storage
            and self.context == other.context
        )


@dataclass(frozen=True, slots=True)
class JoinedPlan:
    """The files of a plan that may hold one of so many keys; `plan` is None where all may."""

    plan: ScanPlan | None
    keys: int


def joined_plan(
    plan: ScanPlan, column: t.NestedField, other: ScanPlan, key: t.NestedField
) -> JoinedPlan:
    """Return what is left of a plan's files by the keys of another plan's rows.

    The keys are read, unless both plans were joined so before: files never change. Raises what
    reading files raises.
    """
    sides = _Side.of(plan, column), _Side.of(other, key)

    def sized() -> tuple[Any, int]:
        keys = keys_of(other, key)
        fewer = with_keys(plan, column, keys)
        held = (plan, other) if fewer is None else (plan, other, fewer)
        size = JOINS.kept_plan_bytes + sum(held_plan.files.nbytes for held_plan in held)
        return JoinedPlan(fewer, len(keys)), size

    joined: JoinedPlan = _joined.get_or_load(sides, sized)
    if joined.plan is None:
        return joined
    return replace(joined, plan=replace(joined.plan, context=plan.context))
