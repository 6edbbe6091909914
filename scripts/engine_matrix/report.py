"""The matrix as Markdown."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pyarrow as pa

from scripts.engine_matrix.compare import find_difference

BEGIN, END = "<!-- begin: make engine-matrix -->", "<!-- end: make engine-matrix -->"
_PATHS = re.compile(r"(?:file:/*)?/[\w./=%-]*/(?:tables|data|metadata)[\w./=%-]*")
_LONGEST = 200


class Verdict(StrEnum):
    """What came of reading a table."""

    RIGHT = "yes"
    REFUSED = "refuses"
    WRONG = "**wrong rows**"
    CRASHED = "**crashes**"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict, and the engine's error or the rows it returned."""

    verdict: Verdict
    reason: str = ""


def judge(expected: pa.Table, error: str | None, rows: Path) -> Outcome:
    """Return the outcome of reading a table, with the rows as an Arrow file."""
    if error is not None:
        verdict = Verdict.CRASHED if error.startswith("crash: ") else Verdict.REFUSED
        return Outcome(verdict, shorten_error(error.removeprefix("crash: ")))
    with pa.memory_map(str(rows)) as source:
        actual = pa.ipc.open_file(source).read_all()
        difference = find_difference(expected, actual)
    if difference is None:
        return Outcome(Verdict.RIGHT)
    return Outcome(Verdict.WRONG, f"returns {difference}")


def shorten_error(error: str) -> str:
    """Return the beginning of an error, or of its root cause, on one line without long paths."""
    cause = error.rpartition("Caused by: ")[2].partition("\n\tat ")[0]
    line = " ".join(_PATHS.sub("...", cause).replace("|", "/").replace("`", "'").split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()}..."


def report(outcomes: Mapping[str, Mapping[str, Outcome]], versions: Mapping[str, str]) -> str:
    """Return the versions, the matrix and its notes."""
    notes: dict[str, list[str]] = {}  # each reason, with the engines that it is a reason of
    titles = list(next(iter(outcomes.values())))
    lines = ["| engine | versions |", "|---|---|"]
    lines += [f"| {engine} | {text} |" for engine, text in versions.items()]
    lines += ["", f"| table | {' | '.join(outcomes)} |", "|---" * (len(outcomes) + 1) + "|"]
    for title in titles:
        cells = [_cell(engine, row[title], notes) for engine, row in outcomes.items()]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    lines += ["", "Notes:", ""]
    lines += [
        f"{number}. {', '.join(engines)}: `{reason}`"
        for number, (reason, engines) in enumerate(notes.items(), start=1)
    ]
    return "\n".join(lines) + "\n"


def _cell(engine: str, outcome: Outcome, notes: dict[str, list[str]]) -> str:
    """Return a cell, with the number of its note."""
    if outcome.verdict is Verdict.RIGHT:
        return str(outcome.verdict)
    engines = notes.setdefault(outcome.reason, [])
    if engine not in engines:
        engines.append(engine)
    return f"{outcome.verdict} ({list(notes).index(outcome.reason) + 1})"


def insert_report(page: str, text: str) -> str:
    """Return a page with another report between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{text}\n{END}{after}"


def matrix_of(page: str) -> dict[str, dict[str, str]]:
    """Return the matrix of a page: each engine's cell for each table, by their titles."""
    block = page.partition(BEGIN)[2].partition(END)[0]
    lines = block[block.index("| table |") :].partition("\n\n")[0].splitlines()
    header, _, *rows = [[c.strip() for c in line.strip("|").split("|")] for line in lines]
    return {
        engine: {row[0]: row[column] for row in rows}
        for column, engine in enumerate(header[1:], start=1)
    }
