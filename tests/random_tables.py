"""Tables of random histories: schemas and specs change between appends, deletes and added files."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.arrow.schema import to_arrow
from iceberg_spark.errors import InvalidInputError, UnsupportedError, ValidationException
from iceberg_spark.spec.types import (
    BinaryType,
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    ListType,
    StringType,
    StructType,
    TimestamptzType,
)
from tests.row_model import NUMBER, Place, Row, RowModel
from tests.spark.delete_commits import delete_keys, delete_positions

NAMES = ("a", "b", "c", "d")
TYPES = (
    "int",
    "double",
    "string",
    "date",
    "decimal(9, 2)",
    "binary",
    "boolean",
    "timestamp",
    "struct<x int, y double>",
    "array<int>",
)
SPECS = ("bucket(3, id)", "a", "b", "truncate(2, c)", "years(d)")
WIDER = {"int": "bigint", "float": "double"}
WITH_SPARK = settings(
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink takes too long with Spark
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""Settings of tests that build a table for each example and read it with Spark."""


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
         "upsert", "add file", "orc", "delete keys", "delete keys", "delete pairs",
         "delete positions")
    ),
    st.sampled_from(NAMES),
    st.sampled_from(NAMES),
    st.integers(0, 40),
)  # fmt: skip
histories = st.lists(steps, min_size=4, max_size=12)


@dataclass(frozen=True)
class Built:
    """A table and what it should hold."""

    table: Table
    model: RowModel


def build(location: str, scratch: Path, history: list[Step]) -> Built:
    """Return a table to which the steps happened, each where it could."""
    table = ice.create_table(
        location,
        "id bigint, n bigint, a int, b string, c double, d struct<x int, y double>",
        properties={"write.delete.mode": "merge-on-read"},
    )
    built = Built(table, RowModel())
    _append(built, 0)
    for at, step in enumerate(history):
        try:
            _happen(built, step, scratch / f"{at}.parquet")
        except (InvalidInputError, UnsupportedError, ValidationException):
            continue
    return built


def _append(built: Built, start: int) -> None:
    given = rows(built.table, start, len(built.model.rows))
    built.table.append(given)
    built.model.write(built.table, given)


def _happen(built: Built, step: Step, path: Path) -> None:
    table, model = built.table, built.model
    match step.what:
        case "append":
            _append(built, step.number)
        case "orc":
            table.update_properties().set({"write.format.default": "orc"}).commit()
            try:
                _append(built, step.number)
            finally:
                table.update_properties().set({"write.format.default": "parquet"}).commit()
        case "add file":
            if table.spec().is_unpartitioned:
                pq.write_table(_plain(rows(table, step.number, 10_000 + len(model.rows))), path)
                table.add_files([str(path)])
                model.known = False
        case "delete":
            schema, ids = table.schema(), {step.number, step.number + 3}
            table.delete(f"id in ({step.number}, {step.number + 3}) or {step.name} is null")
            model.delete(
                lambda row: row.value(schema, "id") in ids or row.value(schema, step.name) is None
            )
        case "upsert":
            given = rows(table, step.number, len(model.rows)).slice(0, 3)
            table.upsert(given, ["id"])
            schema, ids = table.schema(), set(given.column("id").to_pylist())
            model.delete(lambda row: row.value(schema, "id") in ids)
            model.write(table, given)
        case "delete keys" | "delete pairs":
            _delete_keys(built, step)
        case "delete positions":
            _delete_positions(built, step)
        case "spec" | "no spec":
            _change_spec(table, step)
        case _:
            _change_schema(built, step)


def _takes_a_former_name(table: Table, step: Step) -> bool:
    """Return whether a column gets a name that files without ids may have another column under.

    The name mapping then gives their column to the new one, of whatever type, as in Java.
    """
    former = {field.name for schema in table.metadata.schemas.values() for field in schema.fields}
    return {"rename": step.other, "add": step.name}.get(step.what) in former


def _delete_keys(built: Built, step: Step) -> None:
    """Keys of live rows and one of none, everywhere or in the partition of a row."""
    table, model = built.table, built.model
    names = [_key(table, step.name)]
    if step.what == "delete pairs":
        names = sorted({*names, _key(table, step.other), "id"})
    live = model.live()
    if not live:
        return
    chosen = [live[(step.number + at * 5) % len(live)] for at in range(3)]
    keys = [{name: row.value(table.schema(), name) for name in names} for row in chosen]
    # Java keeps the row whose struct is NULL where a key inside is (decision 0005): not asked.
    keys = [key for key in keys if not any("." in n and key[n] is None for n in names)]
    place = chosen[0].place if step.number % 3 else None
    if not keys:
        return
    delete_keys(table, keys, *((0, ()) if place is None else place))
    model.delete_equal(table, names, keys, _scope(table, place))


def _scope(table: Table, place: Place | None) -> Place | None:
    """Where a delete holds: one under a spec without partitions, everywhere."""
    if place is None or table.metadata.partition_specs[place[0]].is_unpartitioned:
        return None
    return place


def _key(table: Table, name: str) -> str:
    """The column if keys may be of its type, what lies in it, or else `id`."""
    found = _field(table, name)
    match found and found.field_type:
        case StructType():
            return f"{name}.x"
        case None | FloatType() | DoubleType() | ListType():
            return "id"
        case _:
            return name


def _field(table: Table, name: str) -> Any:
    return next((one for one in table.schema().fields if one.name == name), None)


def _delete_positions(built: Built, step: Step) -> None:
    tasks = {task.file_path: task for task in built.table.scan().plan_files()}
    live = [row for row in built.model.live() if row.file in tasks]
    if not live:
        return
    place = live[step.number % len(live)].place
    gone: dict[str, list[Row]] = {}
    for row in (live[(step.number + at * 3) % len(live)] for at in range(4)):
        if row.place == place:
            gone.setdefault(row.file, []).append(row)
    pairs = [
        (tasks[file], sorted({row.position for row in chosen})) for file, chosen in gone.items()
    ]
    delete_positions(built.table, pairs, "partition" if step.number % 2 else "file")
    doomed = {(row.file, row.position) for chosen in gone.values() for row in chosen}
    built.model.delete(lambda row: (row.file, row.position) in doomed)


def _change_spec(table: Table, step: Step) -> None:
    with table.update_spec() as update:
        if step.what == "spec":
            update.add_field(SPECS[step.number % len(SPECS)])
        else:
            update.remove_field(table.spec().fields[0].name if table.spec().fields else "none")


def _change_schema(built: Built, step: Step) -> None:
    table = built.table
    if not built.model.known and _takes_a_former_name(table, step):
        return
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


def rows(table: Table, start: int, first: int) -> pa.Table:
    """Ten rows with NULLs, NaN and structs without values; some ids come twice in a table."""
    schema = to_arrow(table.schema())
    numbers = range(start, start + 10)
    own = {"id": numbers, NUMBER: range(first, first + 10)}
    columns = [
        pa.array(own[field.name], pa.int64())
        if field.name in own
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
    if pa.types.is_binary(kind):
        return b"b%d" % (number % 6)
    if pa.types.is_boolean(kind):
        return number % 2 == 0
    if pa.types.is_date(kind):
        return date(1970, 1, 1 + number % 7)
    if pa.types.is_decimal(kind):
        return Decimal(number % 7 - 3)
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
    for field in table.schema().fields[2:]:
        found.append(f"{field.name} is null")
        match field.field_type:
            case StringType():
                found.append(f"{field.name} like 's1%'")
            case StructType():
                found.append(f"{field.name}.y > 0")
            case ListType() | DateType() | BinaryType() | BooleanType() | TimestamptzType():
                pass
            case _:
                found.append(f"not ({field.name} < 0) or id = 3")
    return found
