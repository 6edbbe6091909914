"""Tables of random histories: schemas and specs change between appends, deletes and added files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError, UnsupportedError, ValidationException
from iceberg_spark.spec.types import DateType, ListType, StringType, StructType

NAMES = ("a", "b", "c", "d")
TYPES = (
    "int",
    "double",
    "string",
    "date",
    "decimal(9, 2)",
    "struct<x int, y double>",
    "array<int>",
)
SPECS = ("bucket(3, id)", "a", "b", "truncate(2, c)", "years(d)")
WIDER = {"int": "bigint", "float": "double"}


@dataclass(frozen=True)
class Step:
    """One thing that happens to a table; what doesn't fit the table then is left out."""

    what: str
    name: str
    other: str
    number: int


steps = st.builds(
    Step,
    st.sampled_from(
        ("append", "append", "rename", "drop", "add", "widen", "spec", "no spec", "delete",
         "upsert", "add file", "orc")
    ),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.integers(0, 40),
)  # fmt: skip
histories = st.lists(steps, min_size=4, max_size=12)


def build(location: str, scratch: Path, history: list[Step]) -> Table:
    """Return a table to which the steps happened, each where it could."""
    table = ice.create_table(
        location,
        "id bigint, a int, b string, c double, d struct<x int, y double>",
        properties={"write.delete.mode": "merge-on-read"},
    )
    table.append(rows(table, 0))
    for at, step in enumerate(history):
        try:
            _happen(table, step, scratch / f"{at}.parquet")
        except (InvalidInputError, UnsupportedError, ValidationException):
            continue
    return table


def _happen(table: Table, step: Step, path: Path) -> None:
    match step.what:
        case "append" | "orc":
            written_as = "orc" if step.what == "orc" else "parquet"
            table.update_properties().set({"write.format.default": written_as}).commit()
            table.append(rows(table, step.number))
            table.update_properties().set({"write.format.default": "parquet"}).commit()
        case "add file":
            if table.spec().is_unpartitioned:
                pq.write_table(_plain(rows(table, step.number)), path)
                table.add_files([str(path)])
        case "delete":
            table.delete(f"id in ({step.number}, {step.number + 3}) or {step.name} is null")
        case "upsert":
            table.upsert(rows(table, step.number).slice(0, 3), ["id"])
        case "spec" | "no spec":
            _change_spec(table, step)
        case _:
            _change_schema(table, step)


def _change_spec(table: Table, step: Step) -> None:
    with table.update_spec() as update:
        if step.what == "spec":
            update.add_field(SPECS[step.number % len(SPECS)])
        else:
            update.remove_field(table.spec().fields[0].name if table.spec().fields else "none")


def _change_schema(table: Table, step: Step) -> None:
    with table.update_schema() as update:
        match step.what:
            case "rename":
                update.rename_column(step.name, step.other)
            case "drop":
                update.delete_column(step.name)
            case "add":
                update.add_column(step.name, TYPES[step.number % len(TYPES)])
            case _:
                kind = str(table.schema().find_field(step.name).field_type)
                update.update_column(step.name, WIDER.get(kind, kind))


def rows(table: Table, start: int) -> pa.Table:
    """Ten rows with NULLs, NaN and structs without values; some ids come twice in a table."""
    schema = to_arrow(table.schema())
    numbers = range(start, start + 10)
    columns = [
        pa.array(numbers, pa.int64())
        if field.name == "id"
        else pa.array([_value(field.type, n) for n in numbers], field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _value(kind: pa.DataType, number: int) -> Any:
    if number % 5 == 0:
        return None
    if pa.types.is_struct(kind):
        return {f.name: _value(f.type, number + at + 1) for at, f in enumerate(kind)}
    if pa.types.is_list(kind):
        return [_value(kind.value_type, number + 1), None]
    if pa.types.is_floating(kind):
        return float("nan") if number % 4 == 1 else number / 4 - 3
    if pa.types.is_string(kind):
        return f"s{number % 6}"
    return pa.scalar(number % 7 - 3).cast(kind).as_py()


def _plain(table: pa.Table) -> pa.Table:
    """The same columns without field ids."""
    return table.cast(pa.schema([pa.field(f.name, _without_ids(f.type)) for f in table.schema]))


def _without_ids(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _without_ids(f.type)) for f in kind])
    return pa.list_(_without_ids(kind.value_type)) if pa.types.is_list(kind) else kind


def filters(table: Table) -> list[str]:
    """Filters on every column that the table has now."""
    found = ["id > 12"]
    for field in table.schema().fields[1:]:
        found.append(f"{field.name} is null")
        match field.field_type:
            case StringType():
                found.append(f"{field.name} like 's1%'")
            case StructType():
                found.append(f"{field.name}.y > 0")
            case ListType() | DateType():
                pass
            case _:
                found.append(f"not ({field.name} < 0) or id = 3")
    return found
