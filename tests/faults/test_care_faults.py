"""Upkeep that commits nothing, with a store that breaks at its calls: no file of the table goes."""

import os
from collections.abc import Iterator

import pytest

from iceberg_spark.errors import IcebergError
from iceberg_spark.io.fsspec_io import FsspecIO
from tests.faults.harness import WHERE, Kept
from tests.faults.store import Calls, different_faults, faulty_store
from tests.faults.verbs import CARE, make, state

STEP = 1 if os.environ.get("FAULTS") == "all" else 5
STRAY = f"{WHERE}/data/stray.parquet"


@pytest.fixture
def calls() -> Iterator[Calls]:
    with faulty_store() as each:
        yield each


@pytest.mark.parametrize("name", CARE)
def test_a_broken_store_costs_no_file_of_the_table(calls: Calls, name: str) -> None:
    verb = CARE[name]
    calls.arm(None, None)
    Kept().put_back()
    make(WHERE)
    FsspecIO().replace(STRAY, b"stray")
    kept, before = Kept.now(), state(WHERE)
    calls.arm(None, None)
    verb(WHERE)
    made = list(calls.made)
    calls.arm(None, None)
    assert FsspecIO().exists(STRAY) == (name != "remove_orphans")
    plans = [
        (at, fault) for at, (method, _) in enumerate(made) for fault in different_faults(method)
    ]
    ends = {"done": 0, "refused": 0}
    for at, fault in plans[::STEP]:
        kept.put_back()
        calls.arm(at, fault)
        try:
            verb(WHERE)
        except (IcebergError, KeyboardInterrupt):
            ends["refused"] += 1
        else:
            ends["done"] += 1
        calls.arm(None, None)
        assert state(WHERE) == before, f"{fault} at call {at} {made[at]}"
    assert min(ends.values()) > 0 or name == "plan_care"
