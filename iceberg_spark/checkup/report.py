"""What a check of the installation found, for people."""

from __future__ import annotations

import html
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a check ended; NOTE is for what is fine unless it is needed, or can't be known here."""

    OK = "ok"
    NOTE = "note"
    WRONG = "WRONG"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was looked at, what was found, and what to do where that is not right."""

    what: str
    state: State
    found: str
    to_do: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """The findings of `doctor`; it prints as a table, in a terminal and in a notebook."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """True when nothing is wrong."""
        return all(finding.state is not State.WRONG for finding in self.findings)

    def __repr__(self) -> str:
        wide = max((len(finding.what) for finding in self.findings), default=0)
        lines = []
        for finding in self.findings:
            lines.append(f"{finding.state:<5}  {finding.what:<{wide}}  {finding.found}")
            if finding.to_do:
                lines.append(f"{'':<5}  {'':<{wide}}  -> {finding.to_do}")
        wrong = sum(finding.state is State.WRONG for finding in self.findings)
        end = "Nothing is wrong." if self.ok else f"{wrong} wrong: see the arrows."
        return "\n".join([*lines, end])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{'<b>WRONG</b>' if finding.state is State.WRONG else finding.state}</td>"
            f"<th style='text-align:left'>{html.escape(finding.what)}</th>"
            f"<td style='text-align:left'>{html.escape(finding.found)}"
            f"{'<br>&rarr; ' + html.escape(finding.to_do) if finding.to_do else ''}</td></tr>"
            for finding in self.findings
        )
        return f"<table>{rows}</table>"
