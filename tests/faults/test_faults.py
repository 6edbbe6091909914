"""The store breaks at every call of every verb: the table is before or after, and told truly.

`make faults` tries every fault at every call; else all from the hand-over on, for verbs that go
other ways there, and a seeded share of the rest.
"""

import os
from collections.abc import Iterator

import pytest

from iceberg_spark.catalog import new_version
from tests.faults.harness import Case, Tally, attack
from tests.faults.store import Calls, faulty_store
from tests.faults.verbs import VERBS

EVERY = os.environ.get("FAULTS") == "all"
SHARE_BEFORE, SHARE_AFTER = (1.0, 1.0) if EVERY else (0.01, 0.15)
WHOLE = {"create", "append", "append_after_another", "delete", "transaction"}
SEED = int(os.environ.get("FAULTS_SEED", "12"))


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Iterator[Calls]:
    monkeypatch.setattr(new_version, "_PAUSES_S", (0.0, 0.0, 0.0))
    with faulty_store() as each:
        yield each


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_whose_store_breaks_leaves_the_table_before_or_after_and_says_which(
    calls: Calls, verb: str, record_property: pytest.FixtureRequest
):
    case, tally = Case.of(verb, calls), Tally()
    after = 1.0 if verb in WHOLE else SHARE_AFTER
    attack(case, calls, case.plans(SHARE_BEFORE, after, SEED), tally)
    record_property("faults", str(tally))  # type: ignore[operator]
    print(f"{verb}: {len(case.calls)} calls, the swap is number {case.swap}; {tally}")
    assert not tally.wrong, "\n".join(tally.wrong[:10]) + f"\n({len(tally.wrong)} in all)"
    assert tally.ends["success"]
