"""Two Spark processes with several threads merge into one table: one serial history."""

from pathlib import Path

import pytest

from benchmarks.stress import make_table, stress_merges

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_merges_of_two_processes_are_one_serial_history(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location, logs = str(tmp_path / "t"), tmp_path / "logs"
    logs.mkdir()
    table = make_table(location)
    table.update_properties().set({"write.merge.mode": mode}).commit()
    outcome = stress_merges(location, logs, seconds=6, samples=6)
    assert outcome.found.violations == []
    assert outcome.found.commits >= 1
