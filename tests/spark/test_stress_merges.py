"""Two Spark processes with several threads merge into one table: one serial history."""

from pathlib import Path

import pytest

from benchmarks.stress import make_table, stress_merges


@pytest.mark.slow
def test_merges_of_two_processes_are_one_serial_history(tmp_path: Path) -> None:
    location, logs = str(tmp_path / "t"), tmp_path / "logs"
    logs.mkdir()
    make_table(location)
    outcome = stress_merges(location, logs, seconds=6, samples=6)
    assert outcome.found.violations == []
    assert outcome.found.commits >= 1
