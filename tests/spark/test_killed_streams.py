"""The driver of five streams is killed at random moments and started anew: each row once.

`make stream-kills` does so 22 times.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import iceberg_spark as ice
from tests.spark.killed_streams import KEYS, QUERIES, ROWS
from tests.spark.processes import PATIENCE, ROOT
from tests.spark.streams import Input

pytestmark = [pytest.mark.own_process, pytest.mark.slow]

KILLS = int(os.environ.get("KILLS", "3"))
LONGEST_S = 9.0
"""Seconds of work, at most, before a kill: some batches of each stream."""


def life(folder: Path, ends_after_s: float | None) -> bool:
    """Run the streams, killed after some seconds of work; return whether they came to the end."""
    with (
        (folder / "said").open("ab") as said,
        subprocess.Popen(
            [sys.executable, "-m", "tests.spark.killed_streams", str(folder)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            text=True,
            start_new_session=True,  # it is killed with its JVM, and with Python workers
        ) as driver,
    ):
        assert driver.stdout is not None
        assert driver.stdout.readline() == "started\n", (folder / "said").read_text()[-3000:]
        if ends_after_s is None:
            ended, _ = driver.communicate(timeout=PATIENCE)
            return ended == "ended\n"
        time.sleep(ends_after_s)
        os.killpg(driver.pid, signal.SIGKILL)
        return driver.stdout.read() == "ended\n"


def new_table(folder: Path, name: str) -> None:
    ice.create_table(str(folder / name), "id bigint, count bigint")


def rows(folder: Path, name: str) -> list[tuple[int, int]]:
    found = ice.load_table(str(folder / name)).scan().to_arrow()
    return sorted(zip(found["id"].to_pylist(), found["count"].to_pylist(), strict=True))


def test_streams_whose_driver_is_killed_write_each_row_once(tmp_path: Path) -> None:
    drawn = random.Random(int(os.environ.get("KILLS_SEED", "18")))
    given, batches = Input(tmp_path / "in"), 0
    for name in QUERIES:
        new_table(tmp_path, name)
    for number in range(KILLS + 1):
        for _ in range(4):
            first = batches * ROWS
            given.add(*((row, "k") for row in range(first, first + ROWS)))
            batches += 1
        moment = None if number == KILLS else drawn.uniform(0.1, LONGEST_S)
        assert life(tmp_path, moment) or moment is not None
    ids = range(batches * ROWS)
    last = {key: max(row for row in ids if row % KEYS == key) for key in range(KEYS)}
    expected = {
        "append": [(row, 1) for row in ids],
        "complete": sorted(Counter(row % KEYS for row in ids).items()),
        "upsert": sorted(last.items()),
    }
    for name in QUERIES:
        assert rows(tmp_path, name) == expected[name.removesuffix("_plain")], name
        told = [one.summary for one in ice.load_table(str(tmp_path / name)).snapshots()]
        batch = [one["spark.sql.streaming.epochId"] for one in told]
        # A kill between two logs of Spark's source makes one batch of two files.
        assert sorted(batch, key=int) == [str(epoch) for epoch in range(len(batch))], name
        assert batches - KILLS <= len(batch) <= batches, name
        assert len({one["spark.sql.streaming.queryId"] for one in told}) == 1
