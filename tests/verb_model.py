"""What the verbs mean: a table as a list of rows, and changes of it as values.

A row is a dict from column to value. A column here is what a field id is in Iceberg: it keeps its
values when it is renamed, and one that is dropped and added again under its name is another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import mmh3
import pyarrow as pa

from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from tests.verb_expressions import Expr, ValueOf

Given = Mapping[str, Any]  # kind -> value, as drawn
Row = Mapping[str, Any]  # column -> value, as kept
Rows = list[Row]
DELETES = ("D", "-D", "-U")
STRUCT_FIELDS = ("k", "t")


@dataclass(frozen=True)
class View:
    """The columns of a schema: which column a kind is today, and its name."""

    columns: Mapping[str, tuple[str, str]]

    def has(self, kinds: Iterable[str]) -> bool:
        return all(kind.split(".")[0] in self.columns for kind in kinds)

    def name(self, kind: str) -> str:
        head, _, rest = kind.partition(".")
        return f"{self.columns[head][1]}.{rest}" if rest else self.columns[head][1]

    def sql(self, kind: str) -> str:
        """The name in backquotes where SQL needs them."""
        head, dot, rest = kind.partition(".")
        name = self.columns[head][1]
        quoted = name if name.isascii() and name.isidentifier() else f"`{name.replace('`', '``')}`"
        return f"{quoted}{dot}{rest}"

    def values(self, row: Row) -> ValueOf:
        """The row's value of each kind; a struct that is null has null fields."""

        def value(kind: str) -> Any:
            head, _, rest = kind.partition(".")
            found = row.get(self.columns[head][0])
            return found[STRUCT_FIELDS.index(rest)] if rest and found is not None else found

        return value

    def row(self, given: Given) -> Row:
        """A row as it is kept."""
        return {self.columns[kind][0]: given.get(kind) for kind in self.columns}

    def matching(self, where: Expr) -> Callable[[Row], bool]:
        return lambda row: where.value(self.values(row)) is True

    def shown(self, rows: Rows) -> Counter[str]:
        """The rows as a scan shows them, as a multiset."""
        order = sorted(self.columns)
        return Counter(repr([row.get(self.columns[kind][0]) for kind in order]) for row in rows)

    def read(self, found: pa.Table) -> Counter[str]:
        """What a scan returned, likewise."""
        columns = []
        for kind in sorted(self.columns):
            values = found[self.columns[kind][1]].to_pylist()
            columns.append([tuple(v.values()) if isinstance(v, dict) else v for v in values])
        return Counter(repr(list(row)) for row in zip(*columns, strict=True))

    def arrow(self, table: Table, rows: Iterable[Given], without: Iterable[str] = ()) -> pa.Table:
        """Rows as the user hands them over, columns as the table has them."""
        schema = to_arrow(table.schema())
        kinds = [kind for kind in self.columns if kind not in without]
        arrays = {}
        given = list(rows)
        for kind in kinds:
            of = schema.field(self.name(kind)).type
            arrays[self.name(kind)] = pa.array([_plain(row.get(kind)) for row in given], of)
        return pa.table(arrays)


def _plain(value: Any) -> Any:
    return dict(zip(STRUCT_FIELDS, value, strict=True)) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class Part:
    """A partition field: a transform of a kind."""

    kind: str
    transform: str = "identity"
    width: int = 0

    def text(self, view: View) -> str:
        name = view.sql(self.kind)
        match self.transform:
            case "identity":
                return name
            case "months":
                return f"months({name})"
            case _:
                return f"{self.transform}({self.width}, {name})"

    def value(self, value: Any) -> Any:
        """The partition of a value (specification, "Partition Transforms")."""
        match self.transform, value:
            case "identity", _:
                return value
            case _, None:
                return None
            case "months", date():
                return (value.year, value.month)
            case "truncate", str():
                return value[: self.width]
            case "truncate", int():
                return value - value % self.width
            case _:
                as_bytes = value.to_bytes(8, "little", signed=True)
                return (mmh3.hash(as_bytes) & 0x7FFFFFFF) % self.width


# ------------------------------------------------------------------------------------- changes


@dataclass(frozen=True)
class Append:
    rows: tuple[Given, ...]
    without: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Delete:
    where: Expr


@dataclass(frozen=True)
class Overwrite:
    where: Expr
    rows: tuple[Given, ...]


@dataclass(frozen=True)
class DynamicOverwrite:
    rows: tuple[Given, ...]
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Upsert:
    """Rows with their operations; `order`, when given, says in which order they happened."""

    rows: tuple[Given, ...]
    operations: tuple[str, ...]
    keys: tuple[str, ...]
    order: tuple[int, ...] = ()
    global_delete: bool = field(default=False, compare=False)


Change = Append | Delete | Overwrite | DynamicOverwrite | Upsert


def kinds_of(change: Change) -> frozenset[str]:
    """The kinds that have to be in the table for a change."""
    match change:
        case Delete() | Overwrite():
            return change.where.kinds
        case Upsert():
            return frozenset(change.keys)
        case DynamicOverwrite():
            return frozenset(part.kind for part in change.parts)
        case Append():
            return frozenset()


def after(change: Change, rows: Rows, view: View) -> Rows:
    """The rows of a table after a change that was planned on a view."""
    match change:
        case Append():
            given = [{k: v for k, v in r.items() if k not in change.without} for r in change.rows]
            return [*rows, *map(view.row, given)]
        case Delete():
            gone = view.matching(change.where)
            return [row for row in rows if not gone(row)]
        case Overwrite():
            gone = view.matching(change.where)
            return [*(row for row in rows if not gone(row)), *map(view.row, change.rows)]
        case DynamicOverwrite():
            return _with_partitions(change, rows, view)
        case Upsert():
            return _upserted(change, rows, view)


def _with_partitions(change: DynamicOverwrite, rows: Rows, view: View) -> Rows:
    def partition(row: Row) -> tuple[Any, ...]:
        of = view.values(row)
        return tuple(part.value(of(part.kind)) for part in change.parts)

    new = [view.row(given) for given in change.rows]
    replaced = {partition(row) for row in new}
    return [*(row for row in rows if partition(row) not in replaced), *new]


def _upserted(change: Upsert, rows: Rows, view: View) -> Rows:
    def key(row: Row) -> tuple[Any, ...]:
        of = view.values(row)
        return tuple(of(kind) for kind in change.keys)

    last: dict[tuple[Any, ...], Row | None] = {}
    arrived = list(range(len(change.rows)))
    if change.order:
        arrived.sort(key=lambda at: change.order[at])
    for at in arrived:
        row = view.row(change.rows[at])
        last[key(row)] = None if change.operations[at] in DELETES else row
    kept = [row for row in rows if key(row) not in last]
    return [*kept, *(row for row in last.values() if row is not None)]


def run(change: Change, table: Any, seen: Table, view: View, **options: Any) -> Any:
    """Do a change to a table or transaction; `seen` is the table that it was planned on."""
    match change:
        case Append():
            return table.append(view.arrow(seen, change.rows, change.without), **options)
        case Delete():
            return table.delete(change.where.text(view.sql), **options)
        case Overwrite():
            where = change.where.text(view.sql)
            return table.overwrite(view.arrow(seen, change.rows), where, **options)
        case DynamicOverwrite():
            return table.dynamic_partition_overwrite(view.arrow(seen, change.rows), **options)
        case Upsert():
            batch = view.arrow(seen, change.rows)
            batch = batch.append_column("_op", pa.array(change.operations, pa.string()))
            if change.order:
                batch = batch.append_column("_at", pa.array(change.order, pa.int64()))
            return table.upsert(
                batch,
                [view.name(key) for key in change.keys],
                order_by="_at" if change.order else (),
                global_delete=change.global_delete,
                **options,
            )
