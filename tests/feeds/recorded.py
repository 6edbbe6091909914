"""Recorded change feeds: what Debezium 3.6.1.Final sent, and the rows that the database had.

`corpus/*.jsonl.gz` are the messages of one script of changes on PostgreSQL 15 (`f*`) and MariaDB
10.11 (`m1`) in several configurations of the connector; `*.expected.json.gz` have the configuration
and the rows as the database's own texts. Debezium's own limits are allowed for: a precise NaN is
NULL, an unchanged base64 bytea is NULL, years before Christ lose their sign, `time[]` is cut to
milliseconds, and the flattening transform drops truncations.
"""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import json
import re
import struct
import zlib
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

CORPUS = Path(__file__).parent / "corpus"
NAMES = sorted(path.name.split("_")[0] for path in CORPUS.glob("*.jsonl.gz"))
SIMPLE = {
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "uuid": pa.uuid(),
    "point": pa.struct([("x", pa.float64()), ("y", pa.float64())]),
}
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001
MICROS_OF_DAY = 86_400_000_000


@dataclass(frozen=True)
class Column:
    """A column of a recorded table; its type in the notation of `*.expected.json`."""

    name: str
    notation: str

    @property
    def source_name(self) -> str:
        """The name in messages: `uid_s` is `uid` as text."""
        return "uid" if self.name == "uid_s" else self.name

    @property
    def note(self) -> str:
        """How the database's text is meant, where the type does not say."""
        return self.notation.partition(":")[2]

    @property
    def kind(self) -> str:
        """The type's name."""
        return self.notation.partition(":")[0].rstrip("!")

    def field(self) -> pa.Field:
        """Return the column's Arrow field."""
        return pa.field(self.source_name, arrow_type(self.kind), "!" not in self.notation)


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of a notation."""
    if kind.startswith("list<"):
        return pa.list_(arrow_type(kind[5:-1]))
    if kind.startswith("decimal"):
        return pa.decimal128(*map(int, re.findall(r"\d+", kind)))
    return SIMPLE[kind]


class Feed:
    """A recorded feed."""

    def __init__(self, name: str) -> None:
        (path,) = CORPUS.glob(f"{name}_*.jsonl.gz")
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            self.messages = [json.loads(line) for line in lines]
        expected = path.with_name(path.name.replace(".jsonl.gz", ".expected.json.gz"))
        self.expected = json.loads(gzip.decompress(expected.read_bytes()))
        self.tables: dict[str, Any] = self.expected["tables"]

    def columns(self, table: str) -> list[Column]:
        """Return a table's columns."""
        return [Column(name, kind) for name, kind in self.tables[table]["types"].items()]

    def unrepresentable(self, table: str) -> set[str]:
        """Return the columns with values that no column of their type can hold."""
        return set(self.expected["unrepresentable"].get(table, ()))

    def undecided(self, table: str) -> set[str]:
        """Return the columns whose form a message without a schema leaves open."""
        has_schemas = self.expected["config"].get("converter.schemas.enable") == "true"
        if has_schemas:
            return set()
        return {
            column.name
            for column in self.columns(table)
            if "decimal" in column.kind and not column.name.startswith(("numfree", "num_"))
        }

    def records(self, table: str) -> pa.Table:
        """Return a table's messages as Kafka's source has them."""
        chosen = [m for m in self.messages if m["t"].split(".")[-1] == table]
        return as_records(chosen)


@cache
def feed(name: str) -> Feed:
    """Return a recorded feed, read once."""
    return Feed(name)


def as_records(messages: list[dict[str, Any]]) -> pa.Table:
    """Return messages as Kafka's source has them."""
    texts = {
        part: [None if m[part] is None else m[part].encode() for m in messages]
        for part in ("key", "value")
    }
    return pa.table(
        {
            "key": pa.array(texts["key"], pa.binary()),
            "value": pa.array(texts["value"], pa.binary()),
            "offset": pa.array([m["n"] for m in messages], pa.int64()),
        }
    )


def expected_value(text: Any, column: Column, expected: dict[str, Any]) -> Any:
    """Return what the database's text means."""
    if isinstance(text, str) and text.startswith("@z:"):  # long texts are kept compressed
        text = zlib.decompress(base64.b64decode(text[3:])).decode()
    if text is None:
        return None
    kind = column.kind
    if kind.startswith("list<"):
        items = json.loads(text, parse_float=str, parse_int=str)
        element = Column(column.name, kind[5:-1])
        texts = [x if x is None or isinstance(x, str) else str(x).lower() for x in items]
        return [expected_value(item, element, expected) for item in texts]
    if column.note:
        return noted_value(text, column)
    if kind.startswith("decimal"):
        scale = int(re.findall(r"\d+", kind)[1])
        if expected["lossy_double"]:
            return float(text)
        return None if text == "NaN" else Decimal(text).quantize(Decimal(1).scaleb(-scale))
    return simple_value(text, kind, is_ms=expected["lossy_ms"])


def noted_value(text: str, column: Column) -> Any:
    """Return what a text means by the column's note."""
    match column.note:
        case "timetz":
            return time_micros(text)
        case "bit":
            return bool(int(text)) if column.kind == "boolean" else int(text, 2)
        case "ms":
            return micros(text) // 1000 * 1000
        case _:
            return int(text)


def simple_value(text: str, kind: str, *, is_ms: bool) -> Any:
    """Return what a text means in a primitive type."""
    match kind:
        case "point":
            x, y = text.strip("()").split(",")
            return {"x": float(x), "y": float(y)}
        case "int" | "long":
            return int(text)
        case "float":
            return repr(struct.unpack("f", struct.pack("f", float(text)))[0])
        case "double":
            return repr(float(text))
        case "boolean":
            return text in ("true", "t", "1")
        case "binary":
            return bytes.fromhex(text[2:])
        case "date":
            return micros(text) // MICROS_OF_DAY
        case "time" | "timestamp":
            value = time_micros(text) if kind == "time" else micros(text)
            return value // 1000 * 1000 if is_ms else value
        case "timestamptz":
            return micros(text)
        case _:
            return text


def micros(text: str) -> int:
    """Return the microseconds from 1970 of a timestamp of PostgreSQL or ISO, UTC without a zone."""
    if text == "infinity":
        return 9_223_372_036_825_200_000
    if text == "-infinity":
        return -9_223_372_036_832_400_000
    match = re.fullmatch(
        r"(\d+)-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?"
        r"(Z|[+-]\d\d(?::?\d\d)?)?( BC)?",
        text,
    )
    assert match is not None, text
    year, *rest = (int(x or 0) for x in match.groups()[:6])
    year = 1 - year if match[9] else year
    cycles, within = divmod(year - 1, 400)  # the calendar repeats after 400 years
    moment = dt.datetime(within + 1, *rest) - EPOCH  # type: ignore[arg-type]  # noqa: DTZ001
    zone = match[8] or "Z"
    minutes = 0 if zone == "Z" else int(zone[1:3]) * 60 + int(zone[4:6] or 0)
    seconds = (moment.days + cycles * 146_097) * 86_400 + moment.seconds
    seconds -= -minutes * 60 if zone[0] == "-" else minutes * 60
    return seconds * 1_000_000 + int((match[7] or "").ljust(6, "0"))


def time_micros(text: str) -> int:
    """Return the microseconds from midnight, UTC."""
    match = re.fullmatch(r"(\d+):(\d\d):(\d\d)(?:\.(\d+))?(Z|[+-]\d\d(?::?\d\d)?)?", text)
    assert match is not None, text
    seconds = (int(match[1]) * 60 + int(match[2])) * 60 + int(match[3])
    value = seconds * 1_000_000 + int((match[4] or "").ljust(6, "0"))
    if match[5] and match[5] != "Z":
        value = (value - int(match[5][:3]) * 3_600_000_000) % MICROS_OF_DAY
    return value


def interval_micros(text: str) -> int:
    """Return the microseconds of an ISO interval without years and months."""
    match = re.fullmatch(r"P(.*)Y(.*)M(.*)DT(.*)H(.*)M(.*)S", text)
    assert match is not None, text
    _, _, days, hours, minutes, seconds = map(Decimal, match.groups())
    return int((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000)


def actual_values(values: Any, column: Column, expected: dict[str, Any]) -> list[Any]:
    """Return an Arrow column's values in the form of `expected_value`."""
    values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if column.kind.startswith("list<"):
        element = Column(column.name, column.kind[5:-1])
        return [
            actual_values(item.values, element, expected) if item.is_valid else None
            for item in values
        ]
    if column.kind in ("date", "time", "timestamp", "timestamptz"):
        plain = values.cast(pa.int32() if column.kind == "date" else pa.int64())
        return list(plain.to_pylist())
    return [
        None if value is None else actual_value(value, column, expected)
        for value in values.to_pylist()
    ]


def actual_value(value: Any, column: Column, expected: dict[str, Any]) -> Any:
    """Return a value in the form of `expected_value`."""
    match column.note, column.kind:
        case "timetz", _:
            return time_micros(value)
        case "interval", "string":
            return interval_micros(value)
        case "bit", "binary":
            return int.from_bytes(value, "little")
        case _, "uuid":
            return str(value)
        case _, "float" | "double":
            return repr(value)
        case _, kind if kind.startswith("decimal") and expected["lossy_double"]:
            return float(value)
        case _:
            return value
