"""Edits of a text, by positions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """The replacement of the text from `start` to `end` by `text`."""

    start: int
    end: int
    text: str = ""


def edited(text: str, start: int, end: int, edits: Iterable[Edit]) -> str:
    """Return a part of a text with the edits inside it applied. The edits are in order."""
    pieces = []
    for edit in edits:
        if start <= edit.start and edit.end <= end:
            pieces += [text[start : edit.start], edit.text]
            start = edit.end
    return "".join([*pieces, text[start:end]])
