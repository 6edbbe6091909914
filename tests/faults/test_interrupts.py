"""An interrupt at every line from the hand-over of a commit to the return of its verb."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import iceberg_spark
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.errors import CommitStateUnknownException
from tests.faults.harness import WHERE, Case
from tests.faults.store import Calls, faulty_store
from tests.faults.verbs import VERBS

ROOT = str(Path(iceberg_spark.__file__).parent)
EVERY = os.environ.get("FAULTS") == "all"
SOME = ("create", "append")

Line = tuple[str, int, str]
COMMIT = FileSystemCatalog.commit


class Interrupter:
    """Notes the lines of the product that run after a commit was handed over; breaks in at one."""

    def __init__(self, at: Line | None) -> None:
        self.at = at
        self.lines: dict[Line, None] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.startswith(ROOT):
            return None
        if event == "line":
            line = code.co_filename.removeprefix(ROOT + "/"), frame.f_lineno, code.co_name
            if line not in self.lines:
                self.lines[line] = None
                if line == self.at:
                    raise KeyboardInterrupt
        return self

    def hand_over(self, *given: Any) -> Any:
        """Commit as the catalog does, looking at lines from here on, those of the callers too."""
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            frame.f_trace = self if frame.f_code.co_filename.startswith(ROOT) else None
            frame = frame.f_back
        sys.settrace(self)
        return COMMIT(*given)

    def run(self, verb: str) -> BaseException | None:
        def commit(*given: Any) -> Any:
            return self.hand_over(*given)

        before = sys.gettrace()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FileSystemCatalog, "commit", commit)
            try:
                VERBS[verb](WHERE)
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
                return error
            finally:
                sys.settrace(before)
        return None


@pytest.fixture
def calls() -> Iterator[Calls]:
    with faulty_store() as each:
        yield each


@pytest.mark.parametrize("verb", VERBS if EVERY else SOME)
def test_an_interrupt_at_any_line_after_the_hand_over_removes_nothing(calls: Calls, verb: str):
    case = Case.of(verb, calls)
    case.kept.put_back()
    undisturbed = Interrupter(None)
    assert undisturbed.run(verb) is None
    lines = list(undisturbed.lines)
    share = lines if EVERY else lines[len(verb) % 9 :: 9] + window(lines)
    wrong, ends = [], {"unknown": 0, "success": 0, "interrupt": 0}
    for line in dict.fromkeys(share):
        case.kept.put_back()
        error = Interrupter(line).run(verb)
        now = case.now()
        if now not in (*case.before, case.after):
            wrong.append(f"{line}: neither before nor after: {now}")
        elif error is None:
            ends["success"] += 1
            wrong += [f"{line}: success, and nothing landed"] if now != case.after else []
        elif isinstance(error, CommitStateUnknownException):
            ends["unknown"] += 1
        elif isinstance(error, KeyboardInterrupt) and is_last(line) and now == case.after:
            ends["interrupt"] += 1
        else:
            wrong.append(f"{line}: landed: {now == case.after}, ended with {error!r}")
    print(f"{verb}: {len(set(share))} of {len(lines)} lines interrupted: {ends}")
    assert not wrong, "\n".join(wrong[:10])
    assert ends["unknown"] > 20


def is_last(line: Line) -> bool:
    """Where the interrupt itself may come out: the files are safe, and only the return is left."""
    return line[0].startswith("api/") or line[2] == "__exit__"


def window(lines: list[Line]) -> list[Line]:
    """Those of the files where the swap is made and followed up."""
    return [
        line
        for line in lines
        if line[0].startswith(("transaction/commit.py", "api/staged_changes.py"))
    ]
