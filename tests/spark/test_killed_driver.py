"""Spark's driver is killed in the middle of a verb: the table is as before it, or as after it.

`make faults` kills it at every moment of every verb, together with its JVM and alone.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import iceberg_spark as ice
from iceberg_spark import Table
from iceberg_spark.commits.new_manifests import read_entries
from iceberg_spark.manifest.manifest_list import read_manifest_list
from tests.spark.killed_driver import FIRST_NEW, MOMENTS, ROWS, VERBS, make
from tests.spark.processes import PATIENCE, ROOT

pytestmark = [pytest.mark.own_process, pytest.mark.slow]

EVERY = os.environ.get("FAULTS") == "all"
SOME = [
    ("append_native", "tasks", "python"),
    ("append_arrow", "tasks", "machine"),
    ("delete_copy_on_write", "before the swap", "machine"),
    ("delete_merge_on_read", "tasks", "python"),
    ("upsert", "after the swap", "python"),
]
ALL = [(verb, moment, who) for verb in VERBS for moment in MOMENTS for who in ("python", "machine")]
JVM_DIES = [(verb, "tasks") for verb in VERBS] if EVERY else [("append_arrow", "tasks")]

OLD = {number: f"old {number}" for number in range(ROWS)}
NEW = dict.fromkeys(range(FIRST_NEW, FIRST_NEW + ROWS), "new")
KEPT = {number: text for number, text in OLD.items() if number % 3}
AFTER = {
    "append": [*OLD.items(), *NEW.items()],
    "delete": [*KEPT.items()],
    "upsert": [*(OLD | NEW).items()],
    "merge": [*(OLD | NEW).items()],
    "compact": [*OLD.items()],
}


class Ended(NamedTuple):
    """How a process ended, and what it said."""

    code: int
    said: str


def ran(table: Table, verb: str, moment: str, who: str) -> Ended:
    """Run a verb in a process with a driver to kill; it and its JVM are gone afterwards."""
    done = subprocess.run(  # reads to the end of output that the JVM holds open as well
        [sys.executable, "-m", "tests.spark.killed_driver", table.location(), verb, moment, who],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Ended(done.returncode, f"{done.stdout}{done.stderr[-3000:]}")


def rows(table: Table) -> list[tuple[int, str]]:
    found = table.scan().to_arrow()
    return sorted(zip(found.column("id").to_pylist(), found.column("s").to_pylist(), strict=True))


def stored(table: Table, folder: str) -> set[str]:
    below = Path(table.location()) / folder
    return {str(path) for path in below.rglob("*") if path.is_file()}


def named(table: Table) -> set[str]:
    """The data and delete files, manifests and lists that any snapshot of the table names."""
    found = set()
    for snapshot in table.metadata.snapshots.values():
        found.add(snapshot.manifest_list)
        for manifest in read_manifest_list(table.io, snapshot, table.metadata):
            entries = read_entries(table.io, table.metadata, manifest)
            found |= {manifest.manifest_path, *entries.column("file_path").to_pylist()}
    return found


def table_for(folder: Path, verb: str) -> Table:
    return make(str(folder / verb))


@pytest.mark.parametrize(("verb", "moment", "who"), ALL if EVERY else SOME)
def test_a_killed_driver_leaves_the_table_before_or_after_and_the_next_append_works(
    spark: SparkSession, tmp_path: Path, verb: str, moment: str, who: str
):
    table = table_for(tmp_path, verb)
    ended = ran(table, verb, moment, who)
    assert ended.code == -signal.SIGKILL, ended.said
    table = ice.load_table(table.location())
    landed = moment == "after the swap"
    before = sorted(OLD.items())
    after = sorted(AFTER[verb.partition("_")[0]])
    assert rows(table) == (after if landed else before)
    assert len(table.snapshots()) == (3 if landed else 2)

    here = stored(table, "data") | stored(table, "metadata")
    assert named(table) <= here  # what is left over, nothing names
    orphans = stored(table, "data") - named(table)
    assert moment == "tasks" or bool(orphans) != landed
    table.append(spark.createDataFrame([(-1, "next")], "id bigint, s string"))
    table.append(pa.table({"id": [-2], "s": ["next"]}))
    assert rows(table)[:2] == [(-2, "next"), (-1, "next")]
    assert rows(table)[2:] == (after if landed else before)
    assert not orphans & named(table)


@pytest.mark.parametrize(("verb", "moment"), JVM_DIES)
def test_a_jvm_that_is_killed_is_an_error_that_leaves_the_table_and_its_folder_as_they_were(
    tmp_path: Path, verb: str, moment: str
):
    table = table_for(tmp_path, verb)
    files = stored(table, ".")
    ended = ran(table, verb, moment, "jvm")
    assert ended.code == 0, ended.said
    assert rows(ice.load_table(table.location())) == sorted(OLD.items())
    assert stored(table, ".") == files
