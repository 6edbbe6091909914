"""Messages of change feeds as rows of changes."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError


def records(*messages: Any, key: Any = None) -> pa.Table:
    values = [None if one is None else json.dumps(one).encode() for one in messages]
    return pa.table(
        {
            "key": pa.array([None if key is None else json.dumps(key).encode()] * len(values)),
            "value": pa.array(values, pa.binary()),
            "offset": pa.array(range(len(values)), pa.int64()),
        }
    )


def event(op: str, before: Any, after: Any, **source: Any) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": source, "ts_ms": 7}


ANN, BOB = {"id": 1, "name": "Ann"}, {"id": 2, "name": "Bob"}


def test_debeziums_operations_become_changes() -> None:
    given = records(
        event("r", None, ANN), event("u", ANN, {**ANN, "name": "Anna"}), event("d", BOB, None), None
    )
    found = ice.cdc.debezium(given, "id bigint, name string")
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (1, "Ann", 0, "r", False, False, None),
        (1, "Anna", 1, "u", False, False, None),
        (2, "Bob", 2, "d", True, False, None),
    ]


def test_a_delete_without_a_row_has_the_key_of_the_record() -> None:
    found = ice.cdc.debezium(records(event("d", None, None), key={"id": 5}), "id bigint, name text")
    assert found.select(["id", "name", "__deleted"]).to_pylist() == [
        {"id": 5, "name": None, "__deleted": True}
    ]


def test_a_schema_in_the_message_says_what_numbers_are() -> None:
    types = [
        {"field": "id", "type": "int64"},
        {"field": "at", "type": "int64", "name": "io.debezium.time.MicroTimestamp"},
        {"field": "price", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal"},
        {"field": "day", "type": "int32", "name": "io.debezium.time.Date"},
    ]
    unscaled = base64.b64encode((-1250).to_bytes(2, "big", signed=True)).decode()
    after = {"id": 1, "at": 1_000_000, "price": unscaled, "day": 1}
    message = {
        "schema": {"fields": [{"field": "after", "fields": types}]},
        "payload": event("c", None, after),
    }
    schema = "id bigint, at timestamp, price decimal(9,2), day date"
    (row,) = ice.cdc.debezium(records(message), schema).to_pylist()
    assert row["at"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert (row["price"], row["day"]) == (Decimal("-12.50"), date(1970, 1, 2))


def test_a_timestamp_that_is_a_number_needs_its_unit() -> None:
    given = records(event("c", None, {"id": 1, "at": 1000}))
    with pytest.raises(InvalidInputError, match=r"offset 0 .* time_unit"):
        ice.cdc.debezium(given, "id bigint, at timestamp")
    (row,) = ice.cdc.debezium(given, "id bigint, at timestamp", time_unit="ms").to_pylist()
    assert row["at"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)


def test_columns_that_nobody_names_are_those_that_messages_show() -> None:
    after = {"id": 1, "price": 1.5, "ok": True, "tags": ["a"], "none": None}
    found = ice.cdc.debezium(records(event("c", None, after), event("c", None, {"price": 1})))
    assert found.schema.names[:4] == ["id", "price", "ok", "tags"]
    assert found.column("price").to_pylist() == [1.5, 1.0]
    assert found.column("tags").to_pylist() == ['["a"]', None]


@pytest.mark.parametrize(
    ("path", "source", "expected"),
    [
        ("source.lsn", {"lsn": 77}, 77),
        ("ts_ms", {}, 7 * 10**19),
        ("source.pos", {"file": "bin.000002", "pos": 5, "row": 1}, "bin.000002:" + "0" * 19 + "5:"),
    ],
)
def test_changes_are_ordered_by_what_was_asked_for(path: str, source: Any, expected: Any) -> None:
    found = ice.cdc.debezium(records(event("c", None, ANN, **source)), sequence=path)
    order = found.column("__seq")[0].as_py()
    assert order == expected or str(order).startswith(str(expected))


def test_messages_of_other_tables_are_left_out() -> None:
    given = records(
        event("c", None, ANN, db="d", schema="public", table="people"),
        event("c", None, BOB, db="d", schema="public", table="other"),
    )
    assert ice.cdc.debezium(given, table="public.people").num_rows == 1
    assert ice.cdc.debezium(given, table="d.other").num_rows == 1


def test_rows_that_debezium_has_unwrapped_are_taken() -> None:
    given = records({**ANN, "__deleted": "false", "__op": "u"}, {**ANN, "__deleted": "true"})
    found = ice.cdc.debezium(given, "id bigint, name string")
    assert found.column("__deleted").to_pylist() == [False, True]


def test_maxwells_operations_become_changes() -> None:
    def message(kind: str, data: Any, **more: Any) -> dict[str, Any]:
        return {"database": "d", "table": "people", "type": kind, "data": data, **more}

    given = records(
        message("bootstrap-insert", ANN),
        message("update", {"id": 3, "name": "Ann"}, old={"id": 1}),
        message("delete", BOB),
        {"database": "d", "table": "people", "type": "table-alter"},
    )
    found = ice.cdc.maxwell(given, "id bigint, name string", keys=["id"], table="d.people")
    assert [(row["id"], row["__op"]) for row in found.to_pylist()] == [
        (1, "r"), (1, "d"), (3, "u"), (2, "d"),
    ]  # fmt: skip


def test_maxwells_positions_are_in_the_order_of_the_log() -> None:
    kept = {"database": "d", "table": "t", "type": "insert", "data": ANN}
    places = ["bin.000009:80", "bin.000010:9", "bin.000010:80"]
    given = records(*({**kept, "position": place} for place in places))
    order = ice.cdc.maxwell(given, sequence="position").column("__seq").to_pylist()
    assert order == sorted(set(order))


@pytest.mark.parametrize("value", [b"{", b"[1]", b'{"op": "c"}', b'{"a": 1}', b"\xff"])
def test_a_message_that_can_t_be_read_is_named(value: bytes) -> None:
    given = pa.table({"value": pa.array([value]), "offset": [41]})
    if value == b'{"op": "c"}':
        assert ice.cdc.debezium(given, "id bigint").column("id").to_pylist() == [None]
        return
    with pytest.raises(InvalidInputError, match="offset 41"):
        ice.cdc.debezium(given, "id bigint")


def test_without_an_offset_the_order_must_be_named() -> None:
    with pytest.raises(InvalidInputError, match="say sequence="):
        ice.cdc.debezium(records(event("c", None, ANN)).drop_columns("offset"))


def test_messages_are_applied_as_they_come(tmp_path: Path) -> None:
    table = ice.create_table(str(tmp_path / "t"), "id bigint, name string")
    given = records(
        event("c", None, ANN), event("c", None, BOB), event("d", BOB, None), event("u", None, ANN)
    )
    for part in (given.slice(2), given.slice(0, 3)):
        table.apply_changes(
            ice.cdc.debezium(part, table.schema()),
            keys=["id"],
            sequence_by="__seq",
            apply_as_deletes="__deleted",
        )
    assert table.scan().to_arrow().to_pylist() == [ANN]
