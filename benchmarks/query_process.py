"""A contender's session in a process of its own: nobody has two engines in one JVM.

There each would compile code that the other runs too, which makes both slower or quicker than they
are where they are alone.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

_ANSWER = "answer "


class QueryProcess:
    """Runs queries one after the other; an answer is a digest of its rows, in no order."""

    def __init__(
        self, way: str, suite: str, folder: Path, instead: Mapping[str, str], errors: Path
    ) -> None:
        arguments = [way, suite, str(folder), json.dumps(dict(instead))]
        with errors.open("w") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.query_process", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
            )
        self._errors = errors

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(60)

    def run(self, text: str) -> str:
        """Return the answer to a query. Raises RuntimeError with what the process said."""
        to, back = self._process.stdin, self._process.stdout
        if to is None or back is None:
            raise RuntimeError("the process has no pipes")
        print(json.dumps(text), file=to, flush=True)
        for line in back:
            if line.startswith(_ANSWER):
                return line.removeprefix(_ANSWER)
        raise RuntimeError(f"{text[:60]}: {self._errors.read_text()[-2000:]}")


def main(way: str, name: str, folder: str, instead: str) -> None:
    """Answer the queries of standard input, a line each."""
    # Imported here: the process that asks needs none of it.
    from benchmarks.decision_support import SUITES, contender  # noqa: PLC0415

    run = contender(way, SUITES[name], Path(folder), json.loads(instead))
    for line in sys.stdin:
        rows = "\n".join(sorted(map(str, run(json.loads(line)))))
        print(f"{_ANSWER}{hashlib.sha256(rows.encode()).hexdigest()}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
