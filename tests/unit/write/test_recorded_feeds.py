"""Feeds that Debezium sent: the table has the database's rows, value by value."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError
from tests.feeds.recorded import NAMES, Column, Feed, actual_values, expected_value, feed

TABLES = [(name, table) for name in NAMES for table in feed(name).tables]
OUT_OF_ORDER = [
    (name, table)
    for name, table in TABLES
    if table in ("docs_default", "quiet", "mck") or (name == "f1" and table in ("ck", "evolving"))
]


def columns_of(recorded: Feed, table: str) -> list[Column]:
    """Return the columns that a table can have, once each."""
    left_out = recorded.unrepresentable(table) | {"uid_s"}
    return [c for c in recorded.columns(table) if c.name not in left_out]


def replay(
    recorded: Feed,
    table: str,
    columns: list[Column],
    path: Path,
    batches: list[pa.Table],
    **more: Any,
) -> ice.Table:
    schema = pa.schema([column.field() for column in columns])
    target = ice.create_table(str(path / "t"), schema)
    for batch in batches:
        changes = ice.cdc.debezium(
            batch,
            schema,
            **{"sequence": recorded.expected["sequence"], **more},
            time_unit=recorded.expected["time_unit"],
            decimals="bytes" if recorded.undecided(table) else None,
            binary="hex" if table == "k_bytea" and recorded.expected["lossy_ms"] else None,
        )
        target.apply_changes(
            changes,
            keys=recorded.tables[table]["key"],
            sequence_by="__seq",
            apply_as_deletes="__deleted",
            apply_as_truncates="__truncated",
        )
    return target


def assert_rows(recorded: Feed, table: str, columns: list[Column], rows: pa.Table) -> None:
    """Compare the rows with the database's, in the order of the keys."""
    expected_rows = recorded.tables[table]["rows"]
    keys = [c.name for c in columns if c.name in recorded.tables[table]["key"]]
    actual = {
        c.name: actual_values(rows.column(c.source_name), c, recorded.expected) for c in columns
    }
    right = {
        c.name: [expected_value(row[c.name], c, recorded.expected) for row in expected_rows]
        for c in columns
    }
    assert rows.num_rows == len(expected_rows)
    for column in columns:
        assert in_order(actual, keys, column) == in_order(right, keys, column), column.name


def in_order(values: dict[str, list[Any]], keys: list[str], column: Column) -> list[Any]:
    rows = zip(*(values[key] for key in keys), strict=True)
    pairs = zip(map(repr, rows), values[column.name], strict=True)
    return [value for _, value in sorted(pairs, key=lambda pair: pair[0])]


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_the_table_has_the_rows_of_the_database(name: str, table: str, tmp_path: Path) -> None:
    recorded = feed(name)
    columns = columns_of(recorded, table)
    undecided = {"amount"} & recorded.undecided(table)  # its scale changed
    columns = [c for c in columns if c.name not in undecided]
    target = replay(recorded, table, columns, tmp_path, [recorded.records(table)])
    assert_rows(recorded, table, columns, target.scan().to_arrow())


@pytest.mark.parametrize("order", ["sevens", "shuffled"])
@pytest.mark.parametrize(("name", "table"), OUT_OF_ORDER)
def test_batches_of_any_order_leave_the_same_rows(
    name: str, table: str, order: str, tmp_path: Path
) -> None:
    recorded = feed(name)
    columns = columns_of(recorded, table)
    columns = [c for c in columns if c.name not in recorded.undecided(table)]
    records = recorded.records(table)
    numbers = list(range(records.num_rows))
    if order == "shuffled":
        random.Random(7).shuffle(numbers)
    batches = [records.take(numbers[start : start + 7]) for start in range(0, len(numbers), 7)]
    more = {"sequence": "offset"} if order == "sevens" else {}
    target = replay(recorded, table, columns, tmp_path, batches, **more)
    assert_rows(recorded, table, columns, target.scan().to_arrow())


@pytest.mark.parametrize(
    ("name", "table", "column"),
    [(n, t, c) for n, t in TABLES for c in sorted(feed(n).unrepresentable(t))],
)
def test_a_value_that_no_column_of_its_type_holds_is_refused_by_column(
    name: str, table: str, column: str
) -> None:
    recorded = feed(name)
    columns = [c for c in recorded.columns(table) if c.name in ("id", column)]
    schema = pa.schema([c.field() for c in columns])
    with pytest.raises(InvalidInputError, match=f"[Cc]olumn '{column}'"):
        ice.cdc.debezium(recorded.records(table), schema)


@pytest.mark.parametrize("column", ["num92", "num92d", "mon", "a_num"])
def test_decimals_without_a_schema_are_refused_by_column(column: str) -> None:
    recorded = feed("f4")
    columns = [c for c in recorded.columns("all_types") if c.name in ("id", column)]
    schema = pa.schema([c.field() for c in columns])
    with pytest.raises(InvalidInputError, match=f"column '{column}': .* decimals="):
        ice.cdc.debezium(recorded.records("all_types"), schema)


def test_a_topic_of_several_tables_is_split_by_table() -> None:
    recorded = feed("m1")
    messages = pa.concat_tables([recorded.records(table) for table in ("mck", "mtrunc", "maria")])
    for name in ("shop.mck", "m1.shop.mck"):
        changes = ice.cdc.debezium(messages, "a int, order string", table=name)
        assert changes.num_rows == recorded.records("mck").num_rows - changes_without_value("mck")


def changes_without_value(table: str) -> int:
    return feed("m1").records(table).column("value").null_count


def test_flattened_messages_do_not_tell_their_table() -> None:
    records = feed("f5").records("snap")
    with pytest.raises(InvalidInputError, match=r"table='public\.snap'"):
        ice.cdc.debezium(records, "id int, v string", table="public.snap")


INFERRED = {
    "int_": pa.int32(),
    "bigint_": pa.int64(),
    "num92": pa.decimal128(9, 2),
    "numfree": pa.string(),  # each value has a scale of its own
    "real_": pa.float32(),
    "dbl": pa.float64(),
    "bool_": pa.bool_(),
    "bin": pa.binary(),
    "dat": pa.date32(),
    "tim0": pa.time64("us"),
    "ts3": pa.timestamp("us"),
    "tstz": pa.timestamp("us", "UTC"),
    "uid": pa.binary(16),
    "js": pa.string(),
    "a_num": pa.decimal128(9, 2),
    "a_date": pa.date32(),
}


def test_schemas_in_messages_make_the_columns() -> None:
    changes = ice.cdc.debezium(feed("f1").records("all_types"))
    for name, kind in INFERRED.items():
        column = changes.schema.field(name).type
        assert (column.value_type if name.startswith("a_") else column) == kind, name
    point = changes.schema.field("pt").type
    assert [(part.name, part.type) for part in point][:2] == [
        ("x", pa.float64()),
        ("y", pa.float64()),
    ]
    assert changes.column("numfree")[0].as_py() == "1.5"
