"""Everything works in a session that nobody configured: the tests' own has settings of ours."""

import json
from pathlib import Path

import pytest

from tests.spark.processes import run_module

pytestmark = pytest.mark.own_process


def test_every_verb_works_without_a_setting_in_an_environment_that_is_not_activated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("SPARK_CONF_DIR", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # whose python3 is another one
    found = json.loads(run_module("tests.spark.usual_session", str(tmp_path)))
    assert found["copy-on-write"] == found["merge-on-read"]
    left = found["copy-on-write"]
    kept = [[0, "a"], [2, "a"], [3, "a"], [4, "a"], [5, "a"]]
    assert left["delete"] == kept
    assert left["update"] == [[0, "a"], [2, "a!"], *kept[2:]]
    merged = [[0, "a"], [2, "a!"], *([number, "merged"] for number in range(3, 7))]
    assert left["merge"] == merged
    upserted = [*merged[:5], [6, "upserted"], [7, "upserted"]]
    assert left["upsert"] == upserted
    whole = [[0, "whole"], *upserted[1:]]
    assert left["overwrite"] == whole
    others = [row for row in whole if row[0] not in (5, 6)]  # these are in 10's bucket
    assert left["dynamic"] == [*others, [10, "dynamic"]]
    assert left["arrow"] == [*left["dynamic"], [20, "arrow"]]
    assert left["save"] == [*left["arrow"], [30, "saved"]]
    assert left["plain"] == left["native"] == left["save"]
