"""Which cases of parametrised tests a second version of PySpark runs."""

from collections import defaultdict
from zlib import crc32

import pytest


def one_case_each(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return one case of each test, always the same; modes and engines take turns."""
    cases = defaultdict(list)
    for item in items:
        if not any(item.get_closest_marker(name) for name in ("slow", "connect_too")):
            cases[item.nodeid.partition("[")[0]].append(item)
    return {each[crc32(name.encode()) % len(each)] for name, each in cases.items()}
