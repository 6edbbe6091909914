"""Records feeds of random changes with Debezium, and compares each table with the database.

`make feeds`; FEED_SEEDS=3 is the number of feeds, each in a configuration drawn by its seed. Every
third is of MariaDB, the others are of PostgreSQL.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa

import iceberg_spark as ice
from iceberg_spark.errors import InvalidInputError
from tests.feeds import mariadb
from tests.feeds.recorded import Column, actual_values, as_records, expected_value
from tests.servers.debezium import LOGICAL, debezium_engine, postgres_source
from tests.servers.mariadb import mariadb_server
from tests.servers.postgres import Postgres, postgres_server

TYPES = {
    "id": ("int", "int!"),
    "small": ("smallint", "int"),
    "big": ("bigint", "long"),
    "num": ("numeric(9,2)", "decimal(12,4)"),
    "free": ("numeric", "decimal(38,9)"),
    "dbl": ("double precision", "double"),
    "rl": ("real", "float"),
    "ok": ("boolean", "boolean"),
    "body": ("text", "string"),
    "bin": ("bytea", "binary"),
    "day": ("date", "date"),
    "tim": ("time", "time"),
    "tim3": ("time(3)", "time"),
    "ts": ("timestamp", "timestamp"),
    "ts3": ("timestamp(3)", "timestamp"),
    "tstz": ("timestamptz", "timestamptz"),
    "uid": ("uuid", "uuid"),
    "ints": ("int[]", "list<int>"),
    "texts": ("text[]", "list<string>"),
    "nums": ("numeric(9,2)[]", "list<decimal(9,2)>"),
    "moments": ("timestamp[]", "list<timestamp>"),
}
MODES = {
    "decimal.handling.mode": ["precise", "double", "string"],
    "time.precision.mode": [
        "adaptive",
        "adaptive_time_microseconds",
        "connect",
        "isostring",
        "microseconds",
        "nanoseconds",
    ],
    "binary.handling.mode": ["bytes", "base64", "base64-url-safe", "hex"],
    "converter.schemas.enable": ["true", "true", "false"],
    "flattened": ["false", "true"],
}
CHANGES = 120


def random_value(rng: random.Random, kind: str) -> Any:
    """Return a random value of a type of PostgreSQL, as text that it reads."""
    if rng.random() < 0.15:
        return None
    if kind.endswith("[]"):
        items = [random_value(rng, kind[:-2]) for _ in range(rng.randrange(4))]
        return [None if item is None else str(item) for item in items]
    match kind:
        case "smallint" | "int" | "bigint":
            width = {"smallint": 15, "int": 31, "bigint": 63}[kind]
            return rng.choice([0, -1, 2**width - 1, -(2**width), rng.randrange(2**width)])
        case "numeric(9,2)" | "numeric":
            return f"{rng.randrange(-(10**9) + 1, 10**9) / 100:.2f}"
        case "double precision" | "real":
            return rng.choice(["NaN", "Infinity", "-Infinity", "1.5", "-0.25", "1e30"])
        case "boolean":
            return rng.random() < 0.5
        case "text":
            size = rng.choice([0, 1, 9, 9000])
            return "".join(rng.choice("abcdef0123Ü名'\\") for _ in range(size))
        case "bytea":
            return rng.randbytes(rng.choice([0, 1, 3, 6, 9000]))
        case "uuid":
            return str(uuid.UUID(int=rng.getrandbits(128)))
        case _:
            return random_moment(rng, kind)


def random_moment(rng: random.Random, kind: str) -> str:
    """Return a date, time or timestamp; older ones are Julian in Debezium's lists."""
    day = f"{rng.randint(1583, 9998)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    time = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
    time += rng.choice(["", ".1", f".{rng.randrange(10**6):06}"])
    match kind:
        case "date":
            return day
        case "time" | "time(3)":
            return time
        case _:
            return f"{day} {time}{'Z' if kind == 'timestamptz' else ''}"


def change_rows(connection: Any, rng: random.Random, changes: int) -> None:
    """Insert, update and delete rows at random, several in a transaction at times."""
    names = [name for name in TYPES if name != "id"]
    number = 0
    while number < changes:
        with connection.transaction():
            for _ in range(rng.choice([1, 1, 3])):
                number += 1
                key, chance = rng.randrange(12), rng.random()
                if chance < 0.15:
                    connection.execute("DELETE FROM rows WHERE id = %s", [key])
                    continue
                some = names if chance < 0.4 else rng.sample(names, rng.randint(1, 4))
                values = [random_value(rng, TYPES[name][0]) for name in some]
                sets = ", ".join(f"{name} = %s::{TYPES[name][0]}" for name in some)
                done = connection.execute(
                    f"UPDATE rows SET {sets} WHERE id = %s",
                    [*values, key],
                )
                if not done.rowcount:
                    every = [random_value(rng, TYPES[name][0]) for name in names]
                    marks = ", ".join(f"%s::{TYPES[name][0]}" for name in names)
                    connection.execute(
                        f"INSERT INTO rows VALUES (%s, {marks})",
                        [key, *every],
                    )


def database_rows(connection: Any) -> list[dict[str, Any]]:
    """Return the rows as the database's texts, lists as JSON."""
    texts = [
        f"to_json({name})::text" if kind.endswith("[]") else f"{name}::text"
        for name, (kind, _) in TYPES.items()
    ]
    found = connection.execute(f"SELECT {', '.join(texts)} FROM rows ORDER BY rows.id")
    return [dict(zip(TYPES, row, strict=True)) for row in found.fetchall()]


def record(
    server: Postgres, folder: Path, name: str, modes: dict[str, str], rng: random.Random
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the messages of random changes, and the rows that the database has then."""
    options = {key: value for key, value in modes.items() if key != "flattened"}
    if modes["flattened"] == "true":
        options |= {
            "transforms": "u",
            "transforms.u.type": "io.debezium.transforms.ExtractNewRecordState",
            "transforms.u.delete.tombstone.handling.mode": "rewrite",
            "transforms.u.add.fields": "op,lsn,table,schema",
        }
    with psycopg.connect(server.uri, autocommit=True) as connection:
        connection.execute("SET TIME ZONE 'UTC'")
        connection.execute("DROP TABLE IF EXISTS rows, mark, ending")
        columns = ", ".join(f"{name} {kind}" for name, (kind, _) in TYPES.items())
        connection.execute(f"CREATE TABLE rows ({columns}, PRIMARY KEY (id))")
        connection.execute("CREATE TABLE mark (id int PRIMARY KEY)")
        connection.execute("CREATE TABLE ending (id int PRIMARY KEY)")
        change_rows(connection, rng, 20)
        connection.execute("INSERT INTO mark VALUES (1)")
        with debezium_engine(folder, name, postgres_source(server, name), options) as messages:
            messages.wait_for("mark")  # the snapshot has begun
            change_rows(connection, rng, CHANGES)
            connection.execute("INSERT INTO ending VALUES (1)")
            recorded = messages.wait_for("ending")
        return recorded, database_rows(connection)


def decode_options(modes: dict[str, str]) -> dict[str, Any]:
    """Return what the configuration tells of messages, for feeds without schemas."""
    binary = modes["binary.handling.mode"]
    options: dict[str, Any] = {"binary": "hex" if binary == "hex" else "base64"}
    if modes["converter.schemas.enable"] == "false":
        decimal = modes["decimal.handling.mode"]
        options["decimals"] = {"precise": "bytes", "string": "text", "double": None}[decimal]
        time = modes["time.precision.mode"]
        unit = {"connect": "ms", "nanoseconds": "ns"}.get(time, "us")
        options["time_unit"] = unit
        if time == "adaptive":
            options["time_unit"] = dict.fromkeys(("tim", "ts", "moments"), "us")
            options["time_unit"] |= dict.fromkeys(("tim3", "ts3"), "ms")
        if time == "adaptive_time_microseconds":
            options["time_unit"] = dict.fromkeys(("tim", "tim3", "ts", "moments"), "us") | {
                "ts3": "ms"
            }
    return options


def columns_of(modes: dict[str, str]) -> list[Column]:
    """Return the columns that can be compared under a configuration."""
    left_out = set()
    if modes["converter.schemas.enable"] == "false":
        left_out.add("num")  # of another scale than the table's
    if modes["binary.handling.mode"].startswith("base64"):
        left_out.add("bin")  # Debezium sends NULL for long values that did not change
    if modes["time.precision.mode"] == "nanoseconds":
        left_out |= {"ts", "ts3", "moments"}  # Debezium sends NULL beyond the year 2262
    return [Column(name, kind) for name, (_, kind) in TYPES.items() if name not in left_out]


def check(
    messages: Sequence[dict[str, Any]],
    rows: list[dict[str, Any]],
    modes: dict[str, str],
    rng: random.Random,
    columns: Sequence[Column],
    position: str,
    name: str,
) -> None:
    """Apply messages in batches, in order or shuffled, and compare with the rows.

    `position` is the path of a change's position in the log, `name` that of the table.
    """
    schema = pa.schema([column.field() for column in columns])
    chosen = [m for m in messages if m["t"].endswith(".rows")]
    by_position = rng.random() < 0.5
    sequence = position if by_position else "offset"
    if by_position and rng.random() < 0.5:
        rng.shuffle(chosen)
    expected = {
        "lossy_double": modes["decimal.handling.mode"] == "double",
        "lossy_ms": modes["time.precision.mode"] == "connect",
    }
    with tempfile.TemporaryDirectory() as folder:
        table = ice.create_table(f"{folder}/t", schema)
        waiting: list[dict[str, Any]] = []
        for start in range(0, len(chosen), 40):
            waiting += chosen[start : start + 40]
            changes = ice.cdc.debezium(
                as_records(waiting),
                schema,
                sequence=sequence,
                table=name,
                **decode_options(modes),
            )
            try:
                table.apply_changes(
                    changes, keys=["id"], sequence_by="__seq", apply_as_deletes="__deleted"
                )
            except InvalidInputError as error:
                if "leaves out its value" not in str(error):  # not there yet
                    raise
            else:
                waiting = []
        assert not waiting, "values are missing in the end"
        result = table.scan().to_arrow().sort_by("id")
    for column in columns:
        right = [expected_value(row[column.name], column, expected) for row in rows]
        actual = actual_values(result[column.name], column, expected)
        assert actual == right, (column.name, actual, right)


def main() -> int:
    """Record and check feeds. Returns 1 for a fault."""
    first, count = int(os.environ.get("FEED_SEED", "0")), int(os.environ.get("FEED_SEEDS", "3"))
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + count):
            on_mariadb = seed % 3 == 2
            rng = random.Random(seed)
            choices = mariadb.MODES if on_mariadb else MODES
            modes = {name: rng.choice(values) for name, values in choices.items()}
            name = f"feed{seed}"
            if on_mariadb:
                columns, position, table = mariadb.COLUMNS, mariadb.POSITION, f"{name}.rows"
                with mariadb_server() as server:
                    messages, rows = mariadb.record(server, Path(folder), name, modes, rng)
            else:
                columns, table = columns_of(modes), "public.rows"
                position = "__lsn" if modes["flattened"] == "true" else "source.lsn"
                with postgres_server(LOGICAL) as postgres:
                    messages, rows = record(postgres, Path(folder), name, modes, rng)
            print(f"seed {seed}: {len(messages)} messages, {json.dumps(modes)}", flush=True)
            check(messages, rows, modes, rng, columns, position, table)
            print(f"seed {seed}: {len(rows)} rows are those of the database", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
