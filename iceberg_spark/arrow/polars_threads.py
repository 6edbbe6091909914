"""Whether polars can work in this process: a fork copies its memory, and none of its threads."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from iceberg_spark.errors import UnsupportedError


@dataclass(slots=True)
class _Polars:
    """A child of a process that had loaded polars waits for its threads for ever."""

    lost: bool = False

    def after_fork(self) -> None:
        """Record the state of the child."""
        self.lost = "polars" in sys.modules


_POLARS = _Polars()
os.register_at_fork(after_in_child=_POLARS.after_fork)


def are_lost() -> bool:
    """Return whether this process was forked after its parent had loaded polars."""
    return _POLARS.lost


def require(what: str) -> None:
    """Raise UnsupportedError if polars would hang; `what` begins the message."""
    if _POLARS.lost:
        raise UnsupportedError(
            f"{what} can't be compared in a process that was forked after its parent had read a "
            "table: polars' threads do not survive a fork. Start the process by "
            "multiprocessing.get_context('spawn') or 'forkserver', or fork before the first read"
        )
