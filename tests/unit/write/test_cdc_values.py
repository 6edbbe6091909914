"""Values of Connect's and Debezium's types, and Maxwell's, in columns of Iceberg types."""

from __future__ import annotations

import base64
import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError
from iceberg_spark.write.cdc_messages import PLACEHOLDER
from iceberg_spark.write.cdc_values import binary_form

CONNECT, TIME, DATA = "org.apache.kafka.connect.data.", "io.debezium.time.", "io.debezium.data."
MOMENT = datetime(2024, 2, 29, 10, 11, 12, 123000, tzinfo=UTC)
MS = int(MOMENT.timestamp() * 1000)
DAY = (date(2024, 2, 29) - date(1970, 1, 1)).days


def unscaled(number: int) -> str:
    size = (number.bit_length() + 8) // 8
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


def decimal_of(scale: int) -> dict[str, Any]:
    return {"type": "bytes", "name": CONNECT + "Decimal", "parameters": {"scale": str(scale)}}


def converted(value: Any, column: str, source: dict[str, Any] | None = None, **options: Any) -> Any:
    """Return a value of a Connect type in a column, None for messages without schemas."""
    payload = {"op": "c", "before": None, "after": {"v": value}, "source": {}}
    message: dict[str, Any] = payload
    if source is not None:
        after = {"field": "after", "type": "struct", "fields": [{"field": "v", **source}]}
        message = {"schema": {"type": "struct", "fields": [after]}, "payload": payload}
    records = pa.table({"value": [json.dumps(message).encode()], "offset": [5]})
    changes = ice.cdc.debezium(records, f"v {column}", **options)
    array = changes.column("v")
    if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type):
        try:
            return array[0].as_py()
        except (ValueError, OverflowError):  # years beyond 9999
            return array.cast(pa.int32() if pa.types.is_date(array.type) else pa.int64())[0].as_py()
    return array[0].as_py()


NUMBERS = [
    ({"type": "int16"}, 7, "int", 7),
    ({"type": "int64"}, 2**62, "bigint", 2**62),
    ({"type": "int64"}, 7, "decimal(9,2)", Decimal("7.00")),
    ({"type": "int16"}, 1, "boolean", True),
    ({"type": "double"}, 2.0, "int", 2),
    ({"type": "double"}, "NaN", "double", "nan"),
    ({"type": "float"}, "-Infinity", "float", float("-inf")),
    ({"type": "double"}, 1.25, "decimal(12,4)", Decimal("1.2500")),
    ({"type": "double"}, 1.5, "string", "1.5"),
    (decimal_of(2), unscaled(150), "decimal(12,4)", Decimal("1.5000")),
    (decimal_of(2), unscaled(-150), "double", -1.5),
    (decimal_of(2), unscaled(700), "int", 7),
    (decimal_of(2), unscaled(150), "string", "1.50"),
    (decimal_of(0), unscaled(10**37), "decimal(38,0)", Decimal(10**37)),
    ({"type": "string"}, "1.50", "decimal(12,4)", Decimal("1.5000")),
    ({"type": "string"}, "12", "bigint", 12),
    (
        {"type": "struct", "name": DATA + "VariableScaleDecimal"},
        {"scale": 3, "value": unscaled(1500)},
        "decimal(12,4)",
        Decimal("1.5000"),
    ),
]
TIMES = [
    ({"type": "int32", "name": TIME + "Date"}, DAY, "date", date(2024, 2, 29)),
    ({"type": "int32", "name": CONNECT + "Date"}, DAY, "date", date(2024, 2, 29)),
    ({"type": "string", "name": TIME + "IsoDate"}, "2024-02-29Z", "date", date(2024, 2, 29)),
    ({"type": "string", "name": TIME + "IsoDate"}, "+20000-01-01Z", "date", 6_585_322),
    ({"type": "int64", "name": TIME + "Timestamp"}, DAY * 86_400_000, "date", date(2024, 2, 29)),
    ({"type": "int32", "name": TIME + "Time"}, 1000, "time", time(0, 0, 1)),
    ({"type": "int32", "name": CONNECT + "Time"}, 1000, "time", time(0, 0, 1)),
    ({"type": "int64", "name": TIME + "MicroTime"}, 10**6, "time", time(0, 0, 1)),
    ({"type": "int64", "name": TIME + "NanoTime"}, 10**9, "time", time(0, 0, 1)),
    ({"type": "string", "name": TIME + "ZonedTime"}, "00:00:01Z", "time", time(0, 0, 1)),
    ({"type": "string", "name": TIME + "IsoTime"}, "00:00:01.5Z", "time", time(0, 0, 1, 500_000)),
    ({"type": "int64", "name": TIME + "Timestamp"}, MS, "timestamp", MOMENT),
    ({"type": "int64", "name": CONNECT + "Timestamp"}, MS, "timestamp", MOMENT),
    ({"type": "int64", "name": TIME + "MicroTimestamp"}, MS * 1000, "timestamp", MOMENT),
    ({"type": "int64", "name": TIME + "NanoTimestamp"}, MS * 10**6, "timestamp", MOMENT),
    ({"type": "string", "name": TIME + "ZonedTimestamp"}, "2024-02-29T12:11:12.123+02:00",
     "timestamp", MOMENT),
    ({"type": "string", "name": TIME + "IsoTimestamp"}, "+20000-01-01T00:00:00Z",
     "timestamp_ntz", 568_971_820_800_000_000),
]  # fmt: skip
MS_OF_DAY = TIME + "Time"
DATE = {"type": "int32", "name": TIME + "Date"}
OTHERS = [
    ({"type": "bytes"}, "-_8=", "binary", b"\xfb\xff"),
    ({"type": "string"}, "deadbeef", "binary", b"\xde\xad\xbe\xef"),
    ({"type": "string", "name": DATA + "Json"}, '{"a": 1}', "string", '{"a": 1}'),
    ({"type": "array", "items": {"type": "double"}}, [1.5, None], "array<double>", [1.5, None]),
    ({"type": "array", "items": {"type": "bytes"}}, ["AQI="], "array<binary>", [b"\x01\x02"]),
    ({"type": "array", "items": decimal_of(1)}, [unscaled(15)], "array<decimal(9,2)>",
     [Decimal("1.50")]),
    ({"type": "map", "keys": {"type": "string"}, "values": DATE}, {"a": 0},
     "map<string,date>", [("a", date(1970, 1, 1))]),
    ({"type": "map", "keys": {"type": "int32"}, "values": {"type": "string"}},
     [[1, "x"]], "map<int,string>", [(1, "x")]),
    ({"type": "struct", "fields": [{"field": "at", "type": "int64", "name": TIME + "Timestamp"}]},
     {"at": MS}, "struct<at:timestamp>", {"at": MOMENT}),
    ({"type": "array", "items": {"type": "array", "items": {"type": "int32", "name": MS_OF_DAY}}},
     [[1000]], "array<array<time>>", [[time(0, 0, 1)]]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "value", "column", "expected"), [*NUMBERS, *TIMES, *OTHERS])
def test_a_value_is_converted_by_both_types(
    source: dict[str, Any], value: Any, column: str, expected: Any
) -> None:
    result = converted(value, column, source)
    assert (str(result) if expected == "nan" else result) == expected


REFUSED = [
    ({"type": "double"}, 1.5, "int"),
    (decimal_of(2), unscaled(150), "bigint"),
    ({"type": "int64"}, 2**31, "int"),
    ({"type": "int16"}, 2, "boolean"),
    ({"type": "double"}, "NaN", "decimal(9,2)"),
    (decimal_of(4), unscaled(12345), "decimal(9,2)"),
    ({"type": "int32", "name": TIME + "Time"}, 86_400_000, "time"),
    ({"type": "int64", "name": TIME + "MicroTime"}, -1, "time"),
    ({"type": "string", "name": TIME + "IsoTime"}, "24:00:00Z", "time"),
    ({"type": "int64", "name": TIME + "NanoTimestamp"}, 1, "timestamp"),
    ({"type": "int64", "name": TIME + "Timestamp"}, 2**62, "timestamp"),
    ({"type": "string", "name": TIME + "ZonedTimestamp"}, "infinity", "timestamp"),
    ({"type": "int32", "name": TIME + "Date"}, -(2**31) + 10_956, "date"),
    ({"type": "int64", "name": TIME + "Timestamp"}, 1, "date"),
    ({"type": "string", "name": DATA + "Uuid"}, "x", "uuid"),
    ({"type": "bytes"}, "x", "binary"),
    ({"type": "string"}, "beef", "binary"),
    ({"type": "string"}, "x", "array<string>"),
    ({"type": "array", "items": {"type": "double"}}, [1.5], "array<int>"),
]


@pytest.mark.parametrize(("source", "value", "column"), REFUSED)
def test_a_value_that_the_column_cannot_hold_is_refused_by_name(
    source: dict[str, Any], value: Any, column: str
) -> None:
    with pytest.raises(InvalidInputError, match=r"[Cc]olumn 'v'"):
        converted(value, column, source)


def test_options_say_what_messages_without_schemas_leave_open() -> None:
    assert converted(1000, "time", time_unit="ms") == time(0, 0, 1)
    assert converted([MS], "array<timestamp>", time_unit={"v": "ms"}) == [MOMENT]
    assert converted("1.50", "decimal(12,4)", decimals="text") == Decimal("1.5000")
    assert converted(unscaled(15000), "decimal(12,4)", decimals="bytes") == Decimal("1.5000")
    assert converted("beef", "binary", binary="hex") == b"\xbe\xef"
    assert converted("beef", "binary", binary="base64") == base64.b64decode("beef")


@pytest.mark.parametrize(
    ("value", "column", "option"),
    [
        (1000, "time", "time_unit"),
        (1000, "timestamp", "time_unit"),
        ([1000], "array<timestamp>", "time_unit"),
        ("1234", "decimal(9,2)", "decimals"),
        ("AJY=", "decimal(9,2)", "decimals"),
        ("beef", "binary", "binary"),
    ],
)
def test_an_open_form_is_refused_with_the_option_to_set(
    value: Any, column: str, option: str
) -> None:
    with pytest.raises(InvalidInputError, match=f"[Cc]olumn 'v'.*{option}="):
        converted(value, column, time_unit={"other": "ms"} if option == "time_unit" else None)


def test_binary_texts_have_the_one_form_that_fits_all() -> None:
    assert binary_form(["00", "beef"]) == "hex"
    assert binary_form(["beef", "AA=="]) == "base64"
    assert binary_form(["deadbeef"]) == "hex"
    assert binary_form(["beef"]) is None


def test_names_are_matched_exactly_without_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iceberg_spark.engines.envelopes.active_session", lambda: None)
    message = {"op": "c", "after": {"V": 1}}
    records = pa.table({"value": [json.dumps(message).encode()], "offset": [0]})
    assert ice.cdc.debezium(records, "v int").column("v").to_pylist() == [None]
    with pytest.raises(InvalidInputError, match="column 'v' is not in the message"):
        ice.cdc.debezium(records, "v int", strict=True)
    message = {"op": "c", "after": {"v": 1, "w": 2}}
    records = pa.table({"value": [json.dumps(message).encode()], "offset": [0]})
    with pytest.raises(InvalidInputError, match="column 'w' is not in the schema"):
        ice.cdc.debezium(records, "v int", strict=True)


@pytest.mark.parametrize(
    "value",
    [
        PLACEHOLDER,
        base64.b64encode(PLACEHOLDER.encode()).decode(),
        PLACEHOLDER.encode().hex(),
        [PLACEHOLDER],
        list(PLACEHOLDER.encode()),
        {PLACEHOLDER: PLACEHOLDER},
    ],
)
def test_a_placeholder_of_any_form_names_its_column(value: Any) -> None:
    def change(before: Any) -> pa.Table:
        message = {"op": "u", "before": before, "after": {"id": 1, "v": value}}
        return pa.table({"value": [json.dumps(message).encode()], "offset": [0]})

    (row,) = ice.cdc.debezium(change(None), "id int, v string").to_pylist()
    assert (row["v"], row["__unavailable"]) == (None, ["v"])
    (row,) = ice.cdc.debezium(change({"id": 1, "v": "x"}), "id int, v string").to_pylist()
    assert (row["v"], row["__unavailable"]) == ("x", None)


def test_a_placeholder_may_be_set() -> None:
    message = {"op": "u", "after": {"v": "gone"}}
    records = pa.table({"value": [json.dumps(message).encode()], "offset": [0]})
    (row,) = ice.cdc.debezium(records, "v string", placeholder="gone").to_pylist()
    assert row["__unavailable"] == ["v"]


MAXWELL = [
    ("bigint", 18_446_744, 18_446_744),
    ("decimal(9,2)", 1.5, Decimal("1.50")),
    ("decimal(9,2)", "1.50", Decimal("1.50")),
    ("double", 1.5, 1.5),
    ("date", "2024-02-29", date(2024, 2, 29)),
    ("time", "10:11:12", time(10, 11, 12)),
    ("timestamp", "2024-02-29 10:11:12.123", MOMENT),
    ("binary", "3q2+7w==", b"\xde\xad\xbe\xef"),
    ("binary", "beef", base64.b64decode("beef")),
    ("string", ["a", "b"], '["a", "b"]'),
    ("array<string>", ["a", "b"], ["a", "b"]),
    ("string", {"a": 1.5}, '{"a": 1.5}'),
    ("int", 2024, 2024),
    ("boolean", 1, True),
]


@pytest.mark.parametrize(("column", "value", "expected"), MAXWELL)
def test_maxwells_values_are_those_of_its_documentation(
    column: str, value: Any, expected: Any
) -> None:
    message = {"database": "d", "table": "t", "type": "insert", "data": {"v": value}}
    records = pa.table({"value": [json.dumps(message).encode()], "offset": [0]})
    (row,) = ice.cdc.maxwell(records, f"v {column}").to_pylist()
    assert row["v"] == expected
