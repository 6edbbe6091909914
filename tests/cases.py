"""Which cases of parametrised tests with Spark `make test` runs; `make test-all` runs all.

What one case finds another mostly finds too. The cases are the same on each machine and for each
commit; `TURN=1` runs the others. On a second PySpark each test runs one case.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from zlib import crc32

import pytest

TURN = int(os.environ.get("TURN", "0"))
"""Which of the parts of all cases runs."""


def all_cases(items: Iterable[pytest.Item]) -> set[pytest.Item]:
    """Return each test's cases."""
    return {*items}


def half_of_cases(items: Iterable[pytest.Item], turn: int = TURN) -> set[pytest.Item]:
    """Return half of each test's cases, at least one; two turns are all of them."""
    chosen: set[pytest.Item] = set()
    for cases in _by(_test, items, _parameters).values():
        chosen.update(cases[turn % 2 :: 2] or cases)
    return chosen


def one_case_each(items: Iterable[pytest.Item], turn: int = TURN) -> set[pytest.Item]:
    """Return a case of each test that isn't slow, another one each turn."""
    quick = [item for item in items if not item.get_closest_marker("slow")]
    tests = _by(_test, quick, _parameters)
    return {cases[(_lot(name) + turn) % len(cases)] for name, cases in tests.items()}


def third_of_tests(items: Iterable[pytest.Item], turn: int = TURN) -> set[pytest.Item]:
    """Return a case of every third test, at least of one of each module; three turns are all."""
    chosen: set[pytest.Item] = set()
    for tests in _by(_module, one_case_each(items, turn // 3), _test).values():
        chosen.update(tests[turn % 3 :: 3] or tests[:1])
    return chosen


CASES = {
    "all": all_cases,
    "half": half_of_cases,
    "one": one_case_each,
    "third": third_of_tests,
}


def _by(
    group: Callable[[pytest.Item], str],
    items: Iterable[pytest.Item],
    order: Callable[[pytest.Item], str],
) -> dict[str, list[pytest.Item]]:
    found = defaultdict(list)
    for item in sorted(items, key=lambda item: (_lot(order(item)), item.nodeid)):
        found[group(item)].append(item)
    return found


def _lot(name: str) -> int:
    return crc32(name.encode())


def _module(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _test(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _parameters(item: pytest.Item) -> str:
    """Tests of the same cases take the same ones, whose tables are made once."""
    return item.nodeid.partition("[")[2]
