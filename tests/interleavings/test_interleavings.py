"""All pairs of verbs on one table, the second one run before each call of the catalog of the first.

`make test` runs a sample that differs by `INTERLEAVINGS_SEED`, `make interleavings` runs all.
"""

import os
import random
from collections.abc import Iterator, Sequence

import pytest

from iceberg_spark.catalog import memory
from iceberg_spark.catalog.memory import MemoryCatalog
from iceberg_spark.catalog.pointer_catalog import Move
from tests.interleavings.judge import Judge
from tests.interleavings.schedule import NAME, Store
from tests.interleavings.verbs import SEQUENCES, VERBS

EVERY = os.environ.get("INTERLEAVINGS") == "all"
SEED = int(os.environ.get("INTERLEAVINGS_SEED", "44"))
SAMPLE = 30
"""Pairs of each format version."""


@pytest.fixture(scope="module", params=[1, 2, 3])
def judge(request: pytest.FixtureRequest) -> Judge:
    return Judge.of(request.param)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    yield
    Store({}, {}).restore()


def cases(judge: Judge) -> list[tuple[str, str, int]]:
    """A verb, the other writer, and the call of the verb that the other one runs before."""
    every = [
        (verb, other, call)
        for verb in VERBS
        for call in range(len(judge.calls(verb)))
        for other in VERBS | SEQUENCES
    ]
    return every if EVERY else random.Random(SEED).sample(every, SAMPLE)


def test_two_writers_leave_what_a_serial_order_leaves(judge: Judge) -> None:
    problems = [
        f"{other} before call {call} of {verb}: {problem}"
        for verb, other, call in cases(judge)
        if (problem := judge.check(verb, other, call)) is not None
    ]
    assert not problems


def test_the_judge_finds_an_update_that_is_lost(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog that moves the pointer without looking where it is overwrites a commit."""
    move_all = MemoryCatalog.move_all

    def move_blindly(self: MemoryCatalog, moves: Sequence[Move]) -> bool:
        there = {(NAME, base.identifier): base.metadata_location for base, _ in moves}
        memory.tables.update(there)
        return move_all(self, moves)

    monkeypatch.setattr(MemoryCatalog, "move_all", move_blindly)
    problem = judge.check("append", "append_elsewhere", len(judge.calls("append")) - 1)
    assert problem is not None and "not one of" in problem
