"""Failed attempts, lost executors and failed writes leave nothing, whichever engine writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.spark.processes import run_module

pytestmark = [pytest.mark.own_process, pytest.mark.slow]

CLEAN = {"strays": [], "missing": [], "right": True, "snapshots": 1}
NOTHING = {"strays": [], "missing": [], "files": 0, "right": False, "snapshots": 0, "said": True}


def attempts(folder: Path, what: str) -> dict[str, dict[str, Any]]:
    return json.loads(run_module("tests.spark.failing_attempts", str(folder), what))


def test_attempts_that_fail_and_writes_that_fail_leave_nothing(tmp_path: Path) -> None:
    found = attempts(tmp_path, "retries")
    assert found.pop("native failed") == found.pop("arrow failed") == NOTHING
    assert len(found) == 3
    for name, held in found.items():
        assert held | CLEAN == held and held["files"] >= 8, (name, held)


def test_an_executor_that_is_lost_while_it_writes_leaves_nothing(tmp_path: Path) -> None:
    """Its attempts end without any clean-up of theirs, as overtaken ones may."""
    found = attempts(tmp_path, "losses")
    assert len(found) == 2
    for name, held in found.items():
        assert held | CLEAN == held and held["lost"] and held["files"] >= 8, (name, held)
