"""Run one verb in this process, which kills itself (SIGKILL) at a call into the store.

python -m tests.faults.killed TABLE VERB CALL before|after
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from tests.faults.store import Calls, faulty_store
from tests.faults.verbs import VERBS


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


def main() -> None:
    """Run the verb that the arguments name."""
    where, verb, at, moment = sys.argv[1:]
    with faulty_store(Killing(int(at), moment == "after")):
        VERBS[verb](where)


if __name__ == "__main__":
    main()
