"""Spark processes whose threads merge into one table, and the program that each of them runs.

python -m benchmarks.stress_merges LOCATION NAME FOLDER SECONDS PROCESSES THREADS
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import iceberg_spark as ice
from benchmarks.stress_log import Change, Log

IDS = 60
ATTEMPTS = 3
_PATIENCE_S = 240
_ROOT = Path(__file__).resolve().parent.parent


def merge_at_once(
    location: str, folder: Path, seconds: float, processes: int = 2, threads: int = 4
) -> float:
    """Run the processes; each merges for so long once all are ready. Returns the seconds taken.

    Raises RuntimeError with the end of its output when one of them fails.
    """
    running = []
    for name in (f"s{number}" for number in range(processes)):
        output = folder / f"{name}.out"
        given = (location, name, str(folder), str(seconds), str(processes), str(threads))
        with output.open("wb") as to:
            command = [sys.executable, "-m", "benchmarks.stress_merges", *given]
            process = subprocess.Popen(command, cwd=_ROOT, stdout=to, stderr=to)
        running.append((process, output))
    for process, output in running:
        if process.wait() != 0:
            for other, _ in running:
                other.kill()
                other.wait()
            raise RuntimeError(f"A merging process failed: {output.read_text()[-2000:]}")
    return max(float((folder / f"s{number}.taken").read_text()) for number in range(processes))


def _session() -> SparkSession:
    builder = SparkSession.builder.master("local[2]").appName("stress")
    for key, value in {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.scheduler.mode": "FAIR",
    }.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _merge_until(location: str, name: str, log: Log, until: float) -> None:
    choose = random.Random(name)
    table = ice.load_table(location)
    number = 0
    while time.monotonic() < until:
        number += 1
        table.refresh()
        ids = choose.sample(range(IDS), choose.randint(1, 4))
        (verb,) = choose.choices(("merge-add", "merge-replace", "merge-delete"), (6, 2, 1))
        op = f"{name}-{number}"
        if choose.random() < 0.3:
            mode = choose.choice(("merge-on-read", "copy-on-write"))
            setting = table.update_properties().set({"write.merge.mode": mode})
            log.run(table, Change(f"{op}-mode", "mode", {}), setting.commit)
        change = Change(op, verb, {"ids": ids, "n": [choose.randint(1, 9) for _ in ids]})
        log.run(table, change, lambda given=(table, change): _merge(*given))


def _merge(table: ice.Table, change: Change) -> None:
    ids, n = change.values["ids"], change.values["n"]
    source = pa.table({"id": ids, "n": n, "op": [change.op] * len(ids)})
    merge = table.merge(source, "t.id = s.id", snapshot_properties=change.properties)
    match change.verb:
        case "merge-add":
            merge = merge.when_matched_update({"n": "t.n + s.n", "op": "s.op"})
            merge = merge.when_not_matched_insert_all()
        case "merge-replace":
            merge = merge.when_matched_update_all().when_not_matched_insert_all()
        case _:
            merge = merge.when_matched_delete()
    merge.execute(max_attempts=ATTEMPTS)


def main() -> None:
    """Start Spark, wait for the others, and merge in threads."""
    location, name, where, seconds, processes, threads = sys.argv[1:]
    folder = Path(where)
    spark = _session()
    spark.range(10).count()
    (folder / f"{name}.ready").touch()
    waiting_until = time.monotonic() + _PATIENCE_S
    while len(list(folder.glob("*.ready"))) < int(processes):
        if time.monotonic() > waiting_until:
            raise RuntimeError("The other processes did not start")
        time.sleep(0.1)
    log = Log(folder / f"{name}.log")
    started = time.monotonic()
    until = started + float(seconds)
    with ThreadPoolExecutor(int(threads)) as pool:
        names = [f"{name}t{number}" for number in range(int(threads))]
        list(pool.map(lambda each: _merge_until(location, each, log, until), names))
    (folder / f"{name}.taken").write_text(str(time.monotonic() - started))
    spark.stop()


if __name__ == "__main__":
    main()
