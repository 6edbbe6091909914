"""More equality deletes than an executor has memory: Spark sorts and spills, nothing fails."""

import json
from pathlib import Path

import pytest

from tests.spark.processes import run_module
from tests.spark.small_executor import KEY_BYTES, KEYS, ROWS

pytestmark = [pytest.mark.own_process, pytest.mark.slow]


def test_a_set_of_keys_four_times_the_executors_memory_is_applied(tmp_path: Path) -> None:
    """1.9 GB of keys as rows, 450 MiB of heap, of which Spark gives rows about 90 MiB."""
    printed = run_module("tests.spark.small_executor", str(tmp_path), own_jvm=True)
    found = json.loads(printed)
    assert 4 * found["heap"] <= KEYS * KEY_BYTES
    assert "SortMergeJoin" in found["plan"] and "BroadcastHashJoin" not in found["plan"]
    assert (found["rows"], found["total"]) == (ROWS // 2, sum(range(1, ROWS, 2)))
