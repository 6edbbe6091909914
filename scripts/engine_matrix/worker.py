"""Reads tables with one engine; runs in the engine's environment and imports nothing else.

python -m scripts.engine_matrix.worker READER JOB, with a job of {"folder", "results", "tables"}.
"""

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

Read = Callable[[str], pa.Table]


def main(reader: str, job_file: str) -> None:
    """Append a line of JSON to the results after each table, so that a crash loses one only."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    engine = importlib.import_module(f"scripts.engine_matrix.readers.{reader}")
    with engine.open_reader(job["folder"]) as read:
        for name, metadata in job["tables"].items():
            outcome = {"table": name, "error": attempt(read, metadata, job["folder"], name)}
            with Path(job["results"]).open("a", encoding="utf-8") as results:
                results.write(json.dumps(outcome) + "\n")


def attempt(read: Read, metadata: str, folder: str, name: str) -> str | None:
    """Store the rows as an Arrow file; return the engine's error, None where there is none."""
    try:
        table = read(metadata)
        with pa.OSFile(str(Path(folder, f"{name}.arrow")), "wb") as sink:
            write_table(table, sink)
    except BaseException as error:  # noqa: BLE001 - some engines panic with a BaseException
        return f"{type(error).__name__}: {error}"
    return None


def write_table(table: pa.Table, sink: Any) -> None:
    """Write an Arrow file."""
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


if __name__ == "__main__":
    main(*sys.argv[1:])
