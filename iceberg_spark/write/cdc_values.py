"""Convert values of change feeds to Iceberg types, by the schema of the message at every depth.

A converter is built once for a pair of types: that of Kafka Connect's JSON schema, if the message
has one, and that of the column. Without a schema, the caller has to set the missing facts (the unit
of a number, whether text is a decimal or its bytes), or the value is refused: the value alone never
decides.

Sources: Kafka Connect's `JsonConverter`; Debezium, "Data type mappings" of the PostgreSQL and
MySQL connectors; Maxwell, "Data format".
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, TypeAlias

from iceberg_spark.spec import types as t

Convert: TypeAlias = Callable[[Any], Any]
"""Converts a JSON value, never None, to Arrow's input for the column. Raises ValueError."""
Source: TypeAlias = Mapping[str, Any]
"""A Connect schema as `JsonConverter` writes it, {} for none."""

CONNECT_DECIMAL = "org.apache.kafka.connect.data.Decimal"
VARIABLE_DECIMAL = "io.debezium.data.VariableScaleDecimal"
TIME_UNITS = {
    "io.debezium.time.Time": "ms",
    "io.debezium.time.MicroTime": "us",
    "io.debezium.time.NanoTime": "ns",
    "org.apache.kafka.connect.data.Time": "ms",
}
TIMESTAMP_UNITS = {
    "io.debezium.time.Timestamp": "ms",
    "io.debezium.time.MicroTimestamp": "us",
    "io.debezium.time.NanoTimestamp": "ns",
    "org.apache.kafka.connect.data.Timestamp": "ms",
}
_EARLIEST_DAY, _LATEST_DAY = -2_451_000, 2_145_043_000
"""Just beyond the dates of PostgreSQL (4713 BC to 5874897): its infinity wraps far outside."""
_SURE_HEX_DIGITS = 8
_HEX = re.compile(r"(?:[0-9a-f]{2})*")
_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_SPECIAL = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}
_URL_SAFE = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class ValueForms:
    """The forms of a column's values that the message does not name.

    `decimals` is "text" or "bytes" (Connect's unscaled bytes, of the column's scale), `binary`
    "base64" or "hex", `unit` that of times and timestamps that are numbers. `texts` collects the
    binary values whose form is still open.
    """

    decimals: str | None = None
    binary: str | None = None
    unit: str | None = None
    ignores_case: bool = False
    texts: list[str] = field(default_factory=list)


def converter(source: Source, target: t.IcebergType, forms: ValueForms) -> Convert:
    """Return the converter from a Connect type to an Iceberg type."""
    match target:
        case t.ListType(element_type=element):
            return _list(converter(source.get("items") or {}, element, forms))
        case t.MapType(key_type=key, value_type=value):
            keys = converter(source.get("keys") or {}, key, forms)
            return _map(keys, converter(source.get("values") or {}, value, forms))
        case t.StructType():
            return _struct(source, target, forms)
        case t.DecimalType(scale=scale):
            return _decimal(source, forms, scale)
        case t.TimestampNanoType() | t.TimestamptzNanoType():
            return _timestamp(source, forms, "ns")
        case _:
            build = _BUILDERS.get(type(target))
            return _unchanged if build is None else build(source, forms)


def binary_form(texts: Sequence[str]) -> str | None:
    """Return the only form that a column's texts can have, "hex" or "base64"; None if both fit.

    Debezium's schema calls hexadecimal and base64 text alike a string. Base64 is padded to
    multiples of four, so an odd pair of hexadecimal digits is certain, as is any other letter.
    Eight digits in a row happen by chance in one of 65,000 base64 texts: they count as certain.
    """
    if not all(_HEX.fullmatch(text) for text in texts):
        return "base64"
    digits = sum(map(len, texts))
    if digits == 0 or digits >= _SURE_HEX_DIGITS or any(len(text) % 4 for text in texts):
        return "hex"
    return None


def _unchanged(value: Any) -> Any:
    return value


def _refused(value: Any, what: str) -> ValueError:
    text = repr(str(value) if isinstance(value, Decimal) else value)
    return ValueError(f"{text if len(text) < 80 else text[:77] + '...'} is not {what}")


def _list(element: Convert) -> Convert:
    def convert(value: Any) -> Any:
        if not isinstance(value, list):
            raise _refused(value, "a list")
        return [None if item is None else element(item) for item in value]

    return convert


def _map(keys: Convert, values: Convert) -> Convert:
    """Connect encodes maps with text keys as objects, others as lists of pairs."""

    def convert(value: Any) -> Any:
        if not isinstance(value, dict | list):
            raise _refused(value, "a map")
        pairs = value.items() if isinstance(value, dict) else value
        return [(keys(key), None if item is None else values(item)) for key, item in pairs]

    return convert


def _struct(source: Source, target: t.StructType, forms: ValueForms) -> Convert:
    fields = {part.get("field"): part for part in source.get("fields") or ()}
    parts = []
    for part in target.fields:
        name = part.name if part.name in fields else None
        name = name or source_name(part.name, fields, ignores_case=forms.ignores_case)
        inner = fields.get(name) or {}
        parts.append((part.name, converter(inner, part.field_type, forms)))

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _refused(value, "an object")
        cells = {}
        for name, part in parts:
            key = source_name(name, value, ignores_case=forms.ignores_case)
            cell = None if key is None else value[key]
            cells[name] = None if cell is None else part(cell)
        return cells

    return convert


def source_name(name: str, names: Mapping[Any, Any], *, ignores_case: bool) -> str | None:
    """Return the name of a column in a message, None if the message lacks it.

    Raises ValueError for several names that differ only by case.
    """
    if name in names or not ignores_case:
        return name if name in names else None
    same = [other for other in names if isinstance(other, str) and other.lower() == name.lower()]
    if len(same) > 1:
        raise ValueError(f"the message has {' and '.join(map(repr, same))}, which differ by case")
    return same[0] if same else None


def _is_text(source: Source, forms: ValueForms) -> bool:
    """Return whether a text is a number's digits: never Connect's bytes in base64."""
    return source.get("type") == "string" or (not source and forms.decimals == "text")


def _unscaled(value: Any, scale: int) -> Decimal:
    number = int.from_bytes(_base64(value), "big", signed=True)
    return Decimal(f"{number}E{-scale}")  # exact, where arithmetic rounds to 28 digits


def _exact(source: Source, forms: ValueForms, scale: int | None) -> Convert:
    """Return the converter of any of Connect's number forms to Decimal, of the column's scale."""
    is_text, logical = _is_text(source, forms), source.get("name")
    own = (source.get("parameters") or {}).get("scale", scale) if source else scale
    is_bytes = logical == CONNECT_DECIMAL or (not source and forms.decimals == "bytes")

    def convert(value: Any) -> Decimal:
        if isinstance(value, Decimal):
            return value
        if type(value) is int:
            return Decimal(value)
        if isinstance(value, dict) and value.keys() == {"scale", "value"}:
            return _unscaled(value["value"], int(value["scale"]))
        if isinstance(value, str):
            if is_bytes and own is not None:
                return _unscaled(value, int(own))
            if is_text and _NUMBER.fullmatch(value):
                return Decimal(value)
            if not source and forms.decimals is None:
                raise ValueError(f"{value!r} is text: set decimals='text' or 'bytes'")
        raise _refused(value, "a decimal number")

    return convert


def _decimal(source: Source, forms: ValueForms, scale: int) -> Convert:
    return _exact(source, forms, scale)


def _integer(source: Source, forms: ValueForms) -> Convert:
    exact = _exact(source, forms, 0)
    logical = source.get("name")
    is_decimal = logical in (CONNECT_DECIMAL, VARIABLE_DECIMAL)
    is_text = _is_text(source, forms)

    def convert(value: Any) -> int:
        if type(value) is int:
            return value
        is_number = isinstance(value, Decimal) or (is_text and isinstance(value, str))
        if is_decimal or is_number:
            number = exact(value)
            if number.is_finite() and number == number.to_integral_value():
                return int(number)
        raise _refused(value, "a whole number")

    return convert


def _float(source: Source, forms: ValueForms) -> Convert:
    exact = _exact(source, forms, None)

    def convert(value: Any) -> float:
        if isinstance(value, float):
            return value
        if isinstance(value, str) and value in _SPECIAL:
            return float(_SPECIAL[value])
        return float(exact(value))

    return convert


def _boolean(source: Source, forms: ValueForms) -> Convert:
    del source, forms

    def convert(value: Any) -> bool:
        if value is True or value is False:
            return bool(value)
        if type(value) is int and value in (0, 1):  # MySQL's TINYINT(1)
            return bool(value)
        raise _refused(value, "true or false")

    return convert


def _date(source: Source, forms: ValueForms) -> Convert:
    del forms
    unit = TIMESTAMP_UNITS.get(str(source.get("name")))

    def convert(value: Any) -> int:
        if isinstance(value, str):
            days = _midnight(nanos_of(value)) if "T" in value else days_of(value)
        elif type(value) is int:
            days = value if unit is None else _midnight(value * NANOS[unit])
        else:
            raise _refused(value, "a date")
        if not _EARLIEST_DAY <= days <= _LATEST_DAY:
            raise _refused(value, "a date that a column can represent")
        return days

    return convert


def _midnight(nanos: int) -> int:
    days, rest = divmod(nanos, NANOS_OF_DAY)
    if rest:
        raise ValueError("a timestamp that is not midnight is not a date")
    return days


def _unit(source: Source, forms: ValueForms, units: Mapping[str, str]) -> str | None:
    return units.get(str(source.get("name"))) or forms.unit


def _needs_unit(value: Any) -> ValueError:
    return ValueError(f"{value} is a number: set its unit by time_unit='ms', 'us' or 'ns'")


def _time(source: Source, forms: ValueForms) -> Convert:
    unit = _unit(source, forms, TIME_UNITS)

    def convert(value: Any) -> int:
        if isinstance(value, str):
            return in_unit(nanos_of_day(value), "us")
        if type(value) is not int:
            raise _refused(value, "a time")
        if unit is None:
            raise _needs_unit(value)
        nanos = value * NANOS[unit]
        if not 0 <= nanos < NANOS_OF_DAY:
            raise _refused(value, f"a time of day ({unit} from midnight, before 24:00:00)")
        return in_unit(nanos, "us")

    return convert


def _timestamp(source: Source, forms: ValueForms, target: str = "us") -> Convert:
    unit = _unit(source, forms, TIMESTAMP_UNITS)
    is_same = unit == target

    def convert(value: Any) -> int:
        if isinstance(value, str):
            return in_unit(nanos_of(value), target)
        if type(value) is not int:
            raise _refused(value, "a timestamp")
        if is_same:
            return value
        if unit is None:
            raise _needs_unit(value)
        return in_unit(value * NANOS[unit], target)

    return convert


def _uuid(source: Source, forms: ValueForms) -> Convert:
    del forms
    is_bytes = source.get("type") == "bytes"

    def convert(value: Any) -> bytes:
        try:
            return _base64(value) if is_bytes else uuid.UUID(value).bytes
        except (ValueError, AttributeError, TypeError):
            raise _refused(value, "a UUID") from None

    return convert


def _base64(value: Any) -> bytes:
    try:
        return base64.b64decode(value.translate(_URL_SAFE), validate=True)
    except (binascii.Error, AttributeError, ValueError):
        raise _refused(value, "base64 text") from None


def _binary(source: Source, forms: ValueForms) -> Convert:
    form = "base64" if source.get("type") == "bytes" else forms.binary

    def convert(value: Any) -> bytes:
        if form == "base64":
            return _base64(value)
        if not isinstance(value, str):
            raise _refused(value, "binary text")
        if form is None:
            forms.texts.append(value)
            return b""
        try:
            return bytes.fromhex(value)
        except ValueError:
            raise _refused(value, "hexadecimal text") from None

    return convert


def _string(source: Source, forms: ValueForms) -> Convert:
    exact = _exact(source, forms, None)
    is_decimal = source.get("name") in (CONNECT_DECIMAL, VARIABLE_DECIMAL)

    def convert(value: Any) -> str:
        if is_decimal:
            return format(exact(value), "f")
        return value if isinstance(value, str) else json_text(value)

    return convert


def json_text(value: Any) -> str:
    """Return a value as JSON text; numbers keep their digits."""
    match value:
        case Decimal():
            return str(value)
        case dict():
            pairs = (f"{json.dumps(key)}: {json_text(item)}" for key, item in value.items())
            return "{" + ", ".join(pairs) + "}"
        case list():
            return "[" + ", ".join(map(json_text, value)) + "]"
        case _:
            return json.dumps(value)


_BUILDERS: dict[type, Callable[[Source, ValueForms], Convert]] = {
    t.BooleanType: _boolean,
    t.IntegerType: _integer,
    t.LongType: _integer,
    t.FloatType: _float,
    t.DoubleType: _float,
    t.DateType: _date,
    t.TimeType: _time,
    t.TimestampType: _timestamp,
    t.TimestamptzType: _timestamp,
    t.StringType: _string,
    t.UUIDType: _uuid,
    t.FixedType: _binary,
    t.BinaryType: _binary,
}


# Dates, times and timestamps of change feeds: ISO texts of any year, and units of numbers.
#
# Sources: ISO 8601, and Debezium's `io.debezium.time.Iso*` and `Zoned*` types.

_DATE = r"([+-]?\d{4,9})-(\d\d)-(\d\d)"
_TIME = r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?"
_ZONE = r"(Z|[+-]\d\d(?::?\d\d)?)?"
_ISO_DATE = re.compile(_DATE + _ZONE)
_ISO_TIME = re.compile(_TIME + _ZONE)
_ISO_TIMESTAMP = re.compile(f"{_DATE}[T ]{_TIME}{_ZONE}")

NANOS = {"ns": 1, "us": 1_000, "ms": 1_000_000}
"""Nanoseconds of a unit."""
NANOS_OF_DAY = 86_400 * 10**9
_EPOCH = date(1970, 1, 1).toordinal()
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097  # the Gregorian calendar repeats after 400 years


def days_of(text: str) -> int:
    """Return the days from 1970 to an ISO date; a zone (`Z`) is ignored. Raises ValueError."""
    match = _ISO_DATE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an ISO date")
    return _days(match[1], match[2], match[3])


def nanos_of_day(text: str) -> int:
    """Return the nanoseconds from midnight, in UTC if the text has an offset. Raises ValueError."""
    match = _ISO_TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an ISO time")
    nanos = _nanos(*match.groups()[:4])
    if nanos >= NANOS_OF_DAY:
        raise ValueError(f"{text!r} is not before 24:00:00")
    return (nanos - _offset(match[5])) % NANOS_OF_DAY


def nanos_of(text: str) -> int:
    """Return the nanoseconds from 1970 to an ISO timestamp, in UTC. Raises ValueError."""
    match = _ISO_TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an ISO timestamp")
    days = _days(match[1], match[2], match[3])
    return days * NANOS_OF_DAY + _nanos(*match.groups()[3:7]) - _offset(match[8])


def in_unit(nanos: int, unit: str) -> int:
    """Return nanoseconds in a unit. Raises ValueError if that loses digits."""
    number, rest = divmod(nanos, NANOS[unit])
    if rest:
        raise ValueError(f"{nanos} ns is finer than the column's {unit}")
    return number


def _days(year: str, month: str, day: str) -> int:
    cycles, within = divmod(int(year) - 1, _CYCLE_YEARS)
    ordinal = date(within + 1, int(month), int(day)).toordinal()
    return ordinal + cycles * _CYCLE_DAYS - _EPOCH


def _nanos(hour: str, minute: str, second: str | None, fraction: str | None) -> int:
    minutes, seconds = int(minute), int(second or 0)
    if minutes > 59 or seconds > 59:
        raise ValueError(f"{hour}:{minute}:{second} is not a time")
    total_seconds = (int(hour) * 60 + minutes) * 60 + seconds
    return total_seconds * 10**9 + int((fraction or "").ljust(9, "0"))


def _offset(zone: str | None) -> int:
    if zone in (None, "Z"):
        return 0
    digits = str(zone).replace(":", "")
    minutes = int(digits[1:3]) * 60 + int(digits[3:5] or 0)
    return (-minutes if digits[0] == "-" else minutes) * 60 * 10**9
