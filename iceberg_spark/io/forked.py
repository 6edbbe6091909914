"""Clients whose threads a fork does not copy: whoever used one in the parent can't in the child."""

from __future__ import annotations

import os

from iceberg_spark.errors import UnsupportedError

_first: list[int] = []


def process_of_threads() -> int:
    """Return this process's id. Raises UnsupportedError in a child of one that used a client."""
    if not _first:
        _first.append(os.getpid())
    if _first[0] != os.getpid():
        raise UnsupportedError(
            "A process that read from a store was forked, and its client's threads were not "
            "copied: start the child by multiprocessing.get_context('spawn')"
        )
    return os.getpid()
