"""A client of catalogs in a process of its own: it does one thing a line, and says what it took.

Started with a JSON object: `contender` (ours, pyiceberg), `catalog` (its name), `properties`.
Lines of input name a work and a table; a line of output has seconds of CPU and of the clock.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

_STARTED = time.process_time()


def _catalog(given: dict[str, Any]) -> Any:
    if given["contender"] == "ours":
        import iceberg_spark as ice  # noqa: PLC0415 (importing is what is measured)

        return ice.load_catalog(given["catalog"], **given["properties"])
    from pyiceberg.catalog import load_catalog  # noqa: PLC0415

    return load_catalog(given["catalog"], **given["properties"])


def main() -> None:
    """Do what the lines of input say, until they end."""
    given = json.loads(sys.argv[1])
    catalog = _catalog(given)
    made = time.process_time() - _STARTED
    catalog.list_namespaces()
    print(json.dumps({"made": made, "used": time.process_time() - _STARTED}), flush=True)
    import pyarrow as pa  # noqa: PLC0415

    rows = pa.table({f"c{n}": pa.array(range(100), pa.int64()) for n in range(13)})
    handles: dict[str, Any] = {}

    def handle(name: str) -> Any:
        if name not in handles:
            handles[name] = catalog.load_table(name)
        return handles[name]

    works: dict[str, Callable[[str], object]] = {
        "handle": handle,
        "load": catalog.load_table,
        "append": lambda name: handle(name).append(rows),
        "scan": lambda name: catalog.load_table(name).scan().to_arrow(),
    }
    for line in sys.stdin:
        work, name, times = line.split()
        cpu, clock = time.process_time(), time.perf_counter()
        for _ in range(int(times)):
            works[work](name)
        took = {"cpu": time.process_time() - cpu, "clock": time.perf_counter() - clock}
        print(json.dumps(took), flush=True)


if __name__ == "__main__":
    main()
