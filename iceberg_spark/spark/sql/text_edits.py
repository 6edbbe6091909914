"""A text with other words in some places, all of them told by where they stand in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """From `start` to `end` stands `text` instead."""

    start: int
    end: int
    text: str = ""


def edited(text: str, start: int, end: int, edits: Iterable[Edit]) -> str:
    """Return a part of a text with the edits inside of it; these are in order."""
    pieces = []
    for edit in edits:
        if start <= edit.start and edit.end <= end:
            pieces += [text[start : edit.start], edit.text]
            start = edit.end
    return "".join([*pieces, text[start:end]])
