"""Statistics as columns: one row per file, manifest or row group.

Column names are `column(kind, field_id)`; null means unknown. Counts are int64. A value count
includes nulls and NaN; bounds cover the other values only, in `arrow_type` of the column.
`evaluate` turns an expression of `may_match` or `must_match` into a mask over such a table.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import _acero as acero  # pyarrow.acero imports pyarrow.dataset, and that pandas

from iceberg_spark.expr.logic import leaves
from iceberg_spark.expr.nodes import (
    Bound,
    BoundReference,
    Comparison,
    In,
    IsNaN,
    IsNull,
    Leaf,
    StartsWith,
)
from iceberg_spark.spec.types import (
    PRIMITIVES,
    DoubleType,
    FloatType,
    IcebergType,
    LongType,
)


class Kind(StrEnum):
    """The kind of a statistics column."""

    LOWER = "lower"
    UPPER = "upper"
    NULL_COUNT = "null_count"
    NAN_COUNT = "nan_count"
    VALUE_COUNT = "value_count"


LOWER, UPPER = Kind.LOWER, Kind.UPPER
NULL_COUNT, NAN_COUNT, VALUE_COUNT = Kind.NULL_COUNT, Kind.NAN_COUNT, Kind.VALUE_COUNT


class Statistic(NamedTuple):
    """A statistics column: its kind, the data column it is about, and its Iceberg type."""

    kind: Kind
    field_id: int
    field_type: IcebergType


def column(kind: Kind, field_id: int) -> str:
    """Return the name of a statistics column."""
    return f"{kind}_{field_id}"


def may_be_nan(kind: IcebergType) -> bool:
    """Return whether a type has NaN."""
    return isinstance(kind, FloatType | DoubleType)


def needed_statistics(bound: Bound) -> tuple[Statistic, ...]:
    """Return the statistics columns that the masks of a bound tree read, each once."""
    statistics: dict[Statistic, None] = {}
    for leaf in leaves(bound):
        if isinstance(leaf.term, BoundReference) and isinstance(leaf.term.field_type, PRIMITIVES):
            statistics.update(dict.fromkeys(_of_leaf(leaf, leaf.term)))
    return tuple(statistics)


def decisive(bound: Bound) -> frozenset[int]:
    """Return the ids of columns of which bounds alone decide whether a file may match.

    A file with bounds of a column has values in it that are neither null nor NaN. So counts tell
    nothing more about a comparison, unless NaN counts as a value.
    """
    counted = {
        leaf.term.field_id
        for leaf in leaves(bound)
        if isinstance(leaf.term, BoundReference)
        and (isinstance(leaf, IsNull | IsNaN) or may_be_nan(leaf.term.field_type))
    }
    return frozenset(statistic.field_id for statistic in needed_statistics(bound)) - counted


def _of_leaf(leaf: Leaf, term: BoundReference) -> tuple[Statistic, ...]:
    kinds = [NULL_COUNT, VALUE_COUNT]
    match leaf:
        case IsNull():
            pass
        case IsNaN():
            kinds.append(NAN_COUNT)
        case Comparison() | In() | StartsWith():
            kinds += [LOWER, UPPER]
            if may_be_nan(term.field_type):
                kinds.append(NAN_COUNT)
    return tuple(
        Statistic(kind, term.field_id, term.field_type if kind in (LOWER, UPPER) else LongType())
        for kind in kinds
    )


def evaluate(expression: pc.Expression, table: pa.Table) -> pa.ChunkedArray:
    """Return the boolean value of an expression for every row of a statistics table, in order."""
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(table))
    project = acero.Declaration("project", acero.ProjectNodeOptions([expression], ["mask"]))
    return acero.Declaration.from_sequence([source, project]).to_table(use_threads=False).column(0)


def summary_counts(
    contains_null: bool | None, contains_nan: bool | None, has_bounds: bool, kind: IcebergType
) -> tuple[int | None, int | None, int | None]:
    """Return (value, null, NaN) counts equivalent to a partition field summary.

    A summary has no counts, only whether there are any: the numbers are the smallest ones with the
    same meaning, None if unknown. Without bounds all values are null or NaN (specification:
    "Manifest Lists", `field_summary`).
    """
    nulls = None if contains_null is None or (contains_null and has_bounds) else int(contains_null)
    nans = 0 if not may_be_nan(kind) else None if contains_nan is None else int(contains_nan)
    if has_bounds:
        return None, nulls, 0 if nans == 0 else None
    if nulls is None or nans is None or nulls + nans == 0:
        return None, nulls, nans
    return nulls + nans, nulls, nans
