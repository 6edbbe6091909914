"""Rows of every type that Spark can write, the same for all engines."""

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

INNER = pa.struct([("x", pa.float64()), ("y", pa.timestamp("us", tz="UTC"))])
STRUCT = pa.struct([("a", pa.int32()), ("b", pa.string()), ("n", INNER)])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("flag", pa.bool_()),
        ("i", pa.int32()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("dec9", pa.decimal128(9, 2)),
        ("dec18", pa.decimal128(18, 4)),
        ("dec38", pa.decimal128(38, 10)),
        ("dt", pa.date32()),
        ("ts", pa.timestamp("us", tz="UTC")),
        ("tsn", pa.timestamp("us")),
        ("s", pa.string()),
        ("bin", pa.binary()),
        ("st", STRUCT),
        ("li", pa.list_(pa.int32())),
        ("ls", pa.list_(pa.struct([("k", pa.string()), ("v", pa.int64())]))),
        ("lli", pa.list_(pa.list_(pa.string()))),
        ("m", pa.map_(pa.string(), pa.float64())),
        ("md", pa.map_(pa.int32(), pa.struct([("q", pa.date32())]))),
    ]
)
DDL = """id bigint, flag boolean, i int, f float, d double, dec9 decimal(9,2), dec18 decimal(18,4),
dec38 decimal(38,10), dt date, ts timestamp, tsn timestamp_ntz, s string, bin binary,
st struct<a: int, b: string, n: struct<x: double, y: timestamp>>, li array<int>,
ls array<struct<k: string, v: bigint>>, lli array<array<string>>, m map<string, double>,
md map<int, struct<q: date>>"""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TS = datetime(2024, 1, 1, tzinfo=UTC)
# No +0.0: Java's ORC reader takes a file of -0.0 and 0.0 for one repeated value (test_engines.py).
_DOUBLES = (math.nan, -0.0, 3.25, math.inf, -math.inf, 1.5, -2.25, 1e300)
_STRINGS = ("", "a", "zürich", "日本語テキスト", "x" * 30, "a/b=c d%", "😀grin", "null")
_BYTES = (b"", b"\x00", b"\xff\xfe", b"bytes", bytes(range(40)))


def _row(n: int, file_format: str) -> dict[str, Any]:
    """Row number `n`; every seventh has NULL in all columns but the id."""
    if n % 7 == 3:
        return {"id": n}
    moment = _TS + timedelta(days=n % 3, microseconds=n * 1_000_003)
    old = moment - timedelta(days=20_000 * (n % 4))
    if file_format == "orc" and old < _EPOCH:
        old = old.replace(microsecond=0)
    double, text = _DOUBLES[n % 8], _STRINGS[n % 8]
    return {
        "id": n,
        "flag": n % 2 == 0,
        "i": (n - 5) * 1_000,
        "f": double if abs(double) < 1e30 else 0.1,
        "d": double,
        "dec9": Decimal(n * 101 - 700).scaleb(-2),
        "dec18": Decimal(-(10**13) + n).scaleb(-4),
        "dec38": Decimal(10**27 + n).scaleb(-10) * (-1) ** n,
        "dt": old.date(),
        "ts": moment,
        "tsn": old.replace(tzinfo=None),
        "s": text,
        "bin": _BYTES[n % 5],
        "st": None if n % 5 == 4 else {"a": n, "b": text, "n": {"x": double, "y": old}},
        "li": [] if n % 6 == 0 else [n, None, -n],
        "ls": [{"k": text, "v": n}, None, {"k": None, "v": None}],
        "lli": [[text, None], [], None],
        "m": {"k": double, text: None},
        "md": {n: {"q": date(1969, 12, 31)}, -n - 1: None},
    }


def table(start: int, stop: int, file_format: str = "") -> pa.Table:
    """Rows `start` to `stop` (exclusive) as an Arrow table of SCHEMA.

    For `orc`, times before 1970 have no fractions of a second: the product refuses those in ORC
    files, since Arrow would write them so that Java reads another second.
    """
    rows = [_row(n, file_format) for n in range(start, stop)]
    complete = [{name: row.get(name) for name in SCHEMA.names} for row in rows]
    return pa.Table.from_pylist(
        [{**row, **{k: _pairs(row[k]) for k in ("m", "md")}} for row in complete], schema=SCHEMA
    )


def _pairs(value: dict[Any, Any] | None) -> list[tuple[Any, Any]] | None:
    return None if value is None else list(value.items())
