"""A table's life at random: changes of its definition as data, rows, and what a model says.

The model keeps rows by field id, so that it needs to know nothing of files, specs or names.
"""

import datetime as dt
import random
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.spec.metadata import TableMetadata
from iceberg_spark.spec.schema import Schema
from iceberg_spark.spec.types import IcebergType, NestedField, StructType
from tests.builders import field, schema, struct

Row: TypeAlias = dict[int, Any]  # leaf field id -> value
Update: TypeAlias = list[tuple[Any, ...]]

START = schema(
    ("id", "long"), ("a", "int"), ("b", "string"), ("c", "float"), ("e", "decimal(5, 2)"),
    ("s", struct(field(20, "x", "int"), field(21, "y", "date"))),
)  # fmt: skip
KEY = 1  # the column that is never deleted
WIDER = {"int": "long", "float": "double", "decimal(5, 2)": "decimal(12, 2)"}
KINDS = ("int", "long", "float", "double", "string", "date", "decimal(5, 2)", "boolean")
TRANSFORMS = {
    "int": ("{}", "bucket(3, {})", "truncate(5, {})"),
    "long": ("{}", "bucket(3, {})", "truncate(5, {})"),
    "decimal(5, 2)": ("{}", "bucket(3, {})", "truncate(50, {})"),
    "decimal(12, 2)": ("bucket(3, {})", "truncate(50, {})"),
    "string": ("{}", "bucket(3, {})", "truncate(1, {})"),
    "date": ("{}", "years({})", "months({})", "days({})"),
    "boolean": ("{}",),
    "float": ("{}",),
    "double": ("{}",),
}


def value(pick: random.Random, kind: IcebergType) -> Any:
    """A value that every wider type holds too."""
    if pick.random() < 0.2:
        return None
    match str(kind):
        case "int" | "long":
            return pick.choice([-(2**31), -7, -1, 0, 3, 34, 2**31 - 1])
        case "float" | "double":
            return pick.choice([-1.5, -0.0, 0.0, 0.5, 1024.0])
        case "string":
            return pick.choice(["", "a", "ab", "é", "\U0001f600z"])
        case "date":
            return dt.date(1970, 1, 1) + dt.timedelta(days=pick.choice([-400, -1, 0, 31, 20000]))
        case "boolean":
            return pick.random() < 0.5
        case _:
            return Decimal(pick.choice(["-0.01", "0.00", "1.25", "999.99"]))


def leaves(columns: Schema) -> list[NestedField]:
    """The primitive columns, nested ones too."""
    found = [columns.find_field(one) for one in columns.field_ids]
    return [one for one in found if not isinstance(one.field_type, StructType)]


def name(columns: Schema, one: NestedField) -> str:
    return columns.find_column_name(one.field_id) or one.name


def rows(pick: random.Random, columns: Schema, first_id: int, count: int) -> list[Row]:
    """New rows whose keys count up."""
    made = []
    for at in range(count):
        row = {one.field_id: value(pick, one.field_type) for one in leaves(columns)}
        made.append({**row, KEY: first_id + at})
    return made


def shown(columns: Schema, row: Row) -> dict[str, Any]:
    """A row of the model as a scan under these columns returns it."""
    return {
        one.name: {part.name: row.get(part.field_id) for part in one.field_type.fields}
        if isinstance(one.field_type, StructType)
        else row.get(one.field_id)
        for one in columns.fields
    }


def arrow(columns: Schema, some: list[Row]) -> pa.Table:
    return pa.Table.from_pylist([shown(columns, row) for row in some], to_arrow(columns))


def schema_update(pick: random.Random, metadata: TableMetadata) -> Update:
    """One to three changes of columns; some may be refused."""
    columns = metadata.schema
    return [_schema_change(pick, columns) for _ in range(pick.randint(1, 3))]


def _schema_change(pick: random.Random, columns: Schema) -> tuple[Any, ...]:
    found = leaves(columns)
    one = pick.choice(found)
    beside = pick.choice([two for two in found if (two is one) == (len(found) == 1)])
    full, fresh = name(columns, one), f"n{pick.randint(0, 8)}"
    deletable = [two for two in found if two.field_id != KEY and not _is_last(columns, two)]
    choices: list[tuple[Any, ...]] = [
        ("add", pick.choice([fresh, f"s.{fresh}"]), pick.choice(KINDS)),
        ("rename", full, fresh),
        ("doc", full, fresh),
        ("first", full),
        ("before", full, name(columns, beside)),
        ("after", full, name(columns, beside)),
    ]
    if deletable:
        choices.append(("delete", name(columns, pick.choice(deletable))))
    widened = [two for two in found if str(two.field_type) in WIDER]
    if widened:
        two = pick.choice(widened)
        choices += 2 * [("widen", name(columns, two), WIDER[str(two.field_type)])]
    return pick.choice(choices)


def _is_last(columns: Schema, one: NestedField) -> bool:
    parent = columns.parent_id(one.field_id)
    kind = None if parent is None else columns.find_type(parent)
    return isinstance(kind, StructType) and len(kind.fields) < 3


def spec_update(pick: random.Random, metadata: TableMetadata) -> Update:
    """A change of the partitioning; it may be refused."""
    columns, fields = metadata.schema, metadata.spec.fields
    if fields and pick.random() < 0.5:
        one = pick.choice(fields)
        return [("unfield", one.name)] if pick.random() < 0.6 else [
            ("refield", one.name, f"p{pick.randint(0, 99)}")
        ]  # fmt: skip
    column = pick.choice(leaves(columns))
    term = pick.choice(TRANSFORMS[str(column.field_type)]).format(name(columns, column))
    return [("field", term)]


def sort_update(pick: random.Random, metadata: TableMetadata) -> Update:
    """Another sort order, or none."""
    columns = metadata.schema
    chosen = pick.sample(leaves(columns), pick.randint(0, 2))
    return [
        ("sort", pick.choice(["asc", "desc"]), name(columns, one), f"nulls {where}")
        for one in chosen
        for where in [pick.choice(["first", "last"])]
    ] or [("unsorted",)]


def predicate(pick: random.Random, columns: Schema) -> tuple[str, int, Any]:
    """A predicate over one column: its text, the column's id, the value (None: IS NULL)."""
    one = pick.choice([two for two in leaves(columns) if str(two.field_type) in ("int", "long")])
    found = value(pick, one.field_type)
    full = name(columns, one)
    text = f"{full} is null" if found is None else f"{full} = {found}"
    return text, one.field_id, found
