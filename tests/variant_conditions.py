"""Random files of variants, and random conditions on their fields."""

import datetime as dt
import json
from random import Random
from typing import Any

from pyspark.sql import DataFrame, SparkSession

KINDS = ("small", "whole", "decimal", "double", "text", "digits", "flag", "date", "instant",
         "wall", "array", "object", "null", "missing")  # fmt: skip
TYPES = ("int", "bigint", "double", "float", "decimal(9,2)", "decimal(20,0)", "string", "boolean",
         "date", "timestamp", "timestamp_ntz")  # fmt: skip
GETTERS = (
    "try_variant_get(v, '{path}', '{kind}')",
    "try_cast(try_variant_get(v, '{path}') as {kind})",
)
PATHS = ("$.a", r"$[\'a\']", '$["b c"]', "$.o.p", "$", "$.a[0]", "$.A")
ROWS = 8
_BASES = (-300, 0, 20, 40, 60, 5_000_000_000)
_TEXTS = (
    "",
    "a",
    "b",
    "k",
    "m",
    "zz",
    "[",
    "[1]",
    "{",
    "5",
    "50",
    "true",
    "NaN",
    "é",
    "text that is long ",
)


def rows_of_file(spark: SparkSession, rng: Random, first: int) -> DataFrame:
    """The rows of one file: each field mostly of one kind, in a narrow range."""
    kinds = {name: _kinds(rng) for name in ("a", "b c", "p")}
    base = rng.choice(_BASES)
    rows = []
    for number in range(ROWS):
        a, b, p = (_value(rng, rng.choice(kinds[name]), base) for name in ("a", "b c", "p"))
        fields = [("a", a), ("b c", b), ("o", None if p is None else f"named_struct('p', {p})")]
        given = [f"'{name}', {text}" for name, text in fields if text is not None]
        whole = f"named_struct({', '.join([*given, repr('z'), '1'])})"
        variant = rng.choice([f"to_variant_object({whole})"] * 9 + ["parse_json('5')"])
        if rng.random() < 0.05:
            variant = "cast(null as variant)"
        rows.append(f"select {first + number}L id, {variant} v")
    return spark.sql(" union all ".join(rows))


def _kinds(rng: Random) -> list[str]:
    main = rng.choice(KINDS[:5] * 3 + KINDS)
    return [main] * rng.choice((3, 100, 1000)) + [rng.choice(KINDS), "null", "missing"]


def _value(rng: Random, kind: str, base: int) -> str | None:
    at = base + rng.randint(0, 9)
    day = at % 30000
    texts: dict[str, list[str]] = {
        "small": [f"cast({at % 100} as tinyint)"],
        "whole": [f"{at}L"],
        "decimal": [f"cast({at}.{rng.randint(0, 99):02} as decimal(14, 2))"],
        "double": [f"double('{at}.5')"] * 6 + ["double('NaN')", "double('-0.0')", "0D"],
        "text": [repr(rng.choice(_TEXTS) + end) for end in ("", "x", "y" * 20)],
        "digits": [f"'{at}'"],
        "flag": ["true", "false"],
        "date": [f"date_from_unix_date({day // 2})"],
        "instant": [f"timestamp_micros({day}L * 43200000000 + {rng.randint(0, 1)})"],
        "wall": [f"cast(timestamp_micros({day}L * 43200000000) as timestamp_ntz)"],
        "array": [f"array('k{at % 10}', 'm')"],
        "object": [f"named_struct('q', {at})"],
        "null": ["cast(null as int)"],
    }
    return rng.choice(texts[kind]) if kind in texts else None


def random_condition(rng: Random, *, depth: int = 2) -> str:
    """A condition that Spark evaluates without an error, whatever the rows are."""
    if depth and rng.random() < 0.35:
        one, other = (random_condition(rng, depth=depth - 1) for _ in range(2))
        return rng.choice((f"({one} or {other})", f"({one} and {other})", f"not ({one})"))
    if rng.random() < 0.1:
        return f"id {rng.choice(('<', '>=', '='))} {rng.randint(0, 6 * ROWS)}"
    kind = rng.choice(TYPES[:7] * 2 + TYPES)
    getter = rng.choice(GETTERS).format(path=rng.choice(PATHS[:4] * 3 + PATHS), kind=kind)
    return _test(rng, getter, kind)


def _test(rng: Random, getter: str, kind: str) -> str:
    values = [_literal(rng, kind) for _ in range(3)]
    tests = [f"{getter} {op} {values[0]}" for op in ("=", "!=", "<", "<=", ">", ">=", "<=>")] * 2
    tests += [
        f"{getter} in ({', '.join(values)})",
        f"{getter} not in ({', '.join(values)})",
        f"{getter} between {values[0]} and {values[1]}",
        f"{getter} is null",
        f"{getter} is not null",
        f"{values[0]} > {getter}",
    ]
    if kind == "string":
        prefix = rng.choice(_TEXTS)
        tests += [f"{getter} like '{prefix}%'", f"{getter} not like '{prefix}%'"]
    if kind == "boolean":
        tests += [getter, f"{getter} is true", f"{getter} is false"]
    if kind in ("double", "float"):
        tests += [f"isnan({getter})", f"not isnan({getter})"]
    return rng.choice(tests)


def _literal(rng: Random, kind: str) -> str:
    at = rng.choice(_BASES) + rng.randint(-2, 11)
    texts = {
        "int": [str(at % 2**31)],
        "bigint": [f"{at}L"],
        "double": [f"{at}.5D", f"{at}D", "cast('NaN' as double)", "-0.0D", "1e300"],
        "float": [f"cast('{at}.5' as float)"],
        "decimal(9,2)": [f"{at % 300}.{rng.randint(0, 99):02}"],
        "decimal(20,0)": [str(at)],
        "string": [repr(one) for one in (rng.choice(_TEXTS), str(at), json.dumps(["k1", "m"]))],
        "boolean": ["true", "false"],
        "date": [f"date'{_day(at)}'"],
        "timestamp": [f"timestamp'{_day(at)} 00:00:00'"],
        "timestamp_ntz": [f"timestamp_ntz'{_day(at)} 00:00:00'"],
    }
    return rng.choice(texts[kind])


def _day(at: int) -> str:
    return str(dt.date(1970, 1, 1) + dt.timedelta(days=at % 30000 // 2))


def matching_ids(rows: DataFrame, conditions: list[str]) -> list[Any]:
    """For each condition the ids of the rows that meet it, by Spark alone."""
    columns = [
        f"collect_list(case when {one} then id end) c{at}" for at, one in enumerate(conditions)
    ]
    return list(rows.selectExpr(*columns).collect()[0])
