"""Run one verb in a process that kills itself (SIGKILL) at a call into the store.

Such a process starts anew, as a user's does: one that is forked has threads of nobody's.
"""

import multiprocessing
import os
import signal
from collections.abc import Callable
from typing import Any

from tests.faults.store import Calls, faulty_store
from tests.faults.verbs import CARE, VERBS

_PROCESSES = multiprocessing.get_context("spawn")


class Killing(Calls):
    """Calls of which one is the process's last."""

    def __init__(self, at: int, after: bool) -> None:
        super().__init__()
        self.last, self.after = at, after

    def _answer(self, number: int, *rest: Any) -> Any:
        work: Callable[[], Any] = rest[-1]
        if number == self.last:
            if self.after:
                work()
            os.kill(os.getpid(), signal.SIGKILL)
        return work()


def killed(where: str, verb: str, at: int, moment: str) -> int | None:
    """Run a verb in a new process that dies before or after its n-th call; how that ended."""
    process = _PROCESSES.Process(target=_run, args=(where, verb, at, moment))
    process.start()
    process.join()
    return process.exitcode


def _run(where: str, verb: str, at: int, moment: str) -> None:
    with faulty_store(Killing(at, moment == "after")):
        (VERBS | CARE)[verb](where)
