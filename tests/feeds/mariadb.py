"""Random changes of a table of MariaDB, as Debezium's connector of MySQL sends them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.feeds.recorded import Column
from tests.servers.debezium import debezium_engine, mariadb_source
from tests.servers.mariadb import MariaDb

TYPES = {
    "id": ("int", "int!"),
    "tiny": ("tinyint unsigned", "int"),
    "small": ("smallint", "int"),
    "big": ("bigint", "long"),
    "ubig": ("bigint unsigned", "decimal(20,0)"),
    "num": ("decimal(9,2)", "decimal(12,4)"),
    "dbl": ("double", "double"),
    "rl": ("float", "float"),
    "ok": ("tinyint(1)", "boolean"),
    "body": ("longtext", "string"),
    "bin": ("longblob", "binary"),
    "day": ("date", "date"),
    "tim": ("time(6)", "time"),
    "ts": ("datetime(6)", "timestamp"),
    "ts3": ("datetime(3)", "timestamp"),
    "tstz": ("timestamp(6)", "timestamptz"),
    "en": ("enum('a','it''s')", "string"),
}
COLUMNS = [Column(name, kind) for name, (_, kind) in TYPES.items()]
POSITION = "source.pos"
MODES = {
    "decimal.handling.mode": ["precise", "double", "string"],
    "time.precision.mode": ["adaptive_time_microseconds", "connect", "isostring"],
    "binary.handling.mode": ["bytes", "base64", "base64-url-safe", "hex"],
    "converter.schemas.enable": ["true"],
    "bigint.unsigned.handling.mode": ["precise"],
    "flattened": ["false"],
}
_WIDTHS = {"tinyint unsigned": (0, 8), "smallint": (15, 15), "bigint": (63, 63)}
_WIDTHS |= {"bigint unsigned": (0, 64), "tinyint(1)": (0, 1)}


def random_sql(rng: random.Random, kind: str) -> str:
    """Return a random value of a type, as a literal of SQL."""
    if rng.random() < 0.15:
        return "NULL"
    if kind in _WIDTHS:
        below, above = _WIDTHS[kind]
        least, most = -(2**below) if below else 0, 2**above - 1
        return str(rng.choice([0, least, most, rng.randint(least, most)]))
    match kind:
        case "decimal(9,2)":
            return f"{rng.randrange(-(10**9) + 1, 10**9) / 100:.2f}"
        case "double" | "float":
            return rng.choice(["1.5", "-0.25", "1e30"])
        case "longtext":
            size = rng.choice([0, 1, 9, 9000])
            text = "".join(rng.choice("abcdef0123Ü名'\\") for _ in range(size))
            return f"CONVERT(X'{text.encode().hex()}' USING utf8mb4)"
        case "longblob":
            return f"X'{rng.randbytes(rng.choice([0, 1, 3, 6, 9000])).hex()}'"
        case "date" | "datetime(6)" | "datetime(3)" | "timestamp(6)" | "time(6)":
            return f"'{_random_moment(rng, kind)}'"
        case _:
            return rng.choice(["'a'", "'it''s'"])


def _random_moment(rng: random.Random, kind: str) -> str:
    first, last = (1971, 2037) if kind == "timestamp(6)" else (1583, 9998)
    day = f"{rng.randint(first, last)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    time = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
    time += rng.choice(["", ".1", f".{rng.randrange(10**6):06}"])
    return {"date": day, "time(6)": time}.get(kind, f"{day} {time}")


def changes(rng: random.Random, live: set[int], count: int) -> Iterator[str]:
    """Yield statements that change the rows `live`, several in a transaction at times."""
    names = [name for name in TYPES if name != "id"]
    number = 0
    while number < count:
        yield "START TRANSACTION;"
        for _ in range(rng.choice([1, 1, 3])):
            number += 1
            key, chance = rng.randrange(12), rng.random()
            if key in live and chance < 0.15:
                live.remove(key)
                yield f"DELETE FROM `rows` WHERE id = {key};"
                continue
            is_new = key not in live
            some = names if is_new or chance < 0.4 else rng.sample(names, rng.randint(1, 4))
            sets = ", ".join(f"{name} = {random_sql(rng, TYPES[name][0])}" for name in some)
            live.add(key)
            verb, end = ("INSERT INTO", "") if is_new else ("UPDATE", f" WHERE id = {key}")
            yield f"{verb} `rows` SET {f'id = {key}, ' if is_new else ''}{sets}{end};"
        yield "COMMIT;"


def database_rows(server: MariaDb, database: str) -> list[dict[str, Any]]:
    """Return the rows as the database's texts."""
    texts = [
        f"CONCAT('\\\\x', HEX({name}))" if kind == "longblob" else f"CAST({name} AS CHAR)"
        for name, (kind, _) in TYPES.items()
    ]
    query = f"SELECT JSON_ARRAY({', '.join(texts)}) FROM `rows` ORDER BY id;"
    lines = server.run("SET time_zone = '+00:00'; " + query, database)
    return [dict(zip(TYPES, json.loads(line), strict=True)) for line in lines]


def record(
    server: MariaDb, folder: Path, name: str, modes: dict[str, str], rng: random.Random
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the messages of random changes, and the rows that the database has then."""
    columns = ", ".join(f"{column} {kind} NULL" for column, (kind, _) in TYPES.items())
    columns = columns.replace("id int NULL", "id int PRIMARY KEY")
    script = [f"CREATE DATABASE {name} CHARACTER SET utf8mb4; USE {name};"]
    script.append(f"CREATE TABLE `rows` ({columns});")
    script += [f"CREATE TABLE {table} (id int PRIMARY KEY);" for table in ("mark", "ending")]
    live: set[int] = set()
    server.run("\n".join([*script, *changes(rng, live, 20), "INSERT INTO mark VALUES (1);"]))
    options = {key: value for key, value in modes.items() if key != "flattened"}
    with debezium_engine(folder, name, mariadb_source(server, name), options) as messages:
        messages.wait_for("mark")  # the snapshot has begun
        server.run("\n".join(changes(rng, live, 120)), name)
        server.run("INSERT INTO ending VALUES (1);", name)
        recorded = messages.wait_for("ending")
    return recorded, database_rows(server, name)
