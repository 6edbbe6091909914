"""The driver of streams is killed at random moments and started anew: each row and change once.

`make stream-kills` does so 22 times for each, with maintenance beside, too.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import iceberg_spark as ice
from iceberg_spark.errors import CommitFailedException, ValidationException
from tests.cdc_model import current, history
from tests.spark.killed_streams import APPLIED, KEYS, QUERIES, ROWS, change
from tests.spark.processes import PATIENCE, ROOT
from tests.spark.streams import Input

pytestmark = [pytest.mark.own_process, pytest.mark.slow]

KILLS = int(os.environ.get("KILLS", "3"))
KILLS_OF_APPLIED = int(os.environ.get("KILLS", "1"))
LONGEST_S = 1.0
"""Seconds, at most, between the commit that a kill waits for and the kill."""


def versions(folder: Path) -> int:
    """Count the commits of all tables."""
    return len(list(folder.glob("*/metadata/*.metadata.json")))


def life(folder: Path, kind: str, kill: tuple[int, float] | None) -> bool:
    """Run the streams; return whether they came to the end.

    `kill` is how many commits land before they are killed, and how many seconds go by then.
    """
    before = versions(folder)
    with (
        (folder / "said").open("ab") as said,
        subprocess.Popen(
            [sys.executable, "-m", "tests.spark.killed_streams", str(folder), kind],
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
        if kill is None:
            ended, _ = driver.communicate(timeout=PATIENCE)
            return ended == "ended\n"
        while versions(folder) < before + kill[0] and driver.poll() is None:
            time.sleep(0.01)
        time.sleep(kill[1])
        with suppress(ProcessLookupError):
            os.killpg(driver.pid, signal.SIGKILL)
        return driver.stdout.read() == "ended\n"


def rows(folder: Path, name: str, *columns: str) -> list[tuple[Any, ...]]:
    found = ice.load_table(str(folder / name)).scan().to_arrow().to_pylist()
    return sorted((tuple(row[each] for each in columns) for row in found), key=repr)


def lives(folder: Path, kind: str, kills: int, *, each: int, commits: int) -> int:
    """Run streams, killed so often, with more batches each time; return how many there were."""
    drawn = random.Random(int(os.environ.get("KILLS_SEED", "18")))
    given, batches = Input(folder / "in"), 0
    for number in range(kills + 1):
        for _ in range(each):
            first = batches * ROWS
            given.add(*((row, "k") for row in range(first, first + ROWS)))
            batches += 1
        kill = None if number == kills else (drawn.randrange(commits), drawn.uniform(0, LONGEST_S))
        assert life(folder, kind, kill) or kill is not None
    return batches


def upkeep(folder: Path, names: Iterable[str], ended: Event) -> Counter[str]:
    """Compact tables and expire their snapshots in turn, while others write; count what landed."""
    landed: Counter[str] = Counter()
    for name in cycle(names):
        if ended.wait(0.2):
            return landed
        care = ice.load_table(str(folder / name)).maintenance
        with suppress(CommitFailedException, ValidationException):  # a batch came first
            done = care.rewrite_data_files(options={"min-input-files": "4"})
            landed["compactions"] += done.added_data_files_count > 0
        with suppress(CommitFailedException):
            gone = care.expire_snapshots(older_than=2**42, retain_last=2)
            landed["expiries"] += gone.deleted_manifest_lists_count > 0
    return landed


def tables_of_streams(folder: Path) -> None:
    for name in QUERIES:
        ice.create_table(str(folder / name), "id bigint, count bigint")


def check_rows(folder: Path, batches: int) -> None:
    ids = range(batches * ROWS)
    last = {key: max(row for row in ids if row % KEYS == key) for key in range(KEYS)}
    expected = {
        "append": [(row, 1) for row in ids],
        "complete": sorted(Counter(row % KEYS for row in ids).items()),
        "upsert": sorted(last.items()),
    }
    for name in QUERIES:
        found = rows(folder, name, "id", "count")
        assert found == sorted(expected[name.removesuffix("_plain")], key=repr), name


def test_streams_whose_driver_is_killed_write_each_row_once(tmp_path: Path) -> None:
    tables_of_streams(tmp_path)
    batches = lives(tmp_path, "written", KILLS, each=4, commits=16)
    check_rows(tmp_path, batches)
    for name in QUERIES:
        told = [one.summary for one in ice.load_table(str(tmp_path / name)).snapshots()]
        batch = [one["spark.sql.streaming.epochId"] for one in told]
        # A kill between two logs of Spark's source makes one batch of two files.
        assert sorted(batch, key=int) == [str(epoch) for epoch in range(len(batch))], name
        assert batches - KILLS <= len(batch) <= batches, name
        assert len({one["spark.sql.streaming.queryId"] for one in told}) == 1


def attempt(folder: Path) -> None:
    with suppress(AssertionError):  # it was stopped before it said that it had started
        life(folder, "written", None)


if "KILLS" in os.environ:  # it takes minutes: `make stream-kills`

    def test_streams_that_are_kept_up_and_killed_write_each_row_once(tmp_path: Path) -> None:
        tables_of_streams(tmp_path)
        ended = Event()
        with ThreadPoolExecutor(1) as pool:
            beside = pool.submit(upkeep, tmp_path, tuple(QUERIES), ended)
            try:
                batches = lives(tmp_path, "written", KILLS, each=4, commits=30)
            finally:
                ended.set()
            assert all(beside.result()[what] > 0 for what in ("compactions", "expiries"))
        check_rows(tmp_path, batches)

    def test_streams_of_two_drivers_with_one_checkpoint_write_each_row_once(tmp_path: Path) -> None:
        """Spark stops the driver that sees the other's log; then neither or one of them is left."""
        tables_of_streams(tmp_path)
        given, batches = Input(tmp_path / "in"), 0
        for _ in range(max(1, KILLS // 7)):
            for batch in range(batches, batches + 4):
                given.add(*((row, "k") for row in range(batch * ROWS, (batch + 1) * ROWS)))
            batches += 4
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda _: attempt(tmp_path), range(2)))
        assert life(tmp_path, "written", None)
        check_rows(tmp_path, batches)


def test_streams_whose_driver_is_killed_apply_each_change_once(tmp_path: Path) -> None:
    for name in APPLIED:
        ice.create_table(str(tmp_path / name), "id bigint, name string, price double")
    batches = lives(tmp_path, "applied", KILLS_OF_APPLIED, each=2, commits=6)
    every = [change(row) for row in range(batches * ROWS)]
    named = ("id", "name", "price")
    last = list(current(every).values())
    then = sorted(history(every), key=repr)
    expected = {
        "current": ((*named, "seq"), sorted(last, key=repr)),
        "current_by_ledger": (named, sorted((row[:3] for row in last), key=repr)),
        "history": ((*named, "__START_AT", "__END_AT"), then),
        "history_without_token": ((*named, "__START_AT", "__END_AT"), then),
    }
    for name in APPLIED:
        columns, wanted = expected[name]
        assert rows(tmp_path, name, *columns) == wanted, name
