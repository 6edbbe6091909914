"""One process that changes a table without Spark until its time is over, or it is killed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import iceberg_spark as ice
from benchmarks.stress_log import Change, Log

IDS = 400
NEAR = 40
"""Keys of a change are so near to each other: changes meet often, and not always."""

WEIGHTS = {"append": 32, "delete": 30, "upsert": 26, "compact": 5, "convert": 4, "mode": 3}


def work(location: str, properties: dict[str, str], name: str, folder: str, until: float) -> None:
    """Change the table until a time (`time.time()`), writing `<name>.log` in a folder."""
    choose = random.Random(name)
    log = Log(Path(folder) / f"{name}.log")
    table = ice.load_table(location, **properties)
    number = 0
    while time.time() < until:
        number += 1
        if choose.random() < 0.8:
            table.refresh()
        (verb,) = choose.choices(list(WEIGHTS), list(WEIGHTS.values()))
        change, run = _change(table, choose, f"{name}-{number}", verb)
        log.run(table, change, run)


def fill(table: ice.Table, folder: Path) -> None:
    """Append one row of every key, as a worker of its own."""
    ids = list(range(IDS))
    change = Change("w0-1", "append", {"ids": ids, "n": [0] * IDS})
    rows = pa.table({"id": ids, "n": [0] * IDS, "op": [change.op] * IDS})
    log = Log(folder / "w0.log")
    log.run(table, change, lambda: table.append(rows, snapshot_properties=change.properties))


def _change(
    table: ice.Table, choose: random.Random, op: str, verb: str
) -> tuple[Change, Callable[[], object]]:
    match verb:
        case "append" | "upsert":
            return _rows(table, choose, op, verb)
        case "delete":
            low = choose.randrange(IDS)
            high = low + choose.choice((1, 2, 5, 20, 60))
            change = Change(op, verb, {"low": low, "high": high})
            where = f"id >= {low} and id < {high}" if high - low > 1 else f"id = {low}"
            return change, lambda: table.delete(where, snapshot_properties=change.properties)
        case "compact":
            return Change(op, verb, {}), table.maintenance.rewrite_position_deletes
        case "convert":
            return Change(op, verb, {}), table.maintenance.convert_equality_deletes
        case _:
            mode = choose.choice(("merge-on-read", "copy-on-write"))
            setting = table.update_properties().set({"write.delete.mode": mode})
            return Change(op, verb, {}), setting.commit


def _rows(
    table: ice.Table, choose: random.Random, op: str, verb: str
) -> tuple[Change, Callable[[], object]]:
    low = choose.randrange(IDS)
    near = range(low, low + NEAR)
    ids = choose.sample(near, choose.randint(1, 12))
    n = [choose.randrange(1000) for _ in ids]
    if verb == "append":
        change = Change(op, verb, {"ids": ids, "n": n})
        rows = pa.table({"id": ids, "n": n, "op": [op] * len(ids)})
        return change, lambda: table.append(rows, snapshot_properties=change.properties)
    gone = [each for each in choose.sample(near, choose.randint(0, 6)) if each not in ids]
    change = Change(op, verb, {"ids": ids, "n": n, "gone": gone})
    rows = pa.table(
        {
            "id": ids + gone,
            "n": pa.array(n + [None] * len(gone), pa.int64()),
            "op": [op] * (len(ids) + len(gone)),
            "_op": ["U"] * len(ids) + ["D"] * len(gone),
        }
    )
    return change, lambda: table.upsert(rows, ["id"], snapshot_properties=change.properties)
