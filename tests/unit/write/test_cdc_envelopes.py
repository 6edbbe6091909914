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


NOTICES = [
    {"source": {}, "ddl": "CREATE TABLE t (id int)", "tableChanges": [], "ts_ms": 1},
    {"status": "BEGIN", "id": "7:1", "event_count": None, "ts_ms": 1},
    {"ts_ms": 1},
    {"schema": None, "payload": {"ts_ms": 1}},
]


def test_messages_about_definitions_transactions_and_heartbeats_are_left_out() -> None:
    changes = ice.cdc.debezium(records(*NOTICES, event("c", None, ANN)), "id bigint")
    assert changes.column("id").to_pylist() == [1]
    assert ice.cdc.debezium(records(*NOTICES, event("c", None, ANN))).num_rows == 1


def test_a_message_without_an_operation_is_refused_with_the_setting_to_change() -> None:
    with pytest.raises(InvalidInputError, match=r"tombstone\.handling\.mode=rewrite"):
        ice.cdc.debezium(records(ANN), "id bigint")


def test_rows_of_an_incremental_snapshot_have_no_position() -> None:
    read = records(event("r", None, ANN, snapshot="incremental", lsn=None))
    with pytest.raises(InvalidInputError, match=r"incremental snapshot.* Kafka's offset"):
        ice.cdc.debezium(read, "id bigint", sequence="source.lsn")
    assert ice.cdc.debezium(read, "id bigint").num_rows == 1


@pytest.mark.parametrize("path", ["source.lsn", "source.pos"])
def test_a_row_of_a_snapshot_comes_before_a_change_at_its_position(path: str) -> None:
    source = {"lsn": 8, "file": "bin.000002", "pos": 8, "row": 0}
    both = records(event("r", None, ANN, **source), event("u", None, ANN, **source))
    first, second = ice.cdc.debezium(both, "id bigint", sequence=path)["__seq"].to_pylist()
    assert first < second


def test_changes_of_one_time_are_in_the_order_of_their_offsets() -> None:
    both = records(event("c", None, ANN), event("u", None, ANN))
    changes = ice.cdc.debezium(both, "id bigint", sequence="ts_ms")
    first, second = changes["__seq"].to_pylist()
    assert first < second
    alone = ice.cdc.debezium(both.drop_columns("offset"), "id bigint", sequence="ts_ms")
    assert alone["__seq"].to_pylist() == [7, 7]


def test_a_table_is_named_with_its_schema() -> None:
    with pytest.raises(InvalidInputError, match=r"'schema\.table'"):
        ice.cdc.debezium(records(event("c", None, ANN)), "id bigint", table="people")


def test_flattened_messages_that_name_their_table_are_split_by_it() -> None:
    rows = [{**ANN, "__deleted": "false", "__table": name, "__schema": "s"} for name in "ab"]
    assert ice.cdc.debezium(records(*rows), "id bigint", table="s.a").num_rows == 1


def test_what_a_deleted_row_had_need_not_be_a_value() -> None:
    deleted = records(event("d", {"id": 1, "uid": ""}, None))
    (row,) = ice.cdc.debezium(deleted, "id bigint, uid uuid").to_pylist()
    assert (row["id"], row["uid"]) == (1, None)


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
    with pytest.raises(InvalidInputError, match="set sequence="):
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


def with_types(*fields: dict[str, Any], **after: Any) -> dict[str, Any]:
    """A message that creates a row, with the Connect schema of its columns."""
    schema = {"fields": [{"field": "after", "fields": list(fields)}]}
    return {"schema": schema, "payload": event("c", None, after)}


ID = {"field": "id", "type": "int64"}
CENTS = {
    "field": "price",
    "type": "bytes",
    "name": "org.apache.kafka.connect.data.Decimal",
    "parameters": {"scale": "2", "connect.decimal.precision": "9"},
}


def test_columns_that_the_schema_lacks_are_added_with_the_messages_types() -> None:
    given = records(with_types(ID, id=1), with_types(ID, CENTS, id=2, price="AQ=="))
    changes = ice.cdc.debezium(given, "id bigint", merge_schema=True)
    assert changes.schema.field("price").type == pa.decimal128(9, 2)
    assert changes.column("price").to_pylist() == [None, Decimal("0.01")]
    assert "price" not in ice.cdc.debezium(given, "id bigint").schema.names


def test_added_columns_need_no_schema_of_the_caller() -> None:
    changes = ice.cdc.debezium(records(with_types(ID, id=1)), merge_schema=True)
    assert changes.schema.names[:2] == ["id", "__seq"]


def test_an_added_column_of_which_no_message_names_the_type_is_refused() -> None:
    given = records(event("c", None, {"id": 1, "price": 1.5}))
    with pytest.raises(InvalidInputError, match=r"'price' is not in the schema.*give the column"):
        ice.cdc.debezium(given, "id bigint", merge_schema=True)
    named = ice.cdc.debezium(given, "id bigint, price double", merge_schema=True)
    assert named.column("price").to_pylist() == [1.5]


def test_other_tables_and_deleted_rows_add_no_columns() -> None:
    own = event("c", None, ANN, db="d", table="people")
    other = event("c", None, {"id": 1, "other": 1}, db="d", table="others")
    deleted = event("d", {"id": 1, "former": 1}, None, db="d", table="people")
    given = records(own, other, deleted)
    changes = ice.cdc.debezium(given, "id bigint, name string", table="d.people", merge_schema=True)
    assert changes.schema.names[:3] == ["id", "name", "__seq"]
    assert "other" not in ice.cdc.debezium(given, table="d.people").schema.names


def test_strict_and_merge_schema_exclude_each_other() -> None:
    with pytest.raises(InvalidInputError, match=r"strict.*merge_schema"):
        ice.cdc.debezium(records(), "id bigint", strict=True, merge_schema=True)
