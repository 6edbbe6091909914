"""An interrupt at every line from the hand-over of a commit to the return of its verb.

The lines are the product's, and those of the libraries that its control passes through there.
"""

import contextlib
import linecache
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, partial
from http import client
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest
import tenacity
import urllib3

import iceberg_spark
from iceberg_spark.catalog.filesystem import FileSystemCatalog
from iceberg_spark.errors import CommitFailedException, CommitStateUnknownException
from tests.faults.harness import WHERE, Case
from tests.faults.store import Calls, faulty_store
from tests.faults.verbs import VERBS, another_appends

PRODUCT = str(Path(iceberg_spark.__file__).parent)
LIBRARIES = tuple(str(Path(one.__file__).parent) for one in (tenacity, urllib3))
TRACED = (PRODUCT, contextlib.__file__, client.__file__, *LIBRARIES)
EVERY = os.environ.get("FAULTS") == "all"
SOME = ("create", "append")


LAST = {
    ("api/staged_changes.py", "land", "with CleanupOnFailure(io, files) as commit_state:"),
    ("maintenance/expire.py", "expire_snapshots", "with CleanupOnFailure(io, ()) as"),
    ("api/maintenance.py", "_rewrite_deletes", "with CleanupOnFailure(io, [file."),
    ("commits/commit.py", "__exit__", "if error is None or isinstance(error, Commit"),
    ("commits/commit.py", "__exit__", "return"),
    ("api/table.py", "_take", "self._loaded = loaded"),
    ("contextlib.py", "__exit__", ""),
    ("api/table.py", "_counted", "try:"),
    ("api/row_verbs.py", "delete", "return self._counted(counts, branch)"),
    ("api/row_verbs.py", "upsert", "return result"),
    ("api/maintenance.py", "_rewrite_deletes", "return result"),
    ("api/maintenance.py", "expire_snapshots", 'with working(f"Expiring snapshots of'),
    ("api/progress.py", "working", "return"),
    ("api/maintenance.py", "expire_snapshots", "if not dry_run:"),
    ("api/maintenance.py", "expire_snapshots", "self._loaded = loaded"),
    ("api/maintenance.py", "expire_snapshots", "self._take(loaded)"),
    ("api/maintenance.py", "expire_snapshots", "return result"),
    ("api/new_table.py", "create", "return Table(catalog, loaded)"),
    ("api/table.py", "__init__", "self._catalog = catalog"),
    ("api/table.py", "__init__", "self._loaded = loaded"),
    ("api/table.py", "__init__", "self._options = options"),
}
"""Where the interrupt itself may come out of a verb that has landed: nothing is removed any more,
and no code of ours could catch it. All others say that the commit has landed, or may have."""


class Line(NamedTuple):
    """A line of code as it runs first after the n-th hand-over."""

    file: str
    number: int
    function: str
    hand_over: int

    @property
    def text(self) -> str:
        return linecache.getline(self.file, self.number).strip()

    @property
    def is_last(self) -> bool:
        """Return whether `LAST` names it, by the beginning of its text."""
        return any(
            (file, function) == (short(self.file), self.function) and self.text.startswith(text)
            for file, function, text in LAST
        )


@cache
def is_traced(file: str) -> bool:
    return file.startswith(TRACED)


def short(file: str) -> str:
    return file.removeprefix(f"{PRODUCT}/") if file.startswith(PRODUCT) else Path(file).name


class Interrupter:
    """Notes the lines that run after the verb handed its commit over; breaks in at one.

    The commit of another that a verb meets runs undisturbed: its interrupt would not be ours.
    `refused` tells that the catalog has refused what was handed over last.
    """

    def __init__(self, at: Line | None, catalog: type[Any] = FileSystemCatalog) -> None:
        self.at = at
        self.catalog = catalog
        self.commits = {name: getattr(catalog, name) for name in ("commit", "commit_tables")}
        self.lines: dict[Line, None] = {}
        self.hand_overs = 0
        self.refused = False

    def __call__(self, frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if not is_traced(code.co_filename):
            return None
        if event == "line":
            line = Line(code.co_filename, frame.f_lineno, code.co_name, self.hand_overs)
            if line not in self.lines:
                self.lines[line] = None
                if line == self.at:
                    raise KeyboardInterrupt
        return self

    def hand_over(self, how: str, *given: Any) -> Any:
        """Commit as the catalog does, looking at lines from here on, those of the callers too."""
        callers = list(frames_above(sys._getframe()))
        if any(frame.f_code is another_appends.__code__ for frame in callers):
            return self.commits[how](*given)
        self.hand_overs += 1
        self.refused = False
        for frame in callers:
            frame.f_trace = self if is_traced(frame.f_code.co_filename) else None
        sys.settrace(self)
        try:
            return self.commits[how](*given)
        except CommitFailedException:
            self.refused = True
            raise

    def run(self, verb: Callable[[], object]) -> BaseException | None:
        def commit(*given: Any) -> Any:
            return self.hand_over("commit", *given)

        def commit_tables(*given: Any) -> Any:
            return self.hand_over("commit_tables", *given)

        before = sys.gettrace()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.catalog, "commit", commit)
            patch.setattr(self.catalog, "commit_tables", commit_tables)
            try:
                verb()
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
                return error
            finally:
                sys.settrace(before)
        return None


def frames_above(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@pytest.fixture
def calls() -> Iterator[Calls]:
    with faulty_store() as each:
        yield each


@pytest.mark.parametrize("verb", VERBS if EVERY else SOME)
def test_an_interrupt_at_any_line_after_the_hand_over_removes_nothing(calls: Calls, verb: str):
    case = Case.of(verb, calls)
    case.kept.put_back()
    undisturbed = Interrupter(None)
    assert undisturbed.run(partial(VERBS[verb], WHERE)) is None
    lines = list(undisturbed.lines)
    share = lines if EVERY else lines[len(verb) % 9 :: 9] + window(lines)
    wrong, ends = [], Counter[str]()
    for line in dict.fromkeys(share):
        case.kept.put_back()
        run = Interrupter(line)
        error = run.run(partial(VERBS[verb], WHERE))
        now = case.now()
        end = "broken"
        if now in (*case.before, case.after):
            end = ended(error, line, landed=now == case.after, refused=run.refused)
        ends[end] += 1
        if end in ("broken", "untrue"):
            wrong.append(f"{line} {line.text}: {end}, {error!r}, the table is {now}")
    counts = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
    print(f"{verb}: {len(set(share))} of {len(lines)} lines interrupted: {counts}")
    assert not wrong, "\n".join(wrong[:10])
    assert ends["unknown"] > 20


def ended(error: BaseException | None, line: Line, *, landed: bool, refused: bool) -> str:
    """Return what a verb said of a commit, "untrue" where that is not so."""
    match error:
        case None if landed:
            return "success"
        case CommitStateUnknownException():
            return "unknown"
        case KeyboardInterrupt() if refused and not landed:
            return "refused"
        case KeyboardInterrupt() if landed and line.is_last:
            return "last line"
        case _:
            return "untrue"


def window(lines: list[Line]) -> list[Line]:
    """Those of the files where the swap is made and followed up."""
    files = ("commits/commit.py", "api/staged_changes.py")
    return [line for line in lines if short(line.file).startswith(files)]
