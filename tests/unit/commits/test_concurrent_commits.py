"""Many writers on one table: every commit lands exactly once."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iceberg_spark.catalog.catalog import LoadedTable
from iceberg_spark.commits.append import AppendFiles
from tests.unit.commits.tables import (
    CATALOG,
    file,
    live,
    make_table,
    metadata_names,
    referenced_names,
    reloaded,
    run,
)

PATIENT = {"commit.retry.num-retries": "200"}

PROGRAM = """
import sys
from iceberg_spark.commits.append import AppendFiles
from tests.unit.commits.tables import CATALOG, file, run
where, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
table = CATALOG.load(where)
for number in range(count):
    table = run(table, AppendFiles([file(table, f"{name}-{number}")], merge=False))
"""


def check(table: LoadedTable, names: set[str]) -> None:
    metadata = reloaded(table).metadata
    assert live(metadata) == names
    assert len(metadata.snapshots) == len(names)
    numbers = sorted(each.sequence_number for each in metadata.snapshots.values())
    assert numbers == list(range(1, len(names) + 1))
    assert metadata_names(table) == referenced_names(metadata)
    versions = metadata_names(table, ".metadata.json")
    assert versions == {f"v{number}.metadata.json" for number in range(1, len(names) + 2)}


def test_threads_append_to_one_table(tmp_path: Path):
    table = make_table(location=str(tmp_path / "t"), **PATIENT)

    def append(writer: int) -> None:
        base = reloaded(table)
        for number in range(5):
            base = run(base, AppendFiles([file(table, f"{writer}-{number}")], merge=writer % 2 > 0))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(4)))
    check(table, {f"{writer}-{number}" for writer in range(4) for number in range(5)})


@pytest.mark.slow
def test_processes_append_to_one_table(tmp_path: Path):
    table = make_table(location=str(tmp_path / "t"), **PATIENT)
    root = Path(__file__).parents[3]
    running = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, table.identifier, str(w), "25"], cwd=root)
        for w in range(4)
    ]
    assert [process.wait() for process in running] == [0] * 4
    check(table, {f"{writer}-{number}" for writer in range(4) for number in range(25)})
    hint = Path(table.identifier) / "metadata" / "version-hint.text"
    assert CATALOG.load(table.identifier).metadata_location.endswith("/v101.metadata.json")
    hint.unlink()
    assert CATALOG.load(table.identifier).metadata_location.endswith("/v101.metadata.json")
