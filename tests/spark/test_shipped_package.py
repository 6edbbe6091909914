"""Executors that lack this package get it from the driver."""

import json
from pathlib import Path

import pytest

from tests.spark.processes import run_module

pytestmark = [pytest.mark.own_process, pytest.mark.slow]


def test_a_package_sent_to_executors_is_enough(tmp_path: Path) -> None:
    found = json.loads(run_module("tests.spark.shipped_package", str(tmp_path)).splitlines()[-1])
    assert found == {"native": 85, "files": 9, "plain": 95}
