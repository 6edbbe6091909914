"""How a compaction arranges rows: unchanged, sorted, or along a z-order curve."""

from __future__ import annotations

import re
from dataclasses import dataclass

from iceberg_spark.errors import InvalidInputError, InvalidSchemaError
from iceberg_spark.maintenance.rewrite_options import Strategy
from iceberg_spark.spec.arguments import split_list
from iceberg_spark.spec.compatibility import check_order
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.partition import PartitionSpec
from iceberg_spark.spec.quoted_name import quoted_parts
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.sort import UNSORTED, SortOrder
from iceberg_spark.spec.transform_text import parse_sort_field
from iceberg_spark.spec.transforms import IdentityTransform

_Z_ORDER = re.compile(r"zorder\s*\((.*)\)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Layout:
    """A strategy with its sort keys.

    `order` has the id of the table's equal order, 0 if there is none; `z_columns` are field ids. A
    bin-pack of a sorted table sorts the rows of each task, as other writes do.
    """

    strategy: Strategy
    order: SortOrder = UNSORTED
    z_columns: tuple[int, ...] = ()

    @property
    def moves_rows(self) -> bool:
        """Whether the rows of all files of a group are sorted together."""
        return self.strategy is not Strategy.BIN_PACK


def layout(
    metadata: TableMetadata,
    strategy: str | None,
    sort_order: str | None,
    *,
    case_sensitive: bool = True,
) -> Layout:
    """Return the layout of `strategy` and `sort_order`, read as Java's procedure reads them.

    Raises:
        InvalidInputError: the strategy is unknown, "binpack" has a sort order, columns and
            zorder(...) are mixed, or a sort has no order.
        InvalidSchemaError: a column does not exist or cannot be sorted by.
    """
    usual = "binpack" if sort_order is None else "sort"
    named = usual if strategy is None else strategy.lower()
    if named not in ("binpack", "sort"):
        raise InvalidInputError(
            f"Strategy '{strategy}' is unknown: use 'binpack', or 'sort', which with "
            "sort_order='zorder(a, b)' is a z-order"
        )
    if named == "binpack":
        if sort_order is not None:
            raise InvalidInputError("sort_order needs strategy='sort': a bin-pack sorts nothing")
        return Layout(Strategy.BIN_PACK, metadata.sort_order)
    if sort_order is None:
        if metadata.sort_order.is_unsorted:
            raise InvalidInputError(
                f"{metadata.location} is unsorted: set sort_order='...', or give the table an order"
            )
        return Layout(Strategy.SORT, metadata.sort_order)
    terms = split_list(sort_order)
    curves = [matched for term in terms if (matched := _Z_ORDER.fullmatch(term.strip()))]
    if curves and len(curves) < len(terms):
        raise InvalidInputError(f"sort_order '{sort_order}' mixes columns and zorder(...)")
    if curves:
        names = [name for z_order in curves for name in split_list(z_order[1])]
        columns = _z_columns(metadata, names, case_sensitive=case_sensitive)
        return Layout(Strategy.Z_ORDER, z_columns=columns)
    return Layout(Strategy.SORT, _order(metadata, terms, case_sensitive=case_sensitive))


def _order(metadata: TableMetadata, terms: tuple[str, ...], *, case_sensitive: bool) -> SortOrder:
    """Return the order, with the table's id if the table has had an order with these keys."""
    fields = tuple(parse_sort_field(term, metadata.schema, case_sensitive) for term in terms)
    if not fields:
        raise InvalidInputError("sort_order names no column")
    check_order(SortOrder(1, fields), metadata.schema)
    orders = (metadata.sort_order, *metadata.sort_orders.values())
    return next((order for order in orders if order.fields == fields), SortOrder(0, fields))


def _z_columns(
    metadata: TableMetadata, names: list[str], *, case_sensitive: bool
) -> tuple[int, ...]:
    """Return the columns of a curve, without those that are constant in a partition."""
    schema = metadata.schema
    field_ids = [_column(schema, name, case_sensitive=case_sensitive) for name in names]
    if not field_ids:
        raise InvalidInputError("zorder() names no column")
    constant = _identity_sources(metadata.spec)
    chosen = tuple(field_id for field_id in field_ids if field_id not in constant)
    if not chosen:
        raise InvalidInputError(
            f"zorder({', '.join(names)}): all columns are identity partition columns, whose values "
            "are constant within a partition"
        )
    return chosen


def _column(schema: Schema, name: str, *, case_sensitive: bool) -> int:
    parts = quoted_parts(name.strip())
    column = name.strip() if parts is None else ".".join(parts)
    field_id = schema.find_id(column, case_sensitive=case_sensitive)
    if field_id is None:
        column_names = ", ".join(schema.column_names)
        raise InvalidSchemaError(f"zorder has no column '{name}'; the table has: {column_names}")
    return field_id


def _identity_sources(spec: PartitionSpec) -> set[int]:
    return {part.source_id for part in spec.fields if isinstance(part.transform, IdentityTransform)}
