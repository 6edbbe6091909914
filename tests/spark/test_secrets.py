"""What Spark keeps and shows of secrets, with its event log on."""

from pathlib import Path

import pytest

from tests.spark.event_log import NAMES, SECRET
from tests.spark.processes import run_module

pytestmark = [pytest.mark.own_process, pytest.mark.slow]


def test_no_secret_is_in_plans_or_the_event_log_of_an_enabled_session(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    shown = run_module("tests.spark.event_log", str(tmp_path))
    assert "== Parsed Logical Plan ==" in shown and "pyiceberg-lite" in shown
    assert SECRET not in shown
    events = [
        file.read_text(encoding="utf-8")
        for file in (tmp_path / "log").rglob("events_*")
        if file.is_file()
    ]
    executions = "".join(events).count("SparkListenerSQLExecutionStart")
    assert len(events) == 1 and executions > len(NAMES)
    assert SECRET not in events[0]
